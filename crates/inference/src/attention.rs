//! Attention over keys and values kept as bytes: of one text for the encoder, of a whole conversation for the decoder.
//!
//! Each key and each value is rounded to bytes with its own scale as it is appended, and laid out as the right
//! operand of the two products: keys in panels of 32 positions, values in panels of 32 dimensions. A value's scale
//! is multiplied into the weight that attention gives it, which costs nothing: its logarithm is added to the logit.

use crate::elementwise::{self, Scales, Then, ZERO};
use crate::kernel::{self, Aligned, BLOCK, Isa, Left, Pair, Right, Session, Sums};
use crate::linear::stride as stride_of;
use crate::simd::vectorized;
use std::ops::Range;

/// A logit that no softmax gives any weight.
const HIDDEN: f32 = -1e30;
const NO_START: [i32; BLOCK] = [0; BLOCK];
const NO_BIAS: [f32; BLOCK] = [0.0; BLOCK];
const UNIT_SCALES: [f32; BLOCK] = [1.0; BLOCK];
/// Depth of the second product in one step of every kernel.
const STEP: usize = 64;

/// Keys and values of one head.
pub(crate) struct KeyValues {
    dimension: usize,
    depth: usize,
    capacity: usize,
    /// `[position/32][depth/4][32][4]`, where a depth beyond the dimension is zero: tiles are 64 deep.
    keys: Aligned<i8>,
    key_scales: Aligned<f32>,
    key_starts: Aligned<i32>,
    /// `[dimension/32][position/4][32][4]`
    values: Aligned<i8>,
    /// A value's scale, as the power of two that it is and as one over it.
    value_powers: Aligned<f32>,
    value_inverses: Aligned<f32>,
}

impl KeyValues {
    /// Room for `capacity` positions; a head's dimension is a multiple of 32.
    pub fn new(dimension: usize, capacity: usize) -> Self {
        assert!(dimension.is_multiple_of(BLOCK) && dimension <= MAX_DIMENSION);
        let capacity = capacity.next_multiple_of(STEP);
        let depth = dimension.next_multiple_of(STEP);
        Self {
            dimension,
            depth,
            capacity,
            keys: Aligned::zeroed(capacity * depth),
            key_scales: Aligned::zeroed(capacity),
            key_starts: Aligned::zeroed(capacity),
            values: Aligned::zeroed(capacity * dimension),
            value_powers: Aligned::zeroed(capacity),
            value_inverses: Aligned::zeroed(capacity),
        }
    }

    /// Keys of neighbouring positions, the first at `position`: `values` has them `stride` apart.
    pub fn set_keys(&mut self, isa: Isa, position: usize, values: &[f32], stride: usize) {
        let end = position + values.len().div_ceil(stride);
        let mut bytes = [0; BLOCK * MAX_DIMENSION];
        let mut first = position;
        while first < end {
            // Up to the end of a panel.
            let count = (BLOCK - first % BLOCK).min(end - first);
            let scales = &mut self.key_scales[first..first + count];
            let bytes = &mut bytes[..count * self.dimension];
            let values = &values[(first - position) * stride..];
            elementwise::quantize_rows(isa, values, stride, self.dimension, scales, bytes);
            let panel = &mut self.keys[first / BLOCK * BLOCK * self.depth..][..BLOCK * self.dimension];
            let starts = &mut self.key_starts[first..first + count];
            put_keys(isa, bytes, self.dimension, first % BLOCK, panel, starts);
            first += count;
        }
    }

    /// The same for values.
    pub fn set_values(&mut self, isa: Isa, position: usize, values: &[f32], stride: usize) {
        let count = values.len().div_ceil(stride);
        let mut bytes = [0; BLOCK * MAX_DIMENSION];
        for first in (0..count).step_by(BLOCK) {
            let count = BLOCK.min(count - first);
            let mut scales = [0.0; BLOCK];
            let scales = &mut scales[..count];
            let bytes = &mut bytes[..count * self.dimension];
            elementwise::quantize_rows(isa, &values[first * stride..], stride, self.dimension, scales, bytes);
            for (position, scale) in (position + first..).zip(scales) {
                // A value of zeros still has its weight, but where it is hidden not even its inverse may count.
                let scale = scale.max(1e-20);
                self.value_powers[position] = scale.log2();
                self.value_inverses[position] = 1.0 / scale;
            }
            for part in 0..self.dimension / BLOCK {
                let panel = &mut self.values[part * BLOCK * self.capacity..][..BLOCK * self.capacity];
                let row = |row: usize| &bytes[row * self.dimension + part * BLOCK..][..BLOCK];
                let mut at = 0;
                while at < count {
                    let position = position + first + at;
                    let group = &mut panel[position / 4 * 4 * BLOCK..][..4 * BLOCK];
                    if position.is_multiple_of(4) && at + 4 <= count {
                        interleave(isa, [row(at), row(at + 1), row(at + 2), row(at + 3)], group);
                        at += 4;
                    } else {
                        let fours = group.chunks_exact_mut(4).zip(row(at));
                        fours.for_each(|(four, byte)| four[position % 4] = *byte as i8);
                        at += 1;
                    }
                }
            }
        }
    }

