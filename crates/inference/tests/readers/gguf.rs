//! GGUF files, good and bad.

use inference::ModelError;
use inference::chat_template::ChatTemplate;
use inference::gguf::Gguf;
use inference::tensor_kind::TensorKind;
use inference::tokenizer::TextTokenizer;

use crate::gguf_file::GgufFile;
use mutations::{mutations, prefixes};

fn small_file() -> GgufFile {
    let weights: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
    GgufFile::default()
        .string("general.architecture", "llama")
        .u32("llama.block_count", 30)
        .raw("llama.context_length", 10, &8192u64.to_le_bytes())
        .raw("llama.rope.freq_base", 6, &1e5f32.to_le_bytes())
        .string("tokenizer.ggml.model", "gpt2")
        .string("tokenizer.ggml.pre", "smollm")
        .bool("tokenizer.ggml.add_bos_token", false)
        .strings("tokenizer.ggml.tokens", &["<|im_end|>", "a", "b", "ab"])
        .i32s("tokenizer.ggml.token_type", &[3, 1, 1, 1])
        .strings("tokenizer.ggml.merges", &["a b"])
        .f32s("tokenizer.ggml.scores", &[0.0, -1.5])
        .u32("tokenizer.ggml.eos_token_id", 0)
        .tensor("output_norm.weight", 0, &[3, 2], &weights)
        .tensor("blk.0.attn_q.weight", 8, &[32, 1, 2], &[7; 68])
}

fn error_of(file: GgufFile) -> String {
    Gguf::from_bytes(file.bytes()).unwrap_err().to_string()
}

#[track_caller]
fn check_error(file: GgufFile, expected: &str) {
    let error = error_of(file);
    assert!(error.contains(expected), "`{error}` does not say `{expected}`");
}

#[test]
fn what_was_written_is_read() {
    let gguf = Gguf::from_bytes(small_file().bytes()).unwrap();
    assert_eq!(gguf.required_string("general.architecture").unwrap(), "llama");
    assert_eq!(gguf.required_u32("llama.context_length").unwrap(), 8192);
    assert_eq!(gguf.required_f32("llama.rope.freq_base").unwrap(), 1e5);
    assert_eq!(gguf.f32("llama.block_count").unwrap(), Some(30.0));
    assert_eq!(gguf.bool("tokenizer.ggml.add_bos_token").unwrap(), Some(false));
    assert_eq!(gguf.strings("tokenizer.ggml.merges").unwrap(), Some(vec!["a b"]));
    assert_eq!(gguf.i32s("tokenizer.ggml.token_type").unwrap(), Some(vec![3, 1, 1, 1]));
    assert_eq!(gguf.u32s("tokenizer.ggml.token_type").unwrap(), Some(vec![3, 1, 1, 1]));
    assert_eq!(gguf.f32s("tokenizer.ggml.scores").unwrap(), Some(vec![0.0, -1.5]));
    assert_eq!(gguf.string("no.such.key").unwrap(), None);

    let norm = gguf.required_tensor("output_norm.weight").unwrap();
    assert_eq!((norm.kind, norm.columns, norm.rows), (TensorKind::F32, 3, 2));
    let mut row = [0.0; 3];
    norm.kind.dequantize(&gguf.read_rows(norm, 1..2).unwrap(), &mut row);
    assert_eq!(row, [3.0, 4.0, 5.0]);
    let query = gguf.tensor("blk.0.attn_q.weight").unwrap();
    assert_eq!((query.columns, query.rows, query.row_bytes()), (32, 2, 34));
    assert_eq!(gguf.read_rows(query, 0..2).unwrap(), [7; 68]);
    assert!(gguf.read_rows(query, 1..3).is_err());
}

#[test]
fn a_file_on_disk_reads_like_one_in_memory() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), small_file().bytes()).unwrap();
    let gguf = Gguf::open(file.path()).unwrap();
    let query = gguf.tensor("blk.0.attn_q.weight").unwrap();
    assert_eq!(gguf.read_rows(query, 1..2).unwrap(), [7; 34]);
    let missing = Gguf::open("no/such.gguf".as_ref()).unwrap_err();
    assert!(matches!(missing, ModelError::Read { .. }), "{missing}");
}

#[test]
fn a_value_of_another_type_is_an_error_that_says_what_was_expected() {
    let gguf = Gguf::from_bytes(small_file().bytes()).unwrap();
    let error = gguf.u32("general.architecture").unwrap_err().to_string();
    assert!(error.contains("`general.architecture` is not an integer"), "{error}");
    assert!(gguf.strings("tokenizer.ggml.scores").is_err());
    assert!(gguf.u32s("tokenizer.ggml.scores").is_err());
    assert!(gguf.required_string("no.such.key").unwrap_err().to_string().contains("`no.such.key`"));
}

