//! Reads many tokens of one sequence at once. Each thread takes its rows through a layer on its own, and waits only
//! until all threads have stored their keys and values.

use super::attention::{self, KeyValues};
use super::{Decoder, Layer, Sequence, rope};
use crate::blocks::BlockMatrix;
use crate::elementwise;
use crate::kernel::{self, Aligned, BLOCK, Isa, Pair, Session};
use crate::linear::{self, ByteRows, stride};
use crate::rescale::{Epilogue, Out};
use crate::task_pool::TaskPool;
use std::ops::Range;

/// Rows that one thread takes at a time, few enough that the values between two products stay in its cache.
const ROWS: usize = 128;

impl Decoder {
    /// Appends tokens to `sequence`. Returns the hidden state after the last one, from which `logits` computes the
    /// next token.
    pub fn read(&self, pool: &TaskPool, sequence: &mut Sequence, tokens: &[u32]) -> Vec<f32> {
        self.read_each(pool, sequence, tokens).pop().unwrap_or_default()
    }

    /// Like `read`, but returns the hidden state after each token.
    pub fn read_each(&self, pool: &TaskPool, sequence: &mut Sequence, tokens: &[u32]) -> Vec<Vec<f32>> {
        assert!(sequence.len() + tokens.len() <= sequence.capacity);
        let share = tokens.len().div_ceil(pool.threads()).next_multiple_of(BLOCK).min(ROWS);
        let mut expected = Vec::with_capacity(tokens.len());
        for tokens in tokens.chunks(share * pool.threads()) {
            let parts = self.read_some(pool, sequence, tokens, share);
            let rows = parts.iter().flat_map(|rows| rows.hidden.chunks_exact(self.config.hidden));
            expected.extend(rows.map(<[f32]>::to_vec));
        }
        expected
    }

    fn read_some(
        &self,
        pool: &TaskPool,
        sequence: &mut Sequence,
        tokens: &[u32],
        share: usize,
    ) -> Vec<PromptRows> {
        let first = sequence.len();
        let mut parts: Vec<PromptRows> =
            (first..).step_by(share).zip(tokens.chunks(share)).map(PromptRows::new).collect();
        pool.each_item(&mut parts, |_, rows| {
            let session = self.kernel.session();
            rows.embed(self);
            rows.project(self, &session, &self.weights.layers[0]);
        });
        for (index, layer) in self.weights.layers.iter().enumerate() {
            let past = &mut sequence.past[index];
            pool.each_item(past, |head, past| parts.iter().for_each(|rows| rows.remember(self, head, past)));
            let past = &sequence.past[index];
            pool.each_item(&mut parts, |_, rows| {
                let session = self.kernel.session();
                rows.attend(self, &session, layer, past);
                rows.feed_forward(self, &session, layer);
                if let Some(next) = self.weights.layers.get(index + 1) {
                    rows.project(self, &session, next);
                }
            });
        }
        sequence.tokens.extend_from_slice(tokens);
        parts
    }
}

/// Consecutive tokens of a prompt, as rows that pass through the layers.
struct PromptRows {
    first: usize,
    tokens: Vec<u32>,
    /// For each row the cosines and sines of its position.
    angles: Vec<f32>,
    hidden: Vec<f32>,
    normal: Vec<f32>,
    bytes: ByteRows,
    product: Product,
    /// `[row][head][dimension]`, like `keys`, `values` and `context`.
    queries: ByteRows,
    keys: Vec<f32>,
    values: Vec<f32>,
    context: Vec<f32>,
    inner: Vec<f32>,
    attention: attention::Scratch,
}

impl PromptRows {
    fn new((first, tokens): (usize, &[u32])) -> Self {
        Self {
            first,
            tokens: tokens.to_vec(),
            angles: Vec::new(),
            hidden: Vec::new(),
            normal: Vec::new(),
            bytes: ByteRows::new(),
            product: Product { unpacked: Aligned::zeroed(0), sums: kernel::pair() },
            queries: ByteRows::new(),
            keys: Vec::new(),
            values: Vec::new(),
            context: Vec::new(),
            inner: Vec::new(),
            attention: attention::Scratch::new(),
        }
    }

    fn embed(&mut self, model: &Decoder) {
        let (config, count) = (&model.config, self.tokens.len());
        self.hidden.resize(count * config.hidden, 0.0);
        for (row, token) in self.hidden.chunks_exact_mut(config.hidden).zip(&self.tokens) {
            model.weights.embeddings.column(*token as usize, row);
        }
        for position in self.first..self.first + count {
            rope::angles(position, &config.frequencies, &mut self.angles);
        }
        self.normal.resize(config.hidden, 0.0);
        self.keys.resize(count * config.key_heads * config.head_dimension, 0.0);
        self.values.resize(self.keys.len(), 0.0);
        self.context.resize(count * config.heads * config.head_dimension, 0.0);
        self.inner.resize(count * stride(config.inner), 0.0);
    }

