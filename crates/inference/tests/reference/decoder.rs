//! The decoder in plain floats, one token at a time: slow, simple, and what the fast one is compared with.

#[path = "math.rs"]
mod math;

use inference::gguf::Gguf;
use math::{add, dot, softmax};
use std::path::Path;

pub struct Reference {
    key_heads: usize,
    head_dimension: usize,
    epsilon: f32,
    /// Rotation per position of each pair of a head's dimensions, in radians.
    frequencies: Vec<f32>,
    /// Whether the two dimensions of a pair are side by side.
    pairs_adjoin: bool,
    embeddings: Vec<f32>,
    output: Option<Vec<f32>>,
    output_norm: Vec<f32>,
    layers: Vec<Layer>,
}

struct Layer {
    attention_norm: Vec<f32>,
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    /// Of query, key and value; empty if there are none.
    biases: [Vec<f32>; 3],
    attention_output: Vec<f32>,
    feed_forward_norm: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    down: Vec<f32>,
}

/// Keys and values of all positions read so far, for each layer.
#[derive(Default)]
pub struct Past {
    keys: Vec<Vec<Vec<f32>>>,
    values: Vec<Vec<Vec<f32>>>,
}

impl Reference {
    pub fn load(path: &Path) -> Self {
        let file = Gguf::open(path).unwrap();
        let architecture = file.required_string("general.architecture").unwrap();
        let number = |key: &str| file.required_u32(&format!("{architecture}.{key}")).unwrap() as usize;
        let heads = number("attention.head_count");
        let head_dimension = number("embedding_length") / heads;
        let base = file.required_f32(&format!("{architecture}.rope.freq_base")).unwrap();
        let frequency = |pair: usize| base.powf(-2.0 * pair as f32 / head_dimension as f32);
        let tensor = |name: &str| {
            let tensor = file.required_tensor(name).unwrap();
            let mut values = vec![0.0; tensor.rows * tensor.columns];
            tensor.kind.dequantize(&file.read_rows(tensor, 0..tensor.rows).unwrap(), &mut values);
            values
        };
        let layer = |index: usize| {
            let bias = |part: &str| {
                let name = format!("blk.{index}.{part}.bias");
                file.tensor(&name).map_or(Vec::new(), |_| tensor(&name))
            };
            let biases = ["attn_q", "attn_k", "attn_v"].map(bias);
            let tensor = |part: &str| tensor(&format!("blk.{index}.{part}.weight"));
            Layer {
                attention_norm: tensor("attn_norm"),
                query: tensor("attn_q"),
                key: tensor("attn_k"),
                value: tensor("attn_v"),
                biases,
                attention_output: tensor("attn_output"),
                feed_forward_norm: tensor("ffn_norm"),
                gate: tensor("ffn_gate"),
                up: tensor("ffn_up"),
                down: tensor("ffn_down"),
            }
        };
        Self {
            key_heads: number("attention.head_count_kv"),
            head_dimension,
            epsilon: file.required_f32(&format!("{architecture}.attention.layer_norm_rms_epsilon")).unwrap(),
            frequencies: (0..head_dimension / 2).map(frequency).collect(),
            pairs_adjoin: architecture == "llama",
            embeddings: tensor("token_embd.weight"),
            output: file.tensor("output.weight").map(|_| tensor("output.weight")),
            output_norm: tensor("output_norm.weight"),
            layers: (0..number("block_count")).map(layer).collect(),
        }
    }

    /// Reads one more token and returns the logits of the one that follows.
    pub fn next(&self, past: &mut Past, token: u32) -> Vec<f32> {
        let width = self.output_norm.len();
        let mut hidden = self.embeddings[token as usize * width..][..width].to_vec();
        past.keys.resize_with(self.layers.len(), Vec::new);
        past.values.resize_with(self.layers.len(), Vec::new);
        for (index, layer) in self.layers.iter().enumerate() {
            let normal = self.normal(&hidden, &layer.attention_norm);
            let position = past.keys[index].len();
            let [query_bias, key_bias, value_bias] = &layer.biases;
            let query = self.rotated(biased(&layer.query, &normal, query_bias), position);
            past.keys[index].push(self.rotated(biased(&layer.key, &normal, key_bias), position));
            past.values[index].push(biased(&layer.value, &normal, value_bias));
            let context = self.attend(&query, &past.keys[index], &past.values[index]);
            add(&mut hidden, &product(&layer.attention_output, &context));

            let normal = self.normal(&hidden, &layer.feed_forward_norm);
            let mut inner = product(&layer.gate, &normal);
            for (gate, up) in inner.iter_mut().zip(product(&layer.up, &normal)) {
                *gate = *gate / (1.0 + (-*gate).exp()) * up;
            }
            add(&mut hidden, &product(&layer.down, &inner));
        }
        let normal = self.normal(&hidden, &self.output_norm);
        product(self.output.as_ref().unwrap_or(&self.embeddings), &normal)
    }

    fn normal(&self, row: &[f32], weight: &[f32]) -> Vec<f32> {
        let mean = row.iter().map(|value| value * value).sum::<f32>() / row.len() as f32;
        let factor = 1.0 / (mean + self.epsilon).sqrt();
        row.iter().zip(weight).map(|(value, weight)| value * factor * weight).collect()
    }

    fn rotated(&self, mut row: Vec<f32>, position: usize) -> Vec<f32> {
        for head in row.chunks_exact_mut(self.head_dimension) {
            for (pair, frequency) in self.frequencies.iter().enumerate() {
                let half = self.frequencies.len();
                let (first, second) =
                    if self.pairs_adjoin { (2 * pair, 2 * pair + 1) } else { (pair, pair + half) };
                let (sine, cosine) = (position as f32 * frequency).sin_cos();
                let (x, y) = (head[first], head[second]);
                head[first] = x * cosine - y * sine;
                head[second] = x * sine + y * cosine;
            }
        }
        row
    }

    fn attend(&self, query: &[f32], keys: &[Vec<f32>], values: &[Vec<f32>]) -> Vec<f32> {
        let dimension = self.head_dimension;
        // Several query heads share one key head.
        let groups = query.len() / dimension / self.key_heads;
        let mut context = vec![0.0; query.len()];
        for (head, (query, context)) in
            query.chunks_exact(dimension).zip(context.chunks_exact_mut(dimension)).enumerate()
        {
            let start = head / groups * dimension;
            let part = start..start + dimension;
            let logit = |key: &Vec<f32>| dot(query, &key[part.clone()]) / (dimension as f32).sqrt();
            let weights = softmax(keys.iter().map(logit).collect());
            for (weight, value) in weights.iter().zip(values) {
                context.iter_mut().zip(&value[part.clone()]).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        context
    }
}

fn biased(matrix: &[f32], row: &[f32], bias: &[f32]) -> Vec<f32> {
    let mut product = product(matrix, row);
    product.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
    product
}

fn product(matrix: &[f32], row: &[f32]) -> Vec<f32> {
    matrix.chunks_exact(row.len()).map(|weights| dot(weights, row)).collect()
}
