//! The encoder in plain floats, one text and one number at a time: slow, simple, and what the fast one is judged by.

use super::weights::{Linear, Norm, Weights};
use super::{MAX_TOKENS, normalize};
use crate::ModelError;
use std::path::Path;

pub struct Reference(Weights);

impl Reference {
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        Weights::read(folder).map(Self)
    }

    pub fn embed(&self, text: &str) -> Vec<f32> {
        let Weights { config, tokenizer, .. } = &self.0;
        let tokens = tokenizer.encode(text, MAX_TOKENS.min(config.max_position_embeddings));
        let mut hidden: Vec<Vec<f32>> =
            tokens.iter().enumerate().map(|(at, token)| self.embedding(at, *token)).collect();
        for layer in &self.0.layers {
            let queries = all(&layer.query, &hidden);
            let keys = all(&layer.key, &hidden);
            let values = all(&layer.value, &hidden);
            let context = attend(&queries, &keys, &values, config.heads);
            add_and_norm(&mut hidden, &all(&layer.attention_output, &context), &layer.attention_norm);
            let mut inner = all(&layer.intermediate, &hidden);
            inner.iter_mut().flatten().for_each(|value| *value = gelu(*value));
            add_and_norm(&mut hidden, &all(&layer.output, &inner), &layer.output_norm);
        }
        let mut mean = vec![0.0; config.hidden_size];
        for row in &hidden {
            mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += value);
        }
        normalize(&mut mean);
        mean
    }

    fn embedding(&self, position: usize, token: u32) -> Vec<f32> {
        let width = self.0.config.hidden_size;
        let word = &self.0.word_embeddings[token as usize * width..][..width];
        let place = &self.0.position_embeddings[position * width..][..width];
        let mut sum: Vec<f32> = word.iter().zip(place).map(|(word, place)| word + place).collect();
        norm(&self.0.embedding_norm, &mut sum);
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

/// In sixteen sums side by side, which the compiler can keep in a vector.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    for (a, b) in a.chunks(16).zip(b.chunks(16)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
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

pub(crate) fn softmax(mut logits: Vec<f32>) -> Vec<f32> {
    let highest = logits.iter().copied().fold(f32::MIN, f32::max);
    logits.iter_mut().for_each(|logit| *logit = (*logit - highest).exp());
    let sum: f32 = logits.iter().sum();
    logits.iter_mut().for_each(|weight| *weight /= sum);
    logits
}

fn add_and_norm(rows: &mut [Vec<f32>], more: &[Vec<f32>], weights: &Norm) {
    for (row, more) in rows.iter_mut().zip(more) {
        row.iter_mut().zip(more).for_each(|(value, more)| *value += more);
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

/// The error function by its series, or by its continued fraction where the series would cancel.
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
