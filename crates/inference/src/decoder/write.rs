//! Writes the next token of several sequences at once, so that each weight is fetched from memory once for all.

use super::attention;
use super::read::add_bias;
use super::{Decoder, Layer, Sequence, rope};
use crate::blocks::{BlockMatrix, BlockRows};
use crate::elementwise;
use crate::kernel::BLOCK;
use crate::linear::ByteRows;
use crate::rescale::Out;
use crate::task_pool::TaskPool;
use std::ops::Range;

impl Decoder {
    /// Appends one token to each sequence. Returns the hidden state after it, from which `logits` computes the next
    /// token.
    pub fn write(&self, pool: &TaskPool, sequences: &mut [&mut Sequence], tokens: &[u32]) -> Vec<Vec<f32>> {
        assert!(sequences.len() == tokens.len());
        let mut step = Step::new(self, pool, sequences, tokens);
        for (index, layer) in self.weights.layers.iter().enumerate() {
            step.attend(layer, index, sequences);
            step.feed_forward(layer);
        }
        for (sequence, token) in sequences.iter_mut().zip(tokens) {
            sequence.tokens.push(*token);
        }
        step.hidden
    }

    /// Returns the logits of every token of the vocabulary for each hidden state that `read` or `write` returned.
    pub fn logits(&self, pool: &TaskPool, rows: &[Vec<f32>]) -> Vec<Vec<f32>> {
        let mut step =
            Step { model: self, pool, bytes: BlockRows::new(), hidden: rows.to_vec(), angles: Vec::new() };
        step.normalize(&self.weights.output_norm);
        let output = self.output();
        let mut logits = step.product(output);
        logits.iter_mut().for_each(|row| row.truncate(output.columns()));
        logits
    }
}

/// One row for each sequence, on its way through the layers.
struct Step<'a> {
    model: &'a Decoder,
    pool: &'a TaskPool,
    hidden: Vec<Vec<f32>>,
    bytes: BlockRows,
    /// For each row the cosines and sines of its position.
    angles: Vec<Vec<f32>>,
}

impl<'a> Step<'a> {
    fn new(model: &'a Decoder, pool: &'a TaskPool, sequences: &[&mut Sequence], tokens: &[u32]) -> Self {
        let mut hidden = vec![vec![0.0; model.config.hidden]; tokens.len()];
        let mut angles = vec![Vec::new(); tokens.len()];
        for (row, sequence) in sequences.iter().enumerate() {
            assert!(sequence.len() < sequence.capacity);
            model.weights.embeddings.column(tokens[row] as usize, &mut hidden[row]);
            rope::angles(sequence.len(), &model.config.frequencies, &mut angles[row]);
        }
        Self { model, pool, hidden, bytes: BlockRows::new(), angles }
    }

    fn attend(&mut self, layer: &Layer, index: usize, sequences: &mut [&mut Sequence]) {
        let (config, isa) = (&self.model.config, self.model.kernel.0);
        let dimension = config.head_dimension;
        self.normalize(&layer.attention_norm);
        let mut products = self.products([&layer.query, &layer.key, &layer.value]);
        for (rows, bias) in products.iter_mut().zip(&layer.biases) {
            rows.iter_mut().for_each(|row| add_bias(isa, row, bias));
        }
        let [mut queries, mut keys, values] = products;
        for (row, angles) in self.angles.iter().enumerate() {
            queries[row].chunks_exact_mut(dimension).for_each(|head| rope::rotate(isa, head, angles));
            keys[row].chunks_exact_mut(dimension).for_each(|head| rope::rotate(isa, head, angles));
            let position = sequences[row].len();
            for (head, past) in sequences[row].past[index].iter_mut().enumerate() {
                past.set_keys(isa, position, &keys[row][head * dimension..][..dimension], dimension);
                past.set_values(isa, position, &values[row][head * dimension..][..dimension], dimension);
            }
        }
        let (group, key_heads) = (config.group(), config.key_heads);
        let mut context = vec![0.0; sequences.len() * config.heads * dimension];
        self.pool.each_chunk(&mut context, group * dimension, |task, out| {
            let (row, head) = (task / key_heads, task % key_heads);
            let sequence = &sequences[row];
            let mut bytes = ByteRows::new();
            bytes.reset(group, dimension);
            let factor = 1.0 / (dimension as f32).sqrt();
            bytes.set_all(
                isa,
                &queries[row][head * group * dimension..][..group * dimension],
                dimension,
                factor,
            );
            let session = self.model.kernel.session();
            let seen = |_| sequence.len() + 1;
            let past = &sequence.past[index][head];
            let queries = |block: Range<usize>| bytes.every(block.start, 1, block.len());
            attention::attend(
                &session,
                past,
                group,
                queries,
                seen,
                &mut attention::Scratch::new(),
                Out { values: out, stride: dimension },
            );
        });
        self.take(context.chunks_exact(config.heads * dimension));
        self.add(&layer.attention_output);
    }

