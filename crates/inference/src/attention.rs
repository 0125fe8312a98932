//! Attention over keys and values kept as bytes: of one text for the encoder, of a whole conversation for the decoder.
//!
//! Each key and each value is rounded to bytes with its own scale as it is appended, and laid out as the right
//! operand of the two products: keys in panels of 32 positions, values in panels of 32 dimensions. A value's scale
//! is multiplied into the weight that attention gives it.

use crate::elementwise::{self, ZERO};
use crate::kernel::{Aligned, BLOCK, Isa, Left, Session, Sums};
use std::ops::Range;

/// A logit that no softmax gives any weight.
const HIDDEN: f32 = -1e30;
const NO_START: [i32; BLOCK] = [0; BLOCK];
const UNIT_SCALES: [f32; BLOCK] = [1.0; BLOCK];
/// Depth of the second product in one step of every kernel.
const STEP: usize = 64;

/// Keys and values of one layer.
pub(crate) struct KeyValues {
    heads: usize,
    dimension: usize,
    capacity: usize,
    /// `[head][position/32][dimension/4][32][4]`
    keys: Aligned<i8>,
    /// `[head][position]`
    key_scales: Aligned<f32>,
    key_starts: Aligned<i32>,
    /// `[head][dimension/32][position/4][32][4]`
    values: Aligned<i8>,
    /// `[head][position]`
    value_scales: Aligned<f32>,
}

impl KeyValues {
    /// Room for `capacity` positions of `heads` heads; a head's dimension is a multiple of 32.
    pub fn new(heads: usize, dimension: usize, capacity: usize) -> Self {
        assert!(dimension.is_multiple_of(BLOCK));
        let capacity = capacity.next_multiple_of(STEP);
        let positions = heads * capacity;
        Self {
            heads,
            dimension,
            capacity,
            keys: Aligned::zeroed(positions * dimension),
            key_scales: Aligned::zeroed(positions),
            key_starts: Aligned::zeroed(positions),
            values: Aligned::zeroed(positions * dimension),
            value_scales: Aligned::zeroed(positions),
        }
    }

    pub fn set_key(&mut self, isa: Isa, head: usize, position: usize, key: &[f32]) {
        let mut bytes = [0; MAX_DIMENSION];
        let bytes = &mut bytes[..self.dimension];
        let at = head * self.capacity + position;
        self.key_scales[at] = elementwise::quantize_signed(isa, key, bytes);
        let panel = (head * self.capacity + position / BLOCK * BLOCK) * self.dimension;
        let mut sum = 0;
        for (group, four) in bytes.chunks_exact(4).enumerate() {
            let to = &mut self.keys[panel + (group * BLOCK + position % BLOCK) * 4..][..4];
            for i in 0..4 {
                to[i] = four[i] as i8;
                sum += i32::from(four[i] as i8);
            }
        }
        self.key_starts[at] = -ZERO * sum;
    }

    pub fn set_value(&mut self, isa: Isa, head: usize, position: usize, value: &[f32]) {
        let mut bytes = [0; MAX_DIMENSION];
        let bytes = &mut bytes[..self.dimension];
        self.value_scales[head * self.capacity + position] = elementwise::quantize_signed(isa, value, bytes);
        for (part, bytes) in bytes.chunks_exact(BLOCK).enumerate() {
            let panel = self.value_panel(head, part);
            let group = &mut self.values[panel + position / 4 * 4 * BLOCK..][..4 * BLOCK];
            for (four, byte) in group.chunks_exact_mut(4).zip(bytes) {
                four[position % 4] = *byte as i8;
            }
        }
    }

    fn value_panel(&self, head: usize, part: usize) -> usize {
        (head * self.dimension + part * BLOCK) * self.capacity
    }

    pub fn resident_bytes(&self) -> usize {
        self.keys.len() + self.values.len() + 12 * self.key_scales.len()
    }
}

/// Largest dimension of a head.
pub(crate) const MAX_DIMENSION: usize = 256;

/// What attention writes in between; kept from call to call.
pub(crate) struct Scratch {
    logits: Aligned<f32>,
    weights: Aligned<u8>,
}

impl Scratch {
    pub fn new() -> Self {
        Self { logits: Aligned::zeroed(0), weights: Aligned::zeroed(0) }
    }
}

/// Up to 32 queries of one head, as bytes with their scales (which also hold the factor of the logits).
#[derive(Clone, Copy)]
pub(crate) struct Queries<'a> {
    pub bytes: Left<'a>,
    pub scales: &'a [f32],
}

