//! BERT in plain floats, one text and one number at a time: slow, simple, and what the fast one is compared with.

#[path = "math.rs"]
mod math;

use inference::safetensors::Safetensors;
use math::{add, softmax};

pub use math::dot;

pub struct Bert {
    heads: usize,
    word_embeddings: Vec<f32>,
    position_embeddings: Vec<f32>,
    /// One or two.
    type_embeddings: Vec<f32>,
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

pub struct Linear {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// That of all models of this kind.
const EPSILON: f32 = 1e-12;

impl Bert {
    pub fn read(file: &Safetensors<'_>, heads: usize) -> Self {
        let norm = |name: &str| {
            let Linear { weight, bias } = Linear::read(file, name);
            Norm { weight, bias }
        };
        let layer = |index: usize| {
            let name = |part: &str| format!("encoder.layer.{index}.{part}");
            let linear = |part: &str| Linear::read(file, &name(part));
            Layer {
                query: linear("attention.self.query"),
                key: linear("attention.self.key"),
                value: linear("attention.self.value"),
                attention_output: linear("attention.output.dense"),
                attention_norm: norm(&name("attention.output.LayerNorm")),
                intermediate: linear("intermediate.dense"),
                output: linear("output.dense"),
                output_norm: norm(&name("output.LayerNorm")),
            }
        };
        let has_layer = |index: &usize| {
            file.names().any(|name| name == format!("encoder.layer.{index}.output.dense.bias"))
        };
        Self {
            heads,
            word_embeddings: tensor(file, "embeddings.word_embeddings.weight"),
            position_embeddings: tensor(file, "embeddings.position_embeddings.weight"),
            type_embeddings: tensor(file, "embeddings.token_type_embeddings.weight"),
            embedding_norm: norm("embeddings.LayerNorm"),
            layers: (0..).take_while(has_layer).map(layer).collect(),
        }
    }

    /// Returns a vector for each token. The tokens from `first` on are those of a second text.
    pub fn vectors(&self, tokens: &[u32], first: usize) -> Vec<Vec<f32>> {
        let embedding = |(at, token): (usize, &u32)| self.embedding(at, *token, usize::from(at >= first));
        let mut hidden: Vec<Vec<f32>> = tokens.iter().enumerate().map(embedding).collect();
        for layer in &self.layers {
            let queries = layer.query.all(&hidden);
            let keys = layer.key.all(&hidden);
            let values = layer.value.all(&hidden);
            let context = attend(&queries, &keys, &values, self.heads);
            add_and_norm(&mut hidden, &layer.attention_output.all(&context), &layer.attention_norm);
            let mut inner = layer.intermediate.all(&hidden);
            inner.iter_mut().flatten().for_each(|value| *value = gelu(*value));
            add_and_norm(&mut hidden, &layer.output.all(&inner), &layer.output_norm);
        }
        hidden
    }

    fn embedding(&self, position: usize, token: u32, kind: usize) -> Vec<f32> {
        let width = self.embedding_norm.weight.len();
        let mut sum = self.word_embeddings[token as usize * width..][..width].to_vec();
        add(&mut sum, &self.position_embeddings[position * width..][..width]);
        add(&mut sum, &self.type_embeddings[kind * width..][..width]);
        norm(&self.embedding_norm, &mut sum);
        sum
    }
}

impl Linear {
    pub fn read(file: &Safetensors<'_>, name: &str) -> Self {
        Self { weight: tensor(file, &format!("{name}.weight")), bias: tensor(file, &format!("{name}.bias")) }
    }

    pub fn all(&self, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let outputs = |row: &Vec<f32>| {
            let weights = self.weight.chunks_exact(row.len());
            weights.zip(&self.bias).map(|(weights, bias)| dot(weights, row) + bias).collect()
        };
        rows.iter().map(outputs).collect()
    }
}

/// Returns floats, or bytes times the scale of their row.
fn tensor(file: &Safetensors<'_>, name: &str) -> Vec<f32> {
    let Ok((shape, bytes)) = file.bytes(name, "I8") else { return file.tensor(name).unwrap().1 };
    let scales = file.tensor(&format!("{name}.scale")).unwrap().1;
    let rows = bytes.chunks_exact(shape[1]).zip(scales);
    rows.flat_map(|(row, scale)| row.iter().map(move |byte| f32::from(*byte as i8) * scale)).collect()
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
        *value = (*value - mean) / (variance + EPSILON).sqrt() * weight + bias;
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