    fn feed_forward(&mut self, layer: &Layer) {
        let (isa, rows) = (self.model.kernel.0, self.hidden.len());
        self.normalize(&layer.feed_forward_norm);
        let mut inner = vec![0.0; rows * layer.gate.panels() * BLOCK];
        self.pool.each_chunk(&mut inner, rows * BLOCK, |panel, gate| {
            let mut up = vec![0.0; gate.len()];
            layer.gate.times_panel(isa, &self.bytes, panel, gate);
            layer.up.times_panel(isa, &self.bytes, panel, &mut up);
            elementwise::gated_silu(isa, gate, &up);
        });
        let inner = by_rows(&inner, rows);
        self.take(inner.iter().map(Vec::as_slice));
        self.add(&layer.down);
    }

    fn normalize(&mut self, weight: &[f32]) {
        let (isa, config) = (self.model.kernel.0, &self.model.config);
        let mut normal = vec![0.0; config.hidden];
        self.bytes.reset(self.hidden.len(), config.hidden);
        for (row, values) in self.hidden.iter().enumerate() {
            elementwise::rms_norm(isa, values, weight, config.epsilon, &mut normal);
            self.bytes.set(isa, row, &normal);
        }
    }

    fn take<'r>(&mut self, rows: impl Iterator<Item = &'r [f32]>) {
        let count = self.hidden.len();
        for (row, values) in rows.enumerate() {
            if row == 0 {
                self.bytes.reset(count, values.len());
            }
            self.bytes.set(self.model.kernel.0, row, values);
        }
    }

    fn add(&mut self, matrix: &BlockMatrix) {
        let product = self.product(matrix);
        for (hidden, product) in self.hidden.iter_mut().zip(&product) {
            elementwise::add(self.model.kernel.0, hidden, product);
        }
    }

    fn product(&self, matrix: &BlockMatrix) -> Vec<Vec<f32>> {
        let [product] = self.products([matrix]);
        product
    }

    /// Computes several products with the same rows as one job.
    fn products<const COUNT: usize>(&self, matrices: [&BlockMatrix; COUNT]) -> [Vec<Vec<f32>>; COUNT] {
        let (isa, rows) = (self.model.kernel.0, self.bytes.rows());
        let panels: Vec<(&BlockMatrix, usize)> = matrices
            .iter()
            .flat_map(|matrix| (0..matrix.panels()).map(move |panel| (*matrix, panel)))
            .collect();
        let mut out = vec![0.0; panels.len() * rows * BLOCK];
        self.pool.each_chunk(&mut out, rows * BLOCK, |task, out| {
            let (matrix, panel) = panels[task];
            matrix.times_panel(isa, &self.bytes, panel, out);
        });
        let mut rest = out.as_slice();
        matrices.map(|matrix| {
            let (product, after) = rest.split_at(matrix.panels() * rows * BLOCK);
            rest = after;
            by_rows(product, rows)
        })
    }
}

/// Converts `[panel][row][32]` to rows.
fn by_rows(panels: &[f32], rows: usize) -> Vec<Vec<f32>> {
    let row = |row: usize| {
        let parts = panels.chunks_exact(rows * BLOCK).map(|panel| &panel[row * BLOCK..][..BLOCK]);
        parts.flatten().copied().collect()
    };
    (0..rows).map(row).collect()
}
