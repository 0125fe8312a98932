//! Attention over the keys and values of a whole conversation, stored as bytes.
//!
//! Each key and each value is rounded to bytes with its own scale when it is appended, and stored as the right
//! operand of the two products: keys in panels of 32 positions, values in panels of 32 dimensions. A value's scale is
//! multiplied into the weight that attention gives it at no cost: its logarithm is added to the logit.

mod key_values;

pub(super) use key_values::{KeyValues, MAX_DIMENSION};

use crate::kernel::{Aligned, BLOCK, Left, NoWork, Right, Session, Sums};
use crate::linear::stride as stride_of;
use crate::rescale::{Epilogue, Out, Scales, rescale};
use crate::simd::{Floats, LANES, vectorized};
use std::ops::Range;

const NO_START: [i32; BLOCK] = [0; BLOCK];
const NO_BIAS: [f32; BLOCK] = [0.0; BLOCK];
const UNIT_SCALES: [f32; BLOCK] = [1.0; BLOCK];
/// Depth of the second product in one step of every kernel.
const STEP: usize = 64;

/// Buffers of attention, reused from call to call.
pub(crate) struct Scratch {
    sums: Aligned<i32>,
    weights: Aligned<u8>,
    block: Box<Sums>,
}

impl Scratch {
    pub fn new() -> Self {
        let (sums, block) = (Aligned::zeroed(0), Box::new(Sums([0; BLOCK * BLOCK])));
        Self { sums, weights: Aligned::zeroed(0), block }
    }
}

/// Up to 32 queries of one head as bytes, with their scales, which include the factor of the logits.
pub(crate) type Queries<'a> = (Left<'a>, [f32; BLOCK]);

/// Writes for each of `rows` queries, given in blocks by `queries`, the mean of the values at the first `seen`
/// positions, weighted by how well their keys match.
///
/// The weights of a block are multiplied with the values only after the next block's queries have been multiplied
/// with the keys, because loading a tile right after it was written stalls.
pub(crate) fn attend<'q>(
    session: &Session,
    past: &KeyValues,
    rows: usize,
    queries: impl Fn(Range<usize>) -> Queries<'q>,
    seen: impl Fn(usize) -> usize,
    scratch: &mut Scratch,
    mut out: Out<'_>,
) {
    let mut weighed: Option<WeighedBlock> = None;
    for first in (0..rows).step_by(BLOCK) {
        let block = first..rows.min(first + BLOCK);
        let (bytes, scales) = queries(block.clone());
        let end = block.clone().map(&seen).max().unwrap_or(0).next_multiple_of(STEP);
        let sum_stride = scratch.compare(session, past, bytes, end);
        if let Some(weighed) = weighed.take() {
            scratch.gather(session, past, &weighed, out.at(weighed.block.start, 0));
        }
        let weight_stride = 4 * stride_of(end / 4);
        scratch.weights.reserve(BLOCK * weight_stride);
        let mut steps = [0.0; BLOCK];
        for some in (0..block.len()).step_by(LANES) {
            let some = some..block.len().min(some + LANES);
            let seen = std::array::from_fn(|row| seen(first + (some.start + row).min(some.end - 1)));
            let logits = Logits {
                sums: &mut scratch.sums[some.start * sum_stride..],
                stride: sum_stride,
                keys: &past.key_scales[..end],
                powers: &past.value_powers[..end],
                inverses: &past.value_inverses[..end],
            };
            let weights = &mut scratch.weights[some.start * weight_stride..];
            weigh(
                session.isa(),
                logits,
                &scales[some.clone()],
                seen,
                weights,
                weight_stride,
                &mut steps[some],
            );
        }
        weighed = Some(WeighedBlock { block, positions: end, weight_stride, steps });
    }
    if let Some(weighed) = weighed {
        scratch.gather(session, past, &weighed, out.at(weighed.block.start, 0));
    }
}

/// A block of queries whose weights are computed.
struct WeighedBlock {
    block: Range<usize>,
    positions: usize,
    weight_stride: usize,
    /// The value of one step of each row's bytes.
    steps: [f32; BLOCK],
}

impl Scratch {
    /// Multiplies queries with the keys of the first positions. Returns the distance between the rows of sums.
    fn compare(&mut self, session: &Session, past: &KeyValues, queries: Left<'_>, positions: usize) -> usize {
        assert!(queries.depth == past.dimension && positions <= past.capacity);
        let stride = stride_of(positions);
        self.sums.reserve(BLOCK * stride);
        let (keys, starts) = (&past.keys[..positions * past.depth], &past.key_starts[..positions]);
        session.multiply_across(queries, keys, starts, &mut self.sums, stride);
        stride
    }