#[test]
fn contradictions_are_named() {
    let file = small_file();
    check_error(file.clone().string("general.architecture", "x"), "`general.architecture` appears twice");
    check_error(
        file.clone().tensor("output_norm.weight", 0, &[1], &[0; 4]),
        "`output_norm.weight` appears twice",
    );
    check_error(file.clone().u32("general.alignment", 24), "24, not a power of two");
    check_error(file.clone().tensor_at("t", 0, &[1], 4), "`t` begins at 4");
    check_error(file.clone().tensor_at("t", 0, &[1, 2, 3, 4, 5], 0), "`t` has 5 dimensions");
    check_error(file.clone().tensor_at("t", 0, &[], 0), "`t` has 0 dimensions");
    check_error(file.clone().tensor_at("t", 0, &[0, 4], 0), "neither may be 0");
    check_error(file.clone().tensor_at("t", 12, &[32], 0), "multiple of 256");
    check_error(file.clone().tensor_at("t", 0, &[1 << 20], 0), "`t` of 1 rows of 4194304 bytes");
    check_error(file.clone().tensor_at("t", 0, &[1], u64::MAX - 31), "reaches beyond");
    check_error(file.clone().tensor_at("t", 0, &[u64::MAX], 0), "without bounds");
    check_error(file.clone().tensor_at("t", 0, &[1, u64::MAX, 3], 0), "without bounds");
    check_error(file.clone().tensor_at("t", 10, &[256], 0), "`Q2_K`");
    check_error(file.clone().raw("x", 13, &[0]), "metadata type 13");
    check_error(file.clone().array("x", 8, usize::MAX, &[]), "the header asks for");
    check_error(file.clone().array("x", 10, usize::MAX, &[]), "the header asks for");
}

#[test]
fn other_files_and_versions_are_refused() {
    let mut bytes = small_file().bytes();
    bytes[4] = 1;
    let error = Gguf::from_bytes(bytes.clone()).unwrap_err();
    assert!(matches!(error, ModelError::Unsupported(_)), "{error}");
    bytes[0] = b'X';
    assert!(Gguf::from_bytes(bytes).unwrap_err().to_string().contains("not a GGUF file"));
}

#[test]
fn arrays_do_not_nest_without_end() {
    let level = |items: Vec<u8>| [9u32.to_le_bytes().to_vec(), 1u64.to_le_bytes().to_vec(), items].concat();
    let innermost = [0u32.to_le_bytes().to_vec(), 1u64.to_le_bytes().to_vec(), vec![5]].concat();
    let two_deep = level(innermost.clone());
    let gguf = Gguf::from_bytes(GgufFile::default().raw("x", 9, &two_deep).bytes()).unwrap();
    assert!(gguf.u32s("x").is_err(), "an array of arrays is none of numbers");

    let hundred_deep = (0..100).fold(innermost, |items, _| level(items));
    check_error(GgufFile::default().raw("x", 9, &hundred_deep), "nested");
}

#[test]
fn no_part_of_a_file_is_taken_for_the_whole() {
    prefixes(&small_file().bytes(), |bytes| {
        let len = bytes.len();
        assert!(Gguf::from_bytes(bytes).is_err(), "{len} bytes are taken for a file");
    });
}

#[test]
fn no_broken_file_brings_the_reader_down() {
    let mut readable = 0;
    let tried = mutations(&small_file().bytes(), 20_000, |bytes| {
        let len = bytes.len();
        let Ok(gguf) = Gguf::from_bytes(bytes) else { return };
        readable += 1;
        for tensor in gguf.tensors() {
            assert!(gguf.read_rows(tensor, 0..tensor.rows).unwrap().len() <= len);
        }
        for key in ["tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "general.architecture"] {
            let _ = (gguf.strings(key), gguf.i32s(key), gguf.f32s(key), gguf.u32(key), gguf.bool(key));
        }
        if let Ok(tokenizer) = TextTokenizer::from_gguf(&gguf) {
            for id in tokenizer.encode("ab ba<|im_end|>", true) {
                assert!(tokenizer.piece(id).len() <= len);
            }
        }
        let _ = ChatTemplate::from_gguf(&gguf);
    });
    assert!(
        (tried / 20..tried * 19 / 20).contains(&readable),
        "{readable} of {tried} were readable: the mutations are no test"
    );
}
