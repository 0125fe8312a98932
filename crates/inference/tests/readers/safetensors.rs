//! Safetensors files, good and bad.

use inference::safetensors::Safetensors;

use mutations::{mutations, prefixes};

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn small_file() -> Vec<u8> {
    let header = r#"{"__metadata__":{"format":"pt"},
        "a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},
        "b":{"dtype":"F16","shape":[3],"data_offsets":[8,14]},
        "c":{"dtype":"BF16","shape":[],"data_offsets":[14,16]},
        "ids":{"dtype":"I64","shape":[1],"data_offsets":[16,24]},
        "signed":{"dtype":"I8","shape":[2,2],"data_offsets":[24,28]},
        "text":{"dtype":"U8","shape":[3],"data_offsets":[28,31]}}"#;
    let mut data = [1.5f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat();
    data.extend([0x3c00u16, 0xc000, 0x0001, 0x3f80].iter().flat_map(|half| half.to_le_bytes()));
    data.extend(5i64.to_le_bytes());
    data.extend([1, 127, 128, 255]);
    data.extend(b"a\nb");
    file(header, &data)
}

#[test]
fn floats_of_every_width_are_read() {
    let bytes = small_file();
    let tensors = Safetensors::from_bytes(&bytes).unwrap();
    assert_eq!(tensors.tensor("a").unwrap(), (vec![2, 1], vec![1.5, -2.0]));
    assert_eq!(tensors.tensor("b").unwrap(), (vec![3], vec![1.0, -2.0, 5.9604645e-8]));
    assert_eq!(tensors.tensor("c").unwrap(), (vec![], vec![1.0]));
    assert!(tensors.tensor("ids").unwrap_err().to_string().contains("`I64`: one of F32"));
    assert!(tensors.tensor("d").unwrap_err().to_string().contains("no tensor `d`"));
    assert_eq!(tensors.describe("b").unwrap(), ("F16", &[3][..]));
}

#[test]
fn bytes_are_read_as_they_are() {
    let bytes = small_file();
    let tensors = Safetensors::from_bytes(&bytes).unwrap();
    assert_eq!(tensors.bytes("signed", "I8").unwrap(), (&[2, 2][..], &[1, 127, 128, 255][..]));
    assert_eq!(tensors.bytes("text", "U8").unwrap(), (&[3][..], &b"a\nb"[..]));
    for (name, dtype, expected) in [
        ("signed", "U8", "tensor `signed` is of type `I8`, not `U8`"),
        ("a", "U8", "tensor `a` is of type `F32`, not `U8`"),
        ("a", "F32", "tensor `a` is of type `F32`: one of I8, U8"),
        ("none", "U8", "no tensor `none`"),
    ] {
        let error = tensors.bytes(name, dtype).unwrap_err().to_string();
        assert!(error.contains(expected), "`{error}` does not say `{expected}`");
    }
}

#[test]
fn contradictions_are_named() {
    let entry = |shape: &str, start: u64, end: u64| {
        format!(r#"{{"dtype":"F32","shape":{shape},"data_offsets":[{start},{end}]}}"#)
    };
    let error = |header: String| Safetensors::from_bytes(&file(&header, &[0; 16])).unwrap_err().to_string();
    let cases = [
        (format!(r#"{{"a":{}}}"#, entry("[5]", 0, 20)), "not inside"),
        (format!(r#"{{"a":{}}}"#, entry("[1]", 8, 4)), "not inside"),
        (format!(r#"{{"a":{}}}"#, entry("[3]", 0, 8)), "not [3] of F32"),
        (r#"{"a":{"dtype":"I8","shape":[3],"data_offsets":[0,4]}}"#.to_owned(), "not [3] of I8"),
        (r#"{"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}}"#.to_owned(), "not [5] of U8"),
        (format!(r#"{{"a":{}}}"#, entry("[4294967296,4294967296]", 0, 0)), "not [4294967296, 4294967296]"),
        (format!(r#"{{"a":{},"b":{}}}"#, entry("[2]", 0, 8), entry("[2]", 4, 12)), "overlap"),
        (format!(r#"{{"a":{},"a":{}}}"#, entry("[1]", 0, 4), entry("[1]", 4, 8)), "twice"),
        ("[]".to_owned(), "cannot be read"),
        (format!(r#"{{"a":{}"#, "[".repeat(100_000)), "cannot be read"),
    ];
    for (header, expected) in cases {
        let error = error(header);
        assert!(error.contains(expected), "`{error}` does not say `{expected}`");
    }
    for len in [u64::MAX, 100_000_001, 1 << 20] {
        let mut bytes = small_file();
        bytes[..8].copy_from_slice(&len.to_le_bytes());
        assert!(Safetensors::from_bytes(&bytes).unwrap_err().to_string().contains("not inside it"));
    }
}

#[test]
fn no_part_of_a_file_is_taken_for_the_whole() {
    prefixes(&small_file(), |bytes| {
        let len = bytes.len();
        assert!(Safetensors::from_bytes(&bytes).is_err(), "{len} bytes are taken for a file");
    });
}

#[test]
fn no_broken_file_brings_the_reader_down() {
    let mut readable = 0;
    let tried = mutations(&small_file(), 20_000, |bytes| {
        let len = bytes.len();
        let Ok(tensors) = Safetensors::from_bytes(&bytes) else { return };
        readable += 1;
        for name in tensors.names() {
            if let Ok((shape, numbers)) = tensors.tensor(name) {
                assert!(numbers.len() <= len && shape.iter().product::<usize>() == numbers.len());
            }
            for dtype in ["I8", "U8"] {
                if let Ok((shape, bytes)) = tensors.bytes(name, dtype) {
                    assert!(shape.iter().product::<usize>() == bytes.len());
                }
            }
        }
    });
    assert!(
        (tried / 100..tried * 19 / 20).contains(&readable),
        "{readable} of {tried} were readable: the mutations are no test"
    );
}
