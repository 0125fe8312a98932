//! Attention within one text, where every position sees every other.
//!
//! Keys and values become bytes with a scale and an offset for each dimension, found over the whole text. These cost
//! the products nothing: a key's scale is multiplied into the queries before they are rounded; its offset adds the
//! same to all logits of a query, which does not change the softmax; a value's scale and offset are applied to the
//! result, since weights sum to one.

use crate::elementwise::ZERO;
use crate::kernel::{Aligned, BLOCK, Isa, Left, Logits, NoWork, Right, Session, Sums};
use crate::linear::{ByteRows, stride};
use crate::rescale::{Epilogue, Out, Scales, rescale};
use crate::simd::{LANES, ROUNDER, vectorized};
use std::ops::Range;

/// Largest dimension of a head.
pub(super) const MAX_DIMENSION: usize = 256;
/// Depth of the second product in one step of every kernel.
const STEP: usize = 64;
/// The initial sum of a position that does not exist.
const HIDDEN: i32 = -(1 << 30);
/// The smallest scale of logits: with it, a hidden position still has no weight.
const LEAST_SCALE: f32 = 1e-7;
/// Steps from the middle of a column to its ends. Half a step is left for rounding the middle, and half for rounding
/// the rest.
const STEPS: f32 = 126.0;
/// Columns of keys and values together.
const COLUMNS: usize = 2 * MAX_DIMENSION;

/// One head of a text.
pub(super) struct Head {
    dimension: usize,
    positions: usize,
    queries: ByteRows,
    columns: Columns,
    /// `[position/32][depth/4][32][4]`; a depth beyond the dimension is zero.
    keys: Aligned<i8>,
    key_starts: Aligned<i32>,
    /// `[dimension/32][position/4][32][4]`
    values: Aligned<i8>,
    sums: Aligned<i32>,
    weights: Aligned<u8>,
    block: Box<Sums>,
}

/// How the dimensions of keys, and then of values, are rounded.
struct Columns {
    scales: [f32; COLUMNS],
    /// Subtracted before the rest is rounded.
    offsets: [f32; COLUMNS],
    /// The inverse of the scale, and the number whose addition leaves no bit for a fraction.
    factors: [f32; COLUMNS],
    rounders: [f32; COLUMNS],
}

/// Queries whose weights are computed.
struct WeighedBlock {
    rows: Range<usize>,
    /// The value of one step of each row's weights.
    steps: [f32; BLOCK],
}

impl Head {
    pub fn new() -> Self {
        let none = [0.0; COLUMNS];
        Self {
            dimension: 0,
            positions: 0,
            queries: ByteRows::new(),
            columns: Columns { scales: none, offsets: none, factors: none, rounders: none },
            keys: Aligned::zeroed(0),
            key_starts: Aligned::zeroed(0),
            values: Aligned::zeroed(0),
            sums: Aligned::zeroed(0),
            weights: Aligned::zeroed(0),
            block: Box::new(Sums([0; BLOCK * BLOCK])),
        }
    }

    /// Reads the query, key and value of each position, which are contiguous; those of the next position are `apart`.
    pub fn set(&mut self, session: &Session, dimension: usize, heads: &mut [f32], apart: usize) {
        assert!(dimension.is_multiple_of(BLOCK) && dimension <= MAX_DIMENSION && apart >= 3 * dimension);
        (self.dimension, self.positions) = (dimension, heads.len().div_ceil(apart));
        let (isa, padded) = (session.isa(), self.positions.next_multiple_of(STEP));
        self.keys.reserve(padded * self.depth());
        self.key_starts.reserve(padded);
        self.values.reserve(padded * dimension);
        let both = &heads[dimension..];
        measure(isa, both, apart, 2 * dimension, &mut self.columns);
        lay_out(isa, both, apart, self);
        self.start_keys(session);

        scale_columns(isa, heads, apart, &self.columns.scales[..dimension]);
        self.queries.reset(self.positions, dimension);
        let factor = std::f32::consts::LOG2_E / (dimension as f32).sqrt();
        self.queries.set_all(isa, heads, apart, factor);
        self.queries.raise_scales(LEAST_SCALE);
    }

    /// Returns the depth of the panels of keys.
    fn depth(&self) -> usize {
        self.dimension.next_multiple_of(STEP)
    }