    /// Takes over the first `positions` of another.
    pub fn copy_from(&mut self, other: &Self, positions: usize) {
        let positions = positions.next_multiple_of(BLOCK);
        assert!(self.dimension == other.dimension && positions <= self.capacity.min(other.capacity));
        self.keys[..positions * self.depth].copy_from_slice(&other.keys[..positions * self.depth]);
        self.key_scales[..positions].copy_from_slice(&other.key_scales[..positions]);
        self.key_starts[..positions].copy_from_slice(&other.key_starts[..positions]);
        self.value_powers[..positions].copy_from_slice(&other.value_powers[..positions]);
        self.value_inverses[..positions].copy_from_slice(&other.value_inverses[..positions]);
        for part in 0..self.dimension / BLOCK {
            let bytes = &other.values[part * BLOCK * other.capacity..][..positions * BLOCK];
            self.values[part * BLOCK * self.capacity..][..positions * BLOCK].copy_from_slice(bytes);
        }
    }

    pub fn resident_bytes(&self) -> usize {
        self.keys.len() + self.values.len() + 16 * self.key_scales.len()
    }
}

vectorized! {
    /// Keys as columns of their panel, beginning with the one of `lane`.
    fn put_keys(bytes: &[u8], dimension: usize, lane: usize, panel: &mut [i8], starts: &mut [i32]) {
        for ((key, start), lane) in bytes.chunks_exact(dimension).zip(starts).zip(lane..) {
            for (four, group) in key.chunks_exact(4).zip(panel.chunks_exact_mut(4 * BLOCK)) {
                let word = [four[0] as i8, four[1] as i8, four[2] as i8, four[3] as i8];
                group[lane * 4..lane * 4 + 4].copy_from_slice(&word);
            }
            *start = -ZERO * key.iter().map(|byte| i32::from(*byte as i8)).sum::<i32>();
        }
    }

    /// Four rows of 32, the four of a column together.
    fn interleave(rows: [&[u8]; 4], out: &mut [i8]) {
        let [a, b, c, d] = rows.map(|row| &row[..BLOCK]);
        for (i, four) in out.chunks_exact_mut(4).enumerate().take(BLOCK) {
            four.copy_from_slice(&[a[i] as i8, b[i] as i8, c[i] as i8, d[i] as i8]);
        }
    }
}

/// Largest dimension of a head.
pub(crate) const MAX_DIMENSION: usize = 256;

/// What attention writes in between; kept from call to call.
pub(crate) struct Scratch {
    logits: Aligned<f32>,
    weights: Aligned<u8>,
    sums: Box<Pair>,
}

impl Scratch {
    pub fn new() -> Self {
        Self { logits: Aligned::zeroed(0), weights: Aligned::zeroed(0), sums: kernel::pair() }
    }
}

/// Up to 32 queries of one head, as bytes with their scales (which also hold the factor of the logits).
#[derive(Clone, Copy)]
pub(crate) struct Queries<'a> {
    pub bytes: Left<'a>,
    pub scales: &'a [f32],
}

