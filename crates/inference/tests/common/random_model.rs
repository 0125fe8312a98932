//! A small language model with random weights, as a GGUF file.

use std::path::Path;

const LAYERS: usize = 2;
const HIDDEN: usize = 64;
const INNER: usize = 96;
const HEADS: usize = 2;
const KEY_HEADS: usize = 1;
const HEAD_DIMENSION: usize = HIDDEN / HEADS;
pub const TOKENS: usize = 256;

/// Writes a model of this architecture. Its text is of single bytes.
pub fn write(path: &Path, architecture: &str, pre: &str) {
    let mut file = Writer { entries: Vec::new(), count: 0, tensors: Vec::new(), data: Vec::new(), seed: 1 };
    file.string("general.architecture", architecture);
    for (key, value) in [
        ("block_count", LAYERS),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", INNER),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", KEY_HEADS),
        ("context_length", 512),
    ] {
        file.entry(&format!("{architecture}.{key}"), 4, &(value as u32).to_le_bytes());
    }
    for (key, value) in [("attention.layer_norm_rms_epsilon", 1e-6f32), ("rope.freq_base", 10_000.0)] {
        file.entry(&format!("{architecture}.{key}"), 6, &value.to_le_bytes());
    }
    file.string("tokenizer.ggml.model", "gpt2");
    file.string("tokenizer.ggml.pre", pre);
    let tokens: Vec<String> =
        (0..TOKENS as u32).map(|n| char::from_u32(256 + n).unwrap().to_string()).collect();
    file.strings("tokenizer.ggml.tokens", &tokens);
    file.strings("tokenizer.ggml.merges", &[]);

    file.tensor("token_embd.weight", TOKENS, HIDDEN, 1.0, 0.0);
    file.tensor("output_norm.weight", 1, HIDDEN, 0.2, 1.0);
    for layer in 0..LAYERS {
        let keys = KEY_HEADS * HEAD_DIMENSION;
        for (part, rows, columns) in [
            ("attn_q", HIDDEN, HIDDEN),
            ("attn_k", keys, HIDDEN),
            ("attn_v", keys, HIDDEN),
            ("attn_output", HIDDEN, HIDDEN),
            ("ffn_gate", INNER, HIDDEN),
            ("ffn_up", INNER, HIDDEN),
            ("ffn_down", HIDDEN, INNER),
        ] {
            file.tensor(&format!("blk.{layer}.{part}.weight"), rows, columns, 0.3, 0.0);
        }
        for (part, len) in [("attn_q", HIDDEN), ("attn_k", keys), ("attn_v", keys)] {
            if architecture == "qwen2" {
                file.tensor(&format!("blk.{layer}.{part}.bias"), 1, len, 2.0, 0.0);
            }
        }
        for norm in ["attn_norm", "ffn_norm"] {
            file.tensor(&format!("blk.{layer}.{norm}.weight"), 1, HIDDEN, 0.2, 1.0);
        }
    }
    std::fs::write(path, file.finish()).unwrap();
}

struct Writer {
    entries: Vec<u8>,
    count: u64,
    /// Name, rows, columns and place in `data`.
    tensors: Vec<(String, usize, usize, usize)>,
    data: Vec<u8>,
    seed: u64,
}

impl Writer {
    fn entry(&mut self, key: &str, kind: u32, value: &[u8]) {
        self.entries.extend(text(key));
        self.entries.extend(kind.to_le_bytes());
        self.entries.extend(value);
        self.count += 1;
    }

    fn string(&mut self, key: &str, value: &str) {
        self.entry(key, 8, &text(value));
    }

    fn strings(&mut self, key: &str, values: &[String]) {
        let mut array = 8u32.to_le_bytes().to_vec();
        array.extend((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| array.extend(text(value)));
        self.entry(key, 9, &array);
    }

    /// Adds weights around `middle`, at most `size` from it.
    fn tensor(&mut self, name: &str, rows: usize, columns: usize, size: f32, middle: f32) {
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        self.tensors.push((name.to_owned(), rows, columns, self.data.len()));
        for _ in 0..rows * columns {
            self.seed =
                self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (self.seed >> 40) as f32 / (1 << 23) as f32 - 1.0;
            self.data.extend((middle + size * random).to_le_bytes());
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3u32.to_le_bytes());
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend(self.count.to_le_bytes());
        file.extend(self.entries);
        for (name, rows, columns, place) in &self.tensors {
            let sizes: &[usize] = if *rows == 1 { &[*columns] } else { &[*columns, *rows] };
            file.extend(text(name));
            file.extend((sizes.len() as u32).to_le_bytes());
            sizes.iter().for_each(|size| file.extend((*size as u64).to_le_bytes()));
            file.extend(0u32.to_le_bytes());
            file.extend((*place as u64).to_le_bytes());
        }
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(self.data);
        file
    }
}

fn text(value: &str) -> Vec<u8> {
    [&(value.len() as u64).to_le_bytes(), value.as_bytes()].concat()
}