    /// Sets the initial sums of keys, which correct the offset of the queries' bytes.
    fn start_keys(&mut self, session: &Session) {
        let (dimension, depth) = (self.dimension, self.depth());
        let ones = [1; MAX_DIMENSION];
        let row = Left { bytes: &ones, stride: dimension, rows: 1, depth: dimension };
        let seen = self.positions.next_multiple_of(BLOCK);
        let panels = self.keys.chunks_exact(BLOCK * depth);
        for (panel, starts) in panels.zip(self.key_starts[..seen].chunks_exact_mut(BLOCK)) {
            let right = Right { bytes: panel, start: &[0; BLOCK], narrow: false };
            session.multiply(row, right, &mut self.block.0, BLOCK, &mut NoWork);
            for (start, sum) in starts.iter_mut().zip(&self.block.0) {
                *start = -ZERO * sum;
            }
        }
        self.key_starts[self.positions..seen].fill(HIDDEN);
    }

    /// Writes for each position the mean of all values, weighted by how well their keys match its query.
    ///
    /// The weights of a block are multiplied with the values only after the next block's queries have been multiplied
    /// with the keys, because loading a tile right after it was written stalls.
    pub fn attend(&mut self, session: &Session, mut out: Out<'_>) {
        let (width, padded) = (self.positions.next_multiple_of(BLOCK), self.positions.next_multiple_of(STEP));
        let (sum_stride, weight_stride) = (stride(width), 4 * stride(padded / 4));
        self.sums.reserve(BLOCK * sum_stride);
        self.weights.reserve(BLOCK * weight_stride);
        let mut weighed: Option<WeighedBlock> = None;
        for first in (0..self.positions).step_by(BLOCK) {
            let rows = first..self.positions.min(first + BLOCK);
            let (queries, _) = self.queries.block(rows.clone());
            let (keys, starts) = (&self.keys[..width * self.depth()], &self.key_starts[..width]);
            session.multiply_across(queries, keys, starts, &mut self.sums, sum_stride);
            if let Some(weighed) = weighed.take() {
                self.gather(session, &weighed, weight_stride, &mut out);
            }
            let (_, scales) = self.queries.block(rows.clone());
            let mut steps = [0.0; BLOCK];
            let logits = Logits { sums: &self.sums, stride: sum_stride, width, scales };
            weigh(session.isa(), &logits, &mut self.weights, weight_stride, &mut steps[..rows.len()]);
            weighed = Some(WeighedBlock { rows, steps });
        }
        if let Some(weighed) = weighed {
            self.gather(session, &weighed, weight_stride, &mut out);
        }
    }

    /// Multiplies weights with values.
    fn gather(&mut self, session: &Session, weighed: &WeighedBlock, stride: usize, out: &mut Out<'_>) {
        let WeighedBlock { rows, steps } = weighed;
        let (dimension, depth) = (self.dimension, self.positions.next_multiple_of(STEP));
        let weights = Left { bytes: &self.weights, stride, rows: rows.len(), depth };
        for (part, bytes) in self.values[..depth * dimension].chunks_exact(depth * BLOCK).enumerate() {
            let values = Right { bytes, start: &[0; BLOCK], narrow: false };
            session.multiply(weights, values, &mut self.block.0, BLOCK, &mut NoWork);
            let columns = dimension + part * BLOCK..dimension + (part + 1) * BLOCK;
            let (scales, offsets) = (&self.columns.scales[columns.clone()], &self.columns.offsets[columns]);
            let scales = Scales { rows: &steps[..rows.len()], columns: scales, bias: offsets };
            rescale(session.isa(), &self.block.0, scales, Epilogue::Set, out.at(rows.start, part * BLOCK));
        }
    }
}

/// Computes the weights of queries as bytes: a softmax with powers of two, in which the highest of a row is 255.
/// `steps` gets the value of one step of a row's bytes. Beyond the logits, up to a multiple of 64, weights are zero.
fn weigh(isa: Isa, logits: &Logits<'_>, weights: &mut [u8], stride: usize, steps: &mut [f32]) {
    if logits.look_up(isa, weights, stride, steps) {
        return;
    }
    for (first, steps) in (0..).step_by(LANES).zip(steps.chunks_mut(LANES)) {
        let scales = &logits.scales[first..first + steps.len()];
        let some = Logits { sums: &logits.sums[first * logits.stride..], scales, ..*logits };
        weigh_some(isa, &some, &mut weights[first * stride..], stride, steps);
    }
}