    /// Computes queries, keys and values of a layer.
    fn project(&mut self, model: &Decoder, session: &Session, layer: &Layer) {
        let (config, isa, count) = (&model.config, session.isa(), self.tokens.len());
        let dimension = config.head_dimension;
        self.normalize(model, session, &layer.attention_norm);
        self.product.rows(session, &self.bytes, &layer.query, Epilogue::Set, &mut self.context);
        self.product.rows(session, &self.bytes, &layer.key, Epilogue::Set, &mut self.keys);
        self.product.rows(session, &self.bytes, &layer.value, Epilogue::Set, &mut self.values);
        for (values, bias) in
            [&mut self.context, &mut self.keys, &mut self.values].into_iter().zip(&layer.biases)
        {
            add_bias(isa, values, bias);
        }
        let rotate = |values: &mut [f32], heads: usize| {
            for (row, angles) in
                values.chunks_exact_mut(heads * dimension).zip(self.angles.chunks_exact(dimension))
            {
                row.chunks_exact_mut(dimension).for_each(|head| rope::rotate(isa, head, angles));
            }
        };
        rotate(&mut self.context, config.heads);
        rotate(&mut self.keys, config.key_heads);
        let factor = 1.0 / (dimension as f32).sqrt();
        // Blocks of rows are read to their end.
        self.queries.reset(count.next_multiple_of(BLOCK) * config.heads, dimension);
        self.queries.set_all(isa, &self.context, dimension, factor);
    }

    /// Stores the keys and values of one head.
    fn remember(&self, model: &Decoder, head: usize, past: &mut KeyValues) {
        let (isa, dimension) = (model.kernel.0, model.config.head_dimension);
        let width = model.config.key_heads * dimension;
        past.set_keys(isa, self.first, &self.keys[head * dimension..], width);
        past.set_values(isa, self.first, &self.values[head * dimension..], width);
    }

    fn attend(&mut self, model: &Decoder, session: &Session, layer: &Layer, past: &[KeyValues]) {
        let (config, isa, count) = (&model.config, session.isa(), self.tokens.len());
        let dimension = config.head_dimension;
        let width = config.heads * dimension;
        for head in 0..config.heads {
            let past = &past[head / config.group()];
            let queries = |block: Range<usize>| {
                self.queries.every(block.start * config.heads + head, config.heads, block.len())
            };
            let seen = |row: usize| self.first + row + 1;
            let out = Out { values: &mut self.context[head * dimension..], stride: width };
            attention::attend(session, past, count, queries, seen, &mut self.attention, out);
        }
        self.bytes.reset(count, width);
        self.bytes.set_all(isa, &self.context, width, 1.0);
        self.product.rows(session, &self.bytes, &layer.attention_output, Epilogue::Add, &mut self.hidden);
    }

    fn feed_forward(&mut self, model: &Decoder, session: &Session, layer: &Layer) {
        let (inner, isa, count) = (model.config.inner, session.isa(), self.tokens.len());
        self.normalize(model, session, &layer.feed_forward_norm);
        self.product.rows(session, &self.bytes, &layer.gate, Epilogue::Set, &mut self.inner);
        self.product.rows(session, &self.bytes, &layer.up, Epilogue::Gate, &mut self.inner);
        self.bytes.reset(count, inner);
        self.bytes.set_all(isa, &self.inner, stride(inner), 1.0);
        self.product.rows(session, &self.bytes, &layer.down, Epilogue::Add, &mut self.hidden);
    }

    fn normalize(&mut self, model: &Decoder, session: &Session, weight: &[f32]) {
        self.bytes.reset(self.tokens.len(), model.config.hidden);
        for (row, values) in self.hidden.chunks_exact(model.config.hidden).enumerate() {
            elementwise::rms_norm(session.isa(), values, weight, model.config.epsilon, &mut self.normal);
            self.bytes.set(session.isa(), row..row + 1, &self.normal, model.config.hidden, 1.0);
        }
    }
}

/// Adds a bias to each row of products; none if it is empty.
pub(super) fn add_bias(isa: Isa, rows: &mut [f32], bias: &[f32]) {
    if !bias.is_empty() {
        rows.chunks_exact_mut(bias.len()).for_each(|row| elementwise::add(isa, row, bias));
    }
}

/// One panel of a matrix as bytes, and its product with some rows.
struct Product {
    unpacked: Aligned<i8>,
    sums: Box<Pair>,
}

impl Product {
    fn rows(
        &mut self,
        session: &Session,
        left: &ByteRows,
        matrix: &BlockMatrix,
        then: Epilogue,
        out: &mut [f32],
    ) {
        let stride = out.len() / left.all().range.len();
        self.unpacked.reserve(matrix.depth() * BLOCK);
        for index in 0..matrix.panels() {
            let panel = matrix.unpack(session.isa(), index, &mut self.unpacked[..matrix.depth() * BLOCK]);
            linear::product(
                session.isa(),
                session,
                &left.all(),
                panel,
                then,
                Out { values: &mut out[index * BLOCK..], stride },
                &mut self.sums,
            );
        }
    }
}