/// For each query the mean of the values in its `visible` positions, weighted by how well their keys match: `out`
/// becomes rows of `dimension`.
pub(crate) fn attend(
    session: &Session,
    past: &KeyValues,
    head: usize,
    queries: Queries<'_>,
    visible: impl Fn(usize) -> Range<usize>,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    assert!(head < past.heads && queries.bytes.depth == past.dimension);
    let isa = session.isa();
    let rows = queries.bytes.rows;
    let first = (0..rows).map(|row| visible(row).start).min().unwrap_or(0) / STEP * STEP;
    let last = (0..rows).map(|row| visible(row).end).max().unwrap_or(0).next_multiple_of(STEP);
    assert!(last <= past.capacity);
    let width = last - first;
    scratch.logits.reserve(BLOCK * width);
    scratch.weights.reserve(BLOCK * width);

    let mut sums = Sums([0; BLOCK * BLOCK]);
    for position in (first..last).step_by(BLOCK) {
        let at = head * past.capacity + position;
        let panel = &past.keys[at * past.dimension..][..BLOCK * past.dimension];
        let start = past.key_starts[at..at + BLOCK].first_chunk().unwrap_or(&NO_START);
        session.multiply(queries.bytes, panel, start, &mut sums);
        let scales = &past.key_scales[at..at + BLOCK];
        let logits = &mut scratch.logits[position - first..];
        elementwise::rescale_into(isa, &sums.0[..rows * BLOCK], queries.scales, scales, logits, width);
    }

    let mut weight_scales = [0.0; BLOCK];
    let value_scales = &past.value_scales[head * past.capacity + first..][..width];
    for (row, scale) in weight_scales.iter_mut().enumerate().take(rows) {
        let logits = &mut scratch.logits[row * width..][..width];
        let visible = visible(row);
        logits[..visible.start - first].fill(HIDDEN);
        logits[visible.end - first..].fill(HIDDEN);
        let weights = &mut scratch.weights[row * width..][..width];
        *scale = elementwise::softmax(isa, logits, value_scales, weights);
    }

    let weights = Left { bytes: &scratch.weights, stride: width, rows, depth: width };
    for part in 0..past.dimension / BLOCK {
        let panel = past.value_panel(head, part) + first * BLOCK;
        session.multiply(weights, &past.values[panel..panel + width * BLOCK], &NO_START, &mut sums);
        let out = &mut out[part * BLOCK..];
        let (scales, dimension) = (&weight_scales[..rows], past.dimension);
        elementwise::rescale_into(isa, &sums.0[..rows * BLOCK], scales, &UNIT_SCALES, out, dimension);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::linear::ByteRows;

    #[test]
    fn every_kernel_attends_as_plain_arithmetic_does() {
        let (dimension, positions, rows) = (64, 150, 20);
        let number = |i: usize| ((i * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0;
        let vector = |seed: usize| -> Vec<f32> { (0..dimension).map(|i| number(seed * 131 + i * i)).collect() };
        for kernel in Kernel::available() {
            let session = kernel.session();
            let mut past = KeyValues::new(2, dimension, positions);
            let mut queries = ByteRows::new();
            queries.reset(rows, dimension);
            for position in 0..positions {
                past.set_key(kernel.0, 1, position, &vector(position));
                past.set_value(kernel.0, 1, position, &vector(position + 1000));
            }
            for row in 0..rows {
                queries.set(kernel.0, row, &vector(row + 2000));
            }
            let (bytes, scales) = queries.block(0);
            let queries = Queries { bytes, scales };
            let visible = |row: usize| 40..80 + row;
            let mut out = vec![0.0; rows * dimension];
            attend(&session, &past, 1, queries, visible, &mut Scratch::new(), &mut out);
            for row in 0..rows {
                let expected = exact(&vector(row + 2000), visible(row), |p| vector(p), |p| vector(p + 1000));
                for (expected, got) in expected.iter().zip(&out[row * dimension..]) {
                    assert!((expected - got).abs() < 0.02, "{kernel}: {expected} {got}");
                }
            }
        }
    }

    fn exact(
        query: &[f32],
        visible: Range<usize>,
        key: impl Fn(usize) -> Vec<f32>,
        value: impl Fn(usize) -> Vec<f32>,
    ) -> Vec<f32> {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let weights: Vec<f32> = visible.clone().map(|position| dot(query, &key(position)).exp()).collect();
        let sum: f32 = weights.iter().sum();
        let mut mean = vec![0.0; query.len()];
        for (weight, position) in weights.iter().zip(visible) {
            mean.iter_mut().zip(value(position)).for_each(|(mean, value)| *mean += weight / sum * value);
        }
        mean
    }
}