vectorized! {
    /// Finds the scale and the offset of each of the first `width` columns of rows that are `apart`.
    fn measure(rows: &[f32], apart: usize, width: usize, columns: &mut Columns) {
        for first in (0..width).step_by(LANES) {
            let mut low = [V::splat(f32::MAX); 2];
            let mut high = [V::splat(f32::MIN); 2];
            for (i, row) in rows.chunks(apart).enumerate() {
                let values = V::load(&row[first..]);
                low[i % 2] = low[i % 2].min(values);
                high[i % 2] = high[i % 2].max(values);
            }
            let (mut lows, mut highs) = ([0.0; LANES], [0.0; LANES]);
            low[0].min(low[1]).store(&mut lows);
            high[0].max(high[1]).store(&mut highs);
            for lane in 0..LANES {
                let column = first + lane;
                let (middle, reach) = (0.5 * (lows[lane] + highs[lane]), 0.5 * (highs[lane] - lows[lane]));
                // The steps of a column that hardly varies would be too small.
                let counts = reach > middle.abs() * 1e-4 && reach > 1e-30 && reach < 1e30;
                let (scale, factor) = if counts { (reach * (1.0 / STEPS), STEPS / reach) } else { (0.0, 0.0) };
                // A whole number of steps, so that nothing is lost.
                let steps = (middle * factor + ROUNDER) - ROUNDER;
                columns.scales[column] = scale;
                columns.factors[column] = factor;
                columns.rounders[column] = ROUNDER - steps;
                columns.offsets[column] = if counts { steps * scale } else { middle };
            }
        }
    }

    /// Rounds keys and values, each in rows that are `apart`, into the layout of the products.
    fn lay_out(rows: &[f32], apart: usize, head: &mut Head) {
        let (dimension, depth, positions) = (head.dimension, head.depth(), head.positions);
        let padded = positions.next_multiple_of(STEP);
        for position in (0..positions).step_by(4) {
            let panel = &mut head.keys[position / BLOCK * BLOCK * depth..][..BLOCK * depth];
            for first in (0..2 * dimension).step_by(LANES) {
                let (factors, rounders) =
                    (V::load(&head.columns.factors[first..]), V::load(&head.columns.rounders[first..]));
                let mut four = [factors; 4];
                for (i, one) in four.iter_mut().enumerate() {
                    // Positions after the last have no weight.
                    let row = (position + i).min(positions - 1);
                    *one = V::load(&rows[row * apart + first..]).times_plus(factors, rounders);
                }
                if first < dimension {
                    let bytes = &mut panel[first * BLOCK + position % BLOCK * 4..];
                    V::store_low_bytes_across(four, bytes, 4 * BLOCK);
                } else {
                    let (part, lane) = ((first - dimension) / BLOCK, first % BLOCK);
                    let bytes = &mut head.values[part * padded * BLOCK + position * BLOCK + lane * 4..];
                    V::store_low_bytes_interleaved(four, bytes);
                }
            }
        }
    }

    fn scale_columns(rows: &mut [f32], apart: usize, scales: &[f32]) {
        for row in rows.chunks_mut(apart) {
            for (values, scales) in row.chunks_exact_mut(LANES).zip(scales.chunks_exact(LANES)) {
                V::load(values).times(V::load(scales)).store(values);
            }
        }
    }

    /// Does the work of `weigh` for up to sixteen queries.
    fn weigh_some(logits: &Logits<'_>, weights: &mut [u8], weight_stride: usize, steps: &mut [f32]) {
        let Logits { sums, stride: sum_stride, width, scales } = *logits;
        let mut highest = [V::splat(0.0); LANES];
        for (highest, sums) in highest.iter_mut().zip(sums.chunks(sum_stride)).take(scales.len()) {
            let mut chains = [V::load_bits(sums), V::load_bits(&sums[LANES..])];
            for sums in sums[..width].chunks_exact(2 * LANES) {
                chains[0] = chains[0].max_integers(V::load_bits(sums));
                chains[1] = chains[1].max_integers(V::load_bits(&sums[LANES..]));
            }
            *highest = chains[0].max_integers(chains[1]).numbers();
        }
        let mut tops = [0.0; LANES];
        V::highest_of_each(highest).store(&mut tops);
        let mut totals = [V::splat(0.0); LANES];
        let factor = V::splat(255.0);
        for (row, scale) in scales.iter().enumerate() {
            let (top, scale) = (V::splat(-scale * tops[row]), V::splat(*scale));
            let sums = &sums[row * sum_stride..][..width];
            let weights = &mut weights[row * weight_stride..][..width.next_multiple_of(STEP)];
            for (sums, weights) in sums.chunks_exact(LANES).zip(weights.chunks_exact_mut(LANES)) {
                let weight = V::from_integers(sums).times_plus(scale, top).power_of_two();
                totals[row] = totals[row].plus(weight);
                weight.rounded(factor, 0.0).store_low_bytes(weights);
            }
            weights[width..].fill(0);
        }
        let mut sums = [0.0; LANES];
        V::sum_of_each(totals).store(&mut sums);
        for (step, sum) in steps.iter_mut().zip(sums) {
            *step = 1.0 / 255.0 / sum;
        }
    }
}

#[cfg(test)]
mod tests;
