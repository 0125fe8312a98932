//! ONNX files: weights of every stored kind, linear layers by the name of their product, and broken files.

use inference::onnx::Onnx;
use mutations::{mutations, prefixes};

const FLOAT: u64 = 1;
const UINT8: u64 = 2;
const INT8: u64 = 3;
const INT64: u64 = 7;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn tensor(name: &str, kind: u64, shape: &[u64], content: Vec<u8>) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|side| number(1, *side)).collect();
    bytes(5, &[shape, number(2, kind), bytes(8, name.as_bytes()), content].concat())
}

fn floats(values: &[f32]) -> Vec<u8> {
    bytes(9, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

fn node(operation: &str, name: &str, inputs: &[&str]) -> Vec<u8> {
    let inputs: Vec<u8> = inputs.iter().flat_map(|input| bytes(1, input.as_bytes())).collect();
    bytes(1, &[inputs, bytes(3, name.as_bytes()), bytes(4, operation.as_bytes())].concat())
}

fn small_file() -> Vec<u8> {
    let graph = [
        node("MatMulInteger", "/bert/layer.0/query/MatMul_quant", &["x", "onnx::MatMul_7_quantized", "z"]),
        node("MatMul", "/bert/pooler/MatMul", &["x", "w"]),
        node("Add", "/bert/pooler/Add", &["x", "w"]),
        tensor("bias", FLOAT, &[2], floats(&[0.5, -1.0])),
        tensor("packed", FLOAT, &[2], bytes(4, &[1.5f32.to_le_bytes(), 2.0f32.to_le_bytes()].concat())),
        tensor("w", FLOAT, &[2, 3], floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        tensor("onnx::MatMul_7_quantized", INT8, &[2, 2], bytes(9, &[1, 0xff, 2, 0x80])),
        tensor("onnx::MatMul_7_scale", FLOAT, &[2], floats(&[0.5, 2.0])),
        tensor("onnx::MatMul_7_zero_point", INT8, &[2], bytes(5, &[0, 1])),
        tensor("words_quantized", UINT8, &[1, 3], bytes(9, &[0, 128, 255])),
        tensor("words_scale", FLOAT, &[], bytes(4, &0.25f32.to_le_bytes())),
        tensor("words_zero_point", UINT8, &[], bytes(5, &varint(128))),
        tensor("positions", INT64, &[1], bytes(9, &[0; 8])),
        tensor("short", FLOAT, &[3], floats(&[1.0])),
    ];
    [number(1, 7), bytes(7, &graph.concat())].concat()
}

#[test]
fn tensors_are_read_as_floats() {
    let file = Onnx::from_bytes(&small_file()).unwrap();
    assert_eq!(file.tensor("bias").unwrap(), (vec![2], vec![0.5, -1.0]));
    assert_eq!(file.tensor("packed").unwrap(), (vec![2], vec![1.5, 2.0]));
    assert_eq!(file.tensor("words").unwrap(), (vec![1, 3], vec![-32.0, 0.0, 31.75]));
    for (name, expected) in [
        ("none", "no tensor `none`"),
        ("positions", "is of ONNX type 7: floats and bytes are read"),
        ("short", "has other numbers than its shape says"),
    ] {
        let error = file.tensor(name).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_layers_weights_are_those_of_its_product_with_a_row_for_each_output() {
    let file = Onnx::from_bytes(&small_file()).unwrap();
    assert_eq!(file.linear("bert.pooler").unwrap(), (vec![3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    assert_eq!(file.linear("bert.layer.0.query").unwrap(), (vec![2, 2], vec![0.5, 1.0, -4.0, -258.0]));
    assert!(file.linear("bert.layer.1.query").unwrap_err().to_string().contains("no product"));
}

#[test]
fn no_broken_file_panics() {
    let names = ["bias", "packed", "w", "words", "positions", "short", "onnx::MatMul_7"];
    let read = |bytes: Vec<u8>| {
        let Ok(file) = Onnx::from_bytes(&bytes) else { return };
        for name in names {
            let _ = file.tensor(name);
        }
        let _ = (file.linear("bert.pooler"), file.linear("bert.layer.0.query"));
    };
    prefixes(&small_file(), read);
    mutations(&small_file(), 20_000, read);
}
