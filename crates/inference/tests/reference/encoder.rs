//! The encoder in plain floats, one text and one number at a time: slow, simple, and what the fast one is compared
//! with.

#[path = "math.rs"]
mod math;

use inference::encoder::MAX_TOKENS;
use inference::safetensors::Safetensors;
use inference::tokenizer::WordPiece;
use math::{add, dot, softmax};
use serde_json::Value;
use std::fs;
use std::path::Path;

pub struct Reference {
    tokenizer: WordPiece,
    heads: usize,
    word_embeddings: Vec<f32>,
    position_embeddings: Vec<f32>,
    type_embedding: Vec<f32>,
    embedding_norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    intermediate: Linear,
    output: Linear,
    output_norm: Norm,
}

struct Linear {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Reference {
    pub fn load(folder: &Path) -> Self {
        let read = |name: &str| fs::read(folder.join(name)).unwrap();
        let config: Value = serde_json::from_slice(&read("config.json")).unwrap();
        let number = |key: &str| config[key].as_u64().unwrap() as usize;
        let epsilon = config["layer_norm_eps"].as_f64().unwrap() as f32;
        let file = Safetensors::from_bytes(read("model.safetensors")).unwrap();
        let tensor = |name: &str| file.tensor(name).unwrap().1;
        let linear = |name: &str| Linear {
            weight: tensor(&format!("{name}.weight")),
            bias: tensor(&format!("{name}.bias")),
        };
        let norm = |name: &str| {
            let Linear { weight, bias } = linear(name);
            Norm { weight, bias, epsilon }
        };
        let layer = |index: usize| {
            let name = |part: &str| format!("encoder.layer.{index}.{part}");
            Layer {
                query: linear(&name("attention.self.query")),
                key: linear(&name("attention.self.key")),
                value: linear(&name("attention.self.value")),
                attention_output: linear(&name("attention.output.dense")),
                attention_norm: norm(&name("attention.output.LayerNorm")),
                intermediate: linear(&name("intermediate.dense")),
                output: linear(&name("output.dense")),
                output_norm: norm(&name("output.LayerNorm")),
            }
        };
        Self {
            tokenizer: WordPiece::from_json(&read("tokenizer.json")).unwrap(),
            heads: number("num_attention_heads"),
            word_embeddings: tensor("embeddings.word_embeddings.weight"),
            position_embeddings: tensor("embeddings.position_embeddings.weight"),
            type_embedding: tensor("embeddings.token_type_embeddings.weight"),
            embedding_norm: norm("embeddings.LayerNorm"),
            layers: (0..number("num_hidden_layers")).map(layer).collect(),
        }
    }

    pub fn embed(&self, text: &str) -> Vec<f32> {
        let tokens = self.tokenizer.encode(text, MAX_TOKENS);
        let mut hidden: Vec<Vec<f32>> =
            tokens.iter().enumerate().map(|(at, token)| self.embedding(at, *token)).collect();
        for layer in &self.layers {
            let queries = all(&layer.query, &hidden);
            let keys = all(&layer.key, &hidden);
            let values = all(&layer.value, &hidden);
            let context = attend(&queries, &keys, &values, self.heads);
            add_and_norm(&mut hidden, &all(&layer.attention_output, &context), &layer.attention_norm);
            let mut inner = all(&layer.intermediate, &hidden);
            inner.iter_mut().flatten().for_each(|value| *value = gelu(*value));
            add_and_norm(&mut hidden, &all(&layer.output, &inner), &layer.output_norm);
        }
        let mut mean = vec![0.0; self.width()];
        for row in &hidden {
            add(&mut mean, row);
        }
        let length = mean.iter().map(|value| value * value).sum::<f32>().sqrt();
        mean.iter().map(|value| value / length).collect()
    }

    fn width(&self) -> usize {
        self.embedding_norm.weight.len()
    }

    fn embedding(&self, position: usize, token: u32) -> Vec<f32> {
        let width = self.width();
        let mut sum = self.word_embeddings[token as usize * width..][..width].to_vec();
        add(&mut sum, &self.position_embeddings[position * width..][..width]);
        // The model has two token types; every token of a single text has the first.
        add(&mut sum, &self.type_embedding[..width]);
        norm(&self.embedding_norm, &mut sum);
        sum
    }
}

fn all(linear: &Linear, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let outputs = |row: &Vec<f32>| {
        let weights = linear.weight.chunks_exact(row.len());
        weights.zip(&linear.bias).map(|(weights, bias)| dot(weights, row) + bias).collect()
    };
    rows.iter().map(outputs).collect()
}

fn attend(queries: &[Vec<f32>], keys: &[Vec<f32>], values: &[Vec<f32>], heads: usize) -> Vec<Vec<f32>> {
    let width = queries[0].len();
    let dimension = width / heads;
    let mut context = vec![vec![0.0; width]; queries.len()];
    for head in 0..heads {
        let part = head * dimension..(head + 1) * dimension;
        for (query, context) in queries.iter().zip(&mut context) {
            let logit =
                |key: &Vec<f32>| dot(&query[part.clone()], &key[part.clone()]) / (dimension as f32).sqrt();
            let weights = softmax(keys.iter().map(logit).collect());
            for (weight, value) in weights.iter().zip(values) {
                context[part.clone()]
                    .iter_mut()
                    .zip(&value[part.clone()])
                    .for_each(|(sum, v)| *sum += weight * v);
            }
        }
    }
    context
}

fn add_and_norm(rows: &mut [Vec<f32>], more: &[Vec<f32>], weights: &Norm) {
    for (row, more) in rows.iter_mut().zip(more) {
        add(row, more);
        norm(weights, row);
    }
}

fn norm(weights: &Norm, row: &mut [f32]) {
    let count = row.len() as f32;
    let mean = row.iter().sum::<f32>() / count;
    let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count;
    for ((value, weight), bias) in row.iter_mut().zip(&weights.weight).zip(&weights.bias) {
        *value = (*value - mean) / (variance + weights.epsilon).sqrt() * weight + bias;
    }
}

fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    (x * 0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2))) as f32
}

/// Returns the error function: by its series, or by its continued fraction if the series would cancel.
fn erf(x: f64) -> f64 {
    if x < 0.0 {
        return -erf(-x);
    }
    if x < 2.5 {
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return sum * 2.0 / std::f64::consts::PI.sqrt();
    }
    let mut fraction = x;
    for n in (1..60).rev() {
        fraction = x + f64::from(n) / 2.0 / fraction;
    }
    1.0 - (-x * x).exp() / (fraction * std::f64::consts::PI.sqrt())
}
