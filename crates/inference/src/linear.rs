//! Rows of bytes times a matrix of bytes: the product that nearly all time goes into.
//!
//! A row of activations is rounded to bytes as it comes, with one scale; a column of weights was when the model was
//! loaded. The product runs over panels of 32 columns, each of which stays in the first-level cache while all rows
//! pass by it.

use crate::elementwise::{self, Scales, Then, ZERO};
use crate::kernel::{Aligned, BLOCK, Isa, Kernel, Left, Pair, Right, Session, Sums, column_scale};
use std::ops::Range;

/// How far apart rows of a wide matrix of floats should lie: by an odd number of cache lines, since rows that are a
/// power of two apart compete for the same few places in the cache.
pub(crate) fn stride(width: usize) -> usize {
    ((width / 16) | 1) * 16
}

/// Activations as bytes around `ZERO`, each row with its scale.
pub(crate) struct ByteRows {
    bytes: Aligned<u8>,
    scales: Aligned<f32>,
    width: usize,
    rows: usize,
}

impl ByteRows {
    pub fn new() -> Self {
        Self { bytes: Aligned::zeroed(0), scales: Aligned::zeroed(0), width: 0, rows: 0 }
    }

    /// Makes room for rows that are then set.
    pub fn reset(&mut self, rows: usize, width: usize) {
        // A block may begin at any row, and is read to its end; attention reads into the row behind it.
        let readable = rows + BLOCK + 1;
        self.bytes.reserve(readable * width);
        self.scales.reserve(readable);
        self.rows = rows;
        self.width = width;
    }

    /// Sets all rows, which are `stride` apart in `values`, times `factor`.
    pub fn set_all(&mut self, isa: Isa, values: &[f32], stride: usize, factor: f32) {
        self.set(isa, 0..self.rows, values, stride, factor);
    }

    /// Sets some of the rows.
    pub fn set(&mut self, isa: Isa, rows: Range<usize>, values: &[f32], stride: usize, factor: f32) {
        let bytes = &mut self.bytes[rows.start * self.width..rows.end * self.width];
        elementwise::quantize_all(isa, values, stride, self.width, factor, &mut self.scales[rows], bytes);
    }

    pub fn all(&self) -> Rows<'_> {
        Rows { bytes: self, range: 0..self.rows }
    }

    /// Up to 32 of `rows`, and their scales.
    pub fn block(&self, rows: Range<usize>) -> (Left<'_>, &[f32]) {
        let count = rows.len().min(BLOCK);
        let bytes = &self.bytes[rows.start * self.width..];
        (
            Left { bytes, stride: self.width, rows: count, depth: self.width },
            &self.scales[rows.start..][..count],
        )
    }

    /// Up to 32 rows, each `step` behind the one before, and their scales.
    pub fn every(&self, first: usize, step: usize, rows: usize) -> (Left<'_>, [f32; BLOCK]) {
        let mut scales = [0.0; BLOCK];
        for (row, scale) in scales.iter_mut().enumerate().take(rows) {
            *scale = self.scales[first + row * step];
        }
        let bytes = &self.bytes[first * self.width..];
        (Left { bytes, stride: step * self.width, rows, depth: self.width }, scales)
    }
}

/// Thirty-two columns of a matrix, ready for the kernels.
pub(crate) struct Panel<'a> {
    /// Its start takes back what the rows' bytes are too large by: `-ZERO · Σ column`.
    pub right: Right<'a>,
    pub scales: &'a [f32],
    pub bias: &'a [f32],
}

/// A matrix of signed bytes with a scale for each column, in panels of `[depth/4][32][4]`.
pub(crate) struct ByteMatrix {
    depth: usize,
    narrow: bool,
    bytes: Aligned<i8>,
    scales: Vec<f32>,
    starts: Vec<[i32; BLOCK]>,
    biases: Vec<f32>,
}

impl ByteMatrix {
    /// From rows that are the matrix's columns, as models keep them, rounded as the kernel likes them. Both sides are
    /// multiples of 32.
    pub fn new(kernel: Kernel, weights: &[f32], depth: usize, bias: &[f32]) -> Self {
        let columns = weights.len() / depth;
        assert!(columns.is_multiple_of(BLOCK) && depth.is_multiple_of(BLOCK) && bias.len() == columns);
        let mut matrix = Self {
            depth,
            narrow: kernel.prefers_narrow(),
            bytes: Aligned::zeroed(columns * depth),
            scales: Vec::with_capacity(columns),
            starts: vec![[0; BLOCK]; columns / BLOCK],
            biases: bias.to_vec(),
        };
        for (column, weights) in weights.chunks_exact(depth).enumerate() {
            let scale = column_scale(weights, matrix.narrow);
            let (panel, lane) = (column / BLOCK, column % BLOCK);
            let panel_bytes = &mut matrix.bytes[panel * BLOCK * depth..][..BLOCK * depth];
            let mut sum = 0;
            for (k, weight) in weights.iter().enumerate() {
                let byte = (weight / scale).round() as i8;
                panel_bytes[k / 4 * 4 * BLOCK + lane * 4 + k % 4] = byte;
                sum += i32::from(byte);
            }
            matrix.starts[panel][lane] = -ZERO * sum;
            matrix.scales.push(scale);
        }
        matrix
    }

    pub fn panels(&self) -> usize {
        self.starts.len()
    }

    pub fn panel(&self, index: usize) -> Panel<'_> {
        let columns = index * BLOCK..(index + 1) * BLOCK;
        Panel {
            right: Right {
                bytes: &self.bytes[index * BLOCK * self.depth..][..BLOCK * self.depth],
                start: &self.starts[index],
                narrow: self.narrow,
            },
            scales: &self.scales[columns.clone()],
            bias: &self.biases[columns],
        }
    }

    pub fn resident_bytes(&self) -> usize {
        self.bytes.len() + self.scales.len() * 4 + self.starts.len() * BLOCK * 4 + self.biases.len() * 4
    }
}

/// Some rows times one panel, into the first 32 places of rows that are `stride` apart.
pub(crate) fn times_panel(
    session: &Session,
    left: Rows<'_>,
    panel: &Panel<'_>,
    then: Then,
    out: &mut [f32],
    stride: usize,
    sums: &mut Pair,
) {
    let count = left.range.len();
    let block = |first: usize| left.bytes.block(left.range.start + first..left.range.end);
    let mut finish = |first: usize, rows: Range<usize>, sums: &Sums| {
        let scales = block(first).1;
        let rows = rows.start.min(scales.len())..rows.end.min(scales.len());
        let out = &mut out[(first + rows.start).min(count - 1) * stride..];
        let sums = &sums.0[rows.start * BLOCK..];
        let scales = Scales { rows: &scales[rows], columns: panel.scales, bias: panel.bias };
        elementwise::rescale(session.isa(), sums, scales, then, out, stride);
    };
    let [mut current, mut before] = sums.each_mut();
    for first in (0..count).step_by(BLOCK) {
        session.multiply(block(first).0, panel.right, current, &mut |rows| {
            if first > 0 {
                finish(first - BLOCK, rows, before);
            }
        });
        std::mem::swap(&mut current, &mut before);
    }
    if count > 0 {
        finish((count - 1) / BLOCK * BLOCK, 0..BLOCK, before);
    }
}

/// Some of the rows of a matrix.
#[derive(Clone)]
pub(crate) struct Rows<'a> {
    pub bytes: &'a ByteRows,
    pub range: Range<usize>,
}