/// For each query the mean of the values in its `visible` positions, weighted by how well their keys match: `out`
/// becomes rows of `dimension`, `stride` apart.
pub(crate) fn attend(
    session: &Session,
    past: &KeyValues,
    queries: Queries<'_>,
    visible: impl Fn(usize) -> Range<usize>,
    scratch: &mut Scratch,
    out: &mut [f32],
    stride: usize,
) {
    assert!(queries.bytes.depth == past.dimension);
    let isa = session.isa();
    let count = queries.bytes.rows;
    // Where keys are zero it does not matter that the next row's bytes are read.
    let queries_bytes = match isa {
        Isa::Amx if count > 8 => Left { depth: past.depth, ..queries.bytes },
        _ => queries.bytes,
    };
    let first = (0..count).map(|row| visible(row).start).min().unwrap_or(0) / STEP * STEP;
    let last = (0..count).map(|row| visible(row).end).max().unwrap_or(0).next_multiple_of(STEP);
    assert!(last <= past.capacity);
    let width = last - first;
    if width == 0 {
        return;
    }
    let (logit_stride, weight_stride) = (stride_of(width), 4 * stride_of(width / 4));
    scratch.logits.reserve(BLOCK * logit_stride);
    scratch.weights.reserve(BLOCK * weight_stride);

    // The powers of the softmax are those of two.
    let mut row_scales = [0.0; BLOCK];
    row_scales.iter_mut().zip(queries.scales).for_each(|(to, scale)| *to = scale * std::f32::consts::LOG2_E);
    let mut finish = |position: usize, rows: Range<usize>, sums: &Sums| {
        let rows = rows.start.min(count)..rows.end.min(count);
        let logits = &mut scratch.logits[rows.start.min(count - 1) * logit_stride + position - first..];
        let sums = &sums.0[rows.start * BLOCK..];
        let (columns, powers) = (&past.key_scales[position..], &past.value_powers[position..]);
        let scales = Scales { rows: &row_scales[rows], columns, bias: powers };
        elementwise::rescale(isa, sums, scales, Then::Set, logits, logit_stride);
    };
    let [mut current, mut before] = scratch.sums.each_mut();
    for position in (first..last).step_by(BLOCK) {
        let bytes = &past.keys[position * past.depth..][..BLOCK * past.depth];
        let start = past.key_starts[position..].first_chunk().unwrap_or(&NO_START);
        let keys = Right { bytes, start, narrow: false };
        session.multiply(queries_bytes, keys, current, &mut |rows| {
            if position > first {
                finish(position - BLOCK, rows, before);
            }
        });
        std::mem::swap(&mut current, &mut before);
    }
    finish(last - BLOCK, 0..BLOCK, before);

    let mut weight_scales = [0.0; BLOCK];
    for (row, scale) in weight_scales.iter_mut().enumerate().take(count) {
        let logits = &mut scratch.logits[row * logit_stride..][..width];
        let visible = visible(row);
        hide(&mut logits[..visible.start - first]);
        hide(&mut logits[visible.end - first..]);
        let weights = &mut scratch.weights[row * weight_stride..][..width];
        *scale = elementwise::softmax(isa, logits, &past.value_inverses[first..last], weights);
    }

    let weights = Left { bytes: &scratch.weights, stride: weight_stride, rows: count, depth: width };
    for part in 0..past.dimension / BLOCK {
        let bytes = &past.values[(part * past.capacity + first) * BLOCK..][..width * BLOCK];
        let values = Right { bytes, start: &NO_START, narrow: false };
        session.multiply(weights, values, current, &mut |_| {});
        let scales = Scales { rows: &weight_scales[..count], columns: &UNIT_SCALES, bias: &NO_BIAS };
        elementwise::rescale(isa, &current.0, scales, Then::Set, &mut out[part * BLOCK..], stride);
    }
}

#[inline]
fn hide(logits: &mut [f32]) {
    if !logits.is_empty() {
        logits.fill(HIDDEN);
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
        let vector =
            |seed: usize| -> Vec<f32> { (0..dimension).map(|i| number(seed * 131 + i * i)).collect() };
        for kernel in Kernel::available() {
            let session = kernel.session();
            let mut past = KeyValues::new(dimension, positions);
            let mut queries = ByteRows::new();
            queries.reset(rows, dimension);
            for position in 0..positions {
                past.set_keys(kernel.0, position, &vector(position), dimension);
            }
            // Values one by one, and then many at once, beginning between two groups of four.
            let many: Vec<f32> = (7..positions).flat_map(|position| vector(position + 1000)).collect();
            past.set_values(kernel.0, 7, &many, dimension);
            for position in 0..7 {
                past.set_values(kernel.0, position, &vector(position + 1000), dimension);
            }
            let many: Vec<f32> = (0..rows).flat_map(|row| vector(row + 2000)).collect();
            queries.set_all(kernel.0, &many, dimension, 1.0);
            let (bytes, scales) = queries.block(0..rows);
            let queries = Queries { bytes, scales };
            let visible = |row: usize| 40..80 + row;
            let mut out = vec![0.0; rows * dimension];
            attend(&session, &past, queries, visible, &mut Scratch::new(), &mut out, dimension);
            for row in 0..rows {
                let expected = exact(&vector(row + 2000), visible(row), vector, |p| vector(p + 1000));
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