    /// Multiplies weights with values.
    fn gather(&mut self, session: &Session, past: &KeyValues, weighed: &WeighedBlock, mut out: Out<'_>) {
        let WeighedBlock { block, positions, weight_stride, steps } = weighed;
        let (rows, depth) = (block.len(), *positions);
        let weights = Left { bytes: &self.weights, stride: *weight_stride, rows, depth };
        for part in 0..past.dimension / BLOCK {
            let bytes = &past.values[part * past.capacity * BLOCK..][..depth * BLOCK];
            let values = Right { bytes, start: &NO_START, narrow: false };
            session.multiply(weights, values, &mut self.block.0, BLOCK, &mut NoWork);
            let scales = Scales { rows: &steps[..rows], columns: &UNIT_SCALES, bias: &NO_BIAS };
            rescale(session.isa(), &self.block.0, scales, Epilogue::Set, out.at(0, part * BLOCK));
        }
    }
}

/// Products of queries with the keys of some positions, which become logits, and the scales of those positions.
struct Logits<'a> {
    sums: &'a mut [i32],
    stride: usize,
    keys: &'a [f32],
    powers: &'a [f32],
    inverses: &'a [f32],
}

vectorized! {
    /// Computes the weights of up to sixteen queries as bytes: a softmax with powers of two, in which the highest of
    /// a row is 255. Positions that are not `seen` get no weight. `steps` gets the value of one step of a row's
    /// bytes, such that the weights, each times its inverse scale, sum to one.
    fn weigh(
        logits: Logits<'_>,
        scales: &[f32],
        seen: [usize; LANES],
        weights: &mut [u8],
        weight_stride: usize,
        steps: &mut [f32],
    ) {
        let width = logits.keys.len();
        let mut highest = [V::splat(0.0); LANES];
        for (row, seen) in seen.into_iter().enumerate().take(scales.len()) {
            let scale = V::splat(scales[row] * std::f32::consts::LOG2_E);
            let sums = &mut logits.sums[row * logits.stride..][..width];
            let columns = logits.keys.chunks_exact(LANES).zip(logits.powers.chunks_exact(LANES));
            for (sums, (keys, powers)) in sums.chunks_exact_mut(LANES).zip(columns) {
                let scaled = V::from_integers(sums).times(V::load(keys));
                scaled.times_plus(scale, V::load(powers)).store_bits(sums);
            }
            hide::<V>(sums, seen);
            let mut chains = [V::splat(HIDDEN); 2];
            for logits in sums.chunks_exact(2 * LANES) {
                chains[0] = chains[0].max(V::load_bits(logits));
                chains[1] = chains[1].max(V::load_bits(&logits[LANES..]));
            }
            highest[row] = chains[0].max(chains[1]);
        }
        let mut tops = [0.0; LANES];
        V::highest_of_each(highest).store(&mut tops);
        let mut totals = [V::splat(0.0); LANES];
        let factor = V::splat(255.0);
        for (row, total) in totals.iter_mut().enumerate().take(scales.len()) {
            let top = V::splat(tops[row]);
            let sums = &logits.sums[row * logits.stride..][..width];
            let weights = &mut weights[row * weight_stride..][..width];
            for ((logits, inverses), weights) in
                sums.chunks_exact(LANES).zip(logits.inverses.chunks_exact(LANES)).zip(weights.chunks_exact_mut(LANES))
            {
                let weight = V::load_bits(logits).minus(top).power_of_two();
                *total = weight.times_plus(V::load(inverses), *total);
                weight.rounded(factor, 0.0).store_low_bytes(weights);
            }
        }
        let mut sums = [0.0; LANES];
        V::sum_of_each(totals).store(&mut sums);
        for (step, sum) in steps.iter_mut().zip(sums) {
            *step = 1.0 / 255.0 / sum;
        }
    }
}

/// A logit that gets no weight in any softmax.
const HIDDEN: f32 = -1e30;

/// Added to sixteen logits from some index on, to hide the last of them.
static EDGE: [f32; 2 * LANES] = {
    let mut edge = [0.0; 2 * LANES];
    let mut lane = LANES;
    while lane < 2 * LANES {
        edge[lane] = HIDDEN;
        lane += 1;
    }
    edge
};

