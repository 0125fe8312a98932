//! Keys and values of one head as bytes, stored as the right operands of attention's two products.

use super::STEP;
use crate::elementwise::{self, ZERO};
use crate::kernel::{Aligned, BLOCK, Isa};
use crate::simd::vectorized;

pub(crate) struct KeyValues {
    pub(super) dimension: usize,
    pub(super) depth: usize,
    pub(super) capacity: usize,
    /// `[position/32][depth/4][32][4]`; a depth beyond the dimension is zero, since tiles are 64 deep.
    pub(super) keys: Aligned<i8>,
    pub(super) key_scales: Aligned<f32>,
    pub(super) key_starts: Aligned<i32>,
    /// `[dimension/32][position/4][32][4]`
    pub(super) values: Aligned<i8>,
    /// A value's scale, as its base-2 logarithm and as its inverse.
    pub(super) value_powers: Aligned<f32>,
    pub(super) value_inverses: Aligned<f32>,
}

impl KeyValues {
    /// Makes room for `capacity` positions. A head's dimension is a multiple of 32.
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

    /// Sets the keys of consecutive positions, the first at `position`. They are `stride` apart in `values`.
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

    /// Sets the values of consecutive positions.
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
                // A value of zeros still has a weight, but the inverse of its scale must not outweigh a hidden logit.
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

    /// Copies the first `positions` of another.
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
    /// Writes keys as columns of their panel, starting with that of `lane`.
    fn put_keys(bytes: &[u8], dimension: usize, lane: usize, panel: &mut [i8], starts: &mut [i32]) {
        for ((key, start), lane) in bytes.chunks_exact(dimension).zip(starts).zip(lane..) {
            for (four, group) in key.chunks_exact(4).zip(panel.chunks_exact_mut(4 * BLOCK)) {
                let word = [four[0] as i8, four[1] as i8, four[2] as i8, four[3] as i8];
                group[lane * 4..lane * 4 + 4].copy_from_slice(&word);
            }
            *start = -ZERO * key.iter().map(|byte| i32::from(*byte as i8)).sum::<i32>();
        }
    }

    /// Interleaves four rows of 32, so that the four bytes of a column are together.
    fn interleave(rows: [&[u8]; 4], out: &mut [i8]) {
        let [a, b, c, d] = rows.map(|row| &row[..BLOCK]);
        for (i, four) in out.chunks_exact_mut(4).enumerate().take(BLOCK) {
            four.copy_from_slice(&[a[i] as i8, b[i] as i8, c[i] as i8, d[i] as i8]);
        }
    }
}

/// Largest dimension of a head.
pub(crate) const MAX_DIMENSION: usize = 256;
