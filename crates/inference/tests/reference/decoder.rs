//! The decoder in plain floats, one token at a time: slow, simple, and what the fast one is judged by.

use super::config::Config;
use super::load::{Source, check};
use crate::ModelError;
use crate::encoder::{dot, softmax};
use crate::gguf::Gguf;
use crate::tokenizer::TextTokenizer;
use std::path::Path;

pub struct Reference {
    config: Config,
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
    attention_output: Vec<f32>,
    feed_forward_norm: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    down: Vec<f32>,
}

/// Keys and values of all positions so far, for each layer.
#[derive(Default)]
pub struct Past {
    keys: Vec<Vec<Vec<f32>>>,
    values: Vec<Vec<Vec<f32>>>,
}

impl Reference {
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let file = Gguf::open(path)?;
        let config = Config::read(&file)?;
        let tokens = TextTokenizer::from_gguf(&file)?.len();
        let source = Source { file: &file, config: &config };
        let matrix = |name: &str, rows: usize, columns: usize| {
            let tensor = file.required_tensor(name)?;
            check(tensor, rows, columns)?;
            let mut values = vec![0.0; rows * columns];
            tensor.kind.dequantize(&file.read_rows(tensor, 0..rows)?, &mut values);
            Ok::<_, ModelError>(values)
        };
        let (hidden, inner) = (config.hidden, config.inner);
        let (queries, keys) =
            (config.heads * config.head_dimension, config.key_heads * config.head_dimension);
        let layer = |index: usize| {
            let name = |part: &str| format!("blk.{index}.{part}.weight");
            Ok::<_, ModelError>(Layer {
                attention_norm: source.vector(&name("attn_norm"), hidden)?,
                query: matrix(&name("attn_q"), queries, hidden)?,
                key: matrix(&name("attn_k"), keys, hidden)?,
                value: matrix(&name("attn_v"), keys, hidden)?,
                attention_output: matrix(&name("attn_output"), hidden, queries)?,
                feed_forward_norm: source.vector(&name("ffn_norm"), hidden)?,
                gate: matrix(&name("ffn_gate"), inner, hidden)?,
                up: matrix(&name("ffn_up"), inner, hidden)?,
                down: matrix(&name("ffn_down"), hidden, inner)?,
            })
        };
        Ok(Self {
            embeddings: matrix("token_embd.weight", tokens, hidden)?,
            output: file
                .tensor("output.weight")
                .map(|_| matrix("output.weight", tokens, hidden))
                .transpose()?,
            output_norm: source.vector("output_norm.weight", hidden)?,
            layers: (0..config.layers).map(layer).collect::<Result<_, _>>()?,
            config,
        })
    }

    /// How likely each token is to follow, before any scaling, after one more has been read.
    pub fn next(&self, past: &mut Past, token: u32) -> Vec<f32> {
        let width = self.config.hidden;
        let mut hidden = self.embeddings[token as usize * width..][..width].to_vec();
        past.keys.resize_with(self.layers.len(), Vec::new);
        past.values.resize_with(self.layers.len(), Vec::new);
        for (index, layer) in self.layers.iter().enumerate() {
            let normal = self.normal(&hidden, &layer.attention_norm);
            let position = past.keys[index].len();
            let query = self.turned(product(&layer.query, &normal), position);
            past.keys[index].push(self.turned(product(&layer.key, &normal), position));
            past.values[index].push(product(&layer.value, &normal));
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
        let factor = 1.0 / (mean + self.config.epsilon).sqrt();
        row.iter().zip(weight).map(|(value, weight)| value * factor * weight).collect()
    }

    fn turned(&self, mut row: Vec<f32>, position: usize) -> Vec<f32> {
        for head in row.chunks_exact_mut(self.config.head_dimension) {
            for (pair, frequency) in head.chunks_exact_mut(2).zip(&self.config.frequencies) {
                let (sine, cosine) = (position as f32 * frequency).sin_cos();
                let (x, y) = (pair[0], pair[1]);
                pair[0] = x * cosine - y * sine;
                pair[1] = x * sine + y * cosine;
            }
        }
        row
    }

    fn attend(&self, query: &[f32], keys: &[Vec<f32>], values: &[Vec<f32>]) -> Vec<f32> {
        let dimension = self.config.head_dimension;
        let mut context = vec![0.0; query.len()];
        for (head, (query, context)) in
            query.chunks_exact(dimension).zip(context.chunks_exact_mut(dimension)).enumerate()
        {
            let start = head / self.config.group() * dimension;
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

fn product(matrix: &[f32], row: &[f32]) -> Vec<f32> {
    matrix.chunks_exact(row.len()).map(|weights| dot(weights, row)).collect()
}

fn add(to: &mut [f32], values: &[f32]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value);
}