/// Hides all logits but the first `seen`.
#[inline(always)]
fn hide<V: Floats>(logits: &mut [i32], seen: usize) {
    let mut shown = seen % LANES;
    for place in (seen - shown..logits.len()).step_by(LANES) {
        let logits = &mut logits[place..];
        V::load_bits(logits).plus(V::load(&EDGE[LANES - shown..])).store_bits(logits);
        shown = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Isa, Kernel};
    use crate::linear::ByteRows;

    #[test]
    fn every_kernel_attends_as_plain_arithmetic_does() {
        let (dimension, positions, rows) = (64, 150, 70);
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
            // Values one by one, and then many at once, starting between two groups of four.
            let many: Vec<f32> = (7..positions).flat_map(|position| vector(position + 1000)).collect();
            past.set_values(kernel.0, 7, &many, dimension);
            for position in 0..7 {
                past.set_values(kernel.0, position, &vector(position + 1000), dimension);
            }
            let many: Vec<f32> = (0..rows).flat_map(|row| vector(row + 2000)).collect();
            queries.set_all(kernel.0, &many, dimension, 1.0);
            let queries = |block: Range<usize>| queries.every(block.start, 1, block.len());
            let seen = |row: usize| 80 + row;
            let mut out = vec![0.0; rows * dimension];
            let place = Out { values: &mut out, stride: dimension };
            attend(&session, &past, rows, queries, seen, &mut Scratch::new(), place);
            for row in 0..rows {
                let expected = exact(&vector(row + 2000), seen(row), vector, |p| vector(p + 1000));
                for (expected, got) in expected.iter().zip(&out[row * dimension..]) {
                    assert!((expected - got).abs() < 0.02, "{kernel}: {expected} {got}");
                }
            }
        }
    }

    #[test]
    fn weights_are_those_of_a_softmax_and_what_is_hidden_has_none() {
        let (rows, width) = (11, 64);
        let sum_of = |row: usize, i: usize| (i as i32 * 7 + row as i32 * 5) % 61 - 30;
        let keys: Vec<f32> = (0..width).map(|i| 0.02 + (i % 3) as f32 * 0.01).collect();
        let powers: Vec<f32> = (0..width).map(|i| (i % 5) as f32 * -0.2).collect();
        let inverses: Vec<f32> = powers.iter().map(|power| (-power).exp2()).collect();
        let scales: Vec<f32> = (0..rows).map(|row| 0.5 + row as f32 * 0.3).collect();
        let seen = |row: usize| 64 - 3 * row;
        let mut first: Option<(Vec<u8>, Vec<f32>)> = None;
        for kernel in Kernel::available() {
            let mut sums: Vec<i32> = (0..rows * width).map(|i| sum_of(i / width, i % width)).collect();
            let (mut weights, mut steps) = (vec![9; rows * width], vec![0.0; rows]);
            let (keys, powers, inverses) = (&keys[..], &powers[..], &inverses[..]);
            let logits = Logits { sums: &mut sums, stride: width, keys, powers, inverses };
            weigh(kernel.0, logits, &scales, std::array::from_fn(seen), &mut weights, width, &mut steps);
            if kernel.0 != Isa::Portable {
                let first = first.get_or_insert((weights.clone(), steps.clone()));
                assert_eq!((&weights, &steps), (&first.0, &first.1), "{kernel}");
            }
            for row in 0..rows {
                let seen = seen(row);
                let exact =
                    |i: usize| (sum_of(row, i) as f32 * keys[i] * scales[row]).exp() * powers[i].exp2();
                let total: f32 = (0..seen).map(|i| exact(i) * inverses[i]).sum();
                let highest = (0..seen).map(exact).fold(0.0, f32::max);
                for i in 0..width {
                    let weight = if i < seen { exact(i) / highest } else { 0.0 };
                    let byte = f32::from(weights[row * width + i]);
                    assert!((byte - weight * 255.0).abs() < 0.55, "{kernel}, {row}, {i}: {byte}, {weight}");
                }
                let step = highest / 255.0 / total;
                assert!((steps[row] / step - 1.0).abs() < 1e-3, "{kernel}, {row}: {} {step}", steps[row]);
            }
        }
    }

    fn exact(
        query: &[f32],
        seen: usize,
        key: impl Fn(usize) -> Vec<f32>,
        value: impl Fn(usize) -> Vec<f32>,
    ) -> Vec<f32> {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let weights: Vec<f32> = (0..seen).map(|position| dot(query, &key(position)).exp()).collect();
        let sum: f32 = weights.iter().sum();
        let mut mean = vec![0.0; query.len()];
        for (weight, position) in weights.iter().zip(0..seen) {
            mean.iter_mut().zip(value(position)).for_each(|(mean, value)| *mean += weight / sum * value);
        }
        mean
    }
}
