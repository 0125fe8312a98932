//! Rows of bytes times a matrix of bytes: the product that takes nearly all of the time.
//!
//! A row of activations is rounded to bytes with one scale; the columns of weights were rounded when the model was
//! loaded. The product goes over blocks of 32 rows. Each block stays in the first-level cache while panels of 32
//! columns pass by, few enough to stay in the second-level cache.

use crate::ModelError;
use crate::arrays::Array;
use crate::elementwise::{self, ZERO};
use crate::kernel::{Aligned, BLOCK, Isa, Kernel, Left, Pair, Right, Session, column_scale};
use crate::packed::{Packed, PackedReader, PackedWriter};
use crate::rescale::{Add, Epilogue, EpilogueOp, Gate, Gelu, Out, Rescale, Scales, Set, rescale_all};
use crate::simd::{Floats, vectorized};
use std::io;
use std::ops::Range;

/// Returns the distance between rows of a wide matrix of floats: an odd number of cache lines, since rows a power of
/// two apart compete for the same cache sets.
pub(crate) fn stride(width: usize) -> usize {
    ((width / 16) | 1) * 16
}

/// Activations as bytes around `ZERO`, with a scale for each row.
pub(crate) struct ByteRows {
    bytes: Aligned<u8>,
    scales: Aligned<f32>,
    width: usize,
    /// Distance between rows. Tiles need rows that begin on cache lines.
    stride: usize,
    rows: usize,
}

impl ByteRows {
    pub fn new() -> Self {
        Self { bytes: Aligned::zeroed(0), scales: Aligned::zeroed(0), width: 0, stride: 0, rows: 0 }
    }

    /// Makes room for rows, which are then set.
    pub fn reset(&mut self, rows: usize, width: usize) {
        // A block may begin at any row, and is read to its end.
        let readable = rows + BLOCK;
        self.stride = width.next_multiple_of(64);
        self.bytes.reserve(readable * self.stride);
        self.scales.reserve(readable);
        self.rows = rows;
        self.width = width;
    }

    /// Sets all rows, which are `stride` apart in `values`, times `factor`.
    pub fn set_all(&mut self, isa: Isa, values: &[f32], stride: usize, factor: f32) {
        self.set(isa, 0..self.rows, values, stride, factor);
    }

    /// Sets a range of the rows.
    pub fn set(&mut self, isa: Isa, rows: Range<usize>, values: &[f32], stride: usize, factor: f32) {
        let bytes = &mut self.bytes[rows.start * self.stride..rows.end * self.stride];
        let scales = &mut self.scales[rows];
        elementwise::quantize_all(isa, values, stride, self.width, scales, bytes, self.stride);
        scales.iter_mut().for_each(|scale| *scale *= factor);
    }

    /// Raises scales that are below `least`.
    pub fn raise_scales(&mut self, least: f32) {
        self.scales[..self.rows].iter_mut().for_each(|scale| *scale = scale.max(least));
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn all(&self) -> Rows<'_> {
        Rows { bytes: self, range: 0..self.rows }
    }

    /// Returns up to 32 of `rows`, and their scales.
    pub fn block(&self, rows: Range<usize>) -> (Left<'_>, &[f32]) {
        let count = rows.len().min(BLOCK);
        let bytes = &self.bytes[rows.start * self.stride..];
        (
            Left { bytes, stride: self.stride, rows: count, depth: self.width },
            &self.scales[rows.start..][..count],
        )
    }

    /// Returns up to 32 rows that are `step` apart, and their scales.
    pub fn every(&self, first: usize, step: usize, rows: usize) -> (Left<'_>, [f32; BLOCK]) {
        let mut scales = [0.0; BLOCK];
        for (row, scale) in scales.iter_mut().enumerate().take(rows) {
            *scale = self.scales[first + row * step];
        }
        let bytes = &self.bytes[first * self.stride..];
        (Left { bytes, stride: step * self.stride, rows, depth: self.width }, scales)
    }
}

/// Consecutive columns of a matrix, in panels of 32 for the kernels.
#[derive(Clone, Copy)]
pub(crate) struct Panels<'a> {
    pub bytes: &'a [i8],
    /// One for each column. They correct the offset of the rows' bytes: `-ZERO · Σ column`.
    pub starts: &'a [i32],
    pub scales: &'a [f32],
    pub biases: &'a [f32],
    pub narrow: bool,
}

impl<'a> Panels<'a> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.starts.len() / BLOCK
    }

    #[inline(always)]
    fn right(&self, index: usize) -> Right<'a> {
        let size = self.bytes.len() / self.count();
        let bytes = &self.bytes[index * size..(index + 1) * size];
        Right { bytes, start: &self.starts.as_chunks().0[index], narrow: self.narrow }
    }

    #[inline(always)]
    fn scales(&self, index: usize, rows: &'a [f32]) -> Scales<'a> {
        let columns = index * BLOCK..(index + 1) * BLOCK;
        Scales { rows, columns: &self.scales[columns.clone()], bias: &self.biases[columns] }
    }
}

/// A matrix of signed bytes with a scale for each column, in panels of `[depth/4][32][4]`.
pub(crate) struct ByteMatrix {
    depth: usize,
    narrow: bool,
    bytes: Array<i8>,
    scales: Array<f32>,
    starts: Array<i32>,
    biases: Array<f32>,
}

impl ByteMatrix {
    /// Takes the matrix transposed, as models store it, and rounds it as the kernel prefers. Both sides are multiples
    /// of 32. If the weights were bytes before, `known` has the scales of the columns, else nothing: with them, nothing is
    /// lost unless the columns have to be narrow.
    pub fn new(kernel: Kernel, weights: &[f32], depth: usize, bias: &[f32], known: &[f32]) -> Self {
        let columns = weights.len() / depth;
        assert!(columns.is_multiple_of(BLOCK) && depth.is_multiple_of(BLOCK) && bias.len() == columns);
        let narrow = kernel.prefers_narrow();
        let mut bytes = Aligned::zeroed(columns * depth);
        let (mut scales, mut starts) = (Aligned::zeroed(columns), Aligned::zeroed(columns));
        let mut column_bytes = vec![0; depth];
        for (column, weights) in weights.chunks_exact(depth).enumerate() {
            let scale = match known.get(column) {
                Some(known) if !narrow => *known,
                _ => column_scale(weights, narrow),
            };
            let sum = round_column(kernel.0, weights, scale, &mut column_bytes);
            let panel = &mut bytes[column / BLOCK * BLOCK * depth..][..BLOCK * depth];
            let fours = panel.as_chunks_mut().0.iter_mut().skip(column % BLOCK).step_by(BLOCK);
            fours.zip(column_bytes.as_chunks::<4>().0).for_each(|(to, four)| *to = *four);
            starts[column] = -ZERO * sum;
            scales[column] = scale;
        }
        Self {
            depth,
            narrow,
            bytes: bytes.into(),
            scales: scales.into(),
            starts: starts.into(),
            biases: bias.into(),
        }
    }

    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns a range of its panels.
    pub fn panels(&self, range: Range<usize>) -> Panels<'_> {
        let (size, columns) = (BLOCK * self.depth, range.start * BLOCK..range.end * BLOCK);
        Panels {
            bytes: &self.bytes[range.start * size..range.end * size],
            starts: &self.starts[columns.clone()],
            scales: &self.scales[columns.clone()],
            biases: &self.biases[columns],
            narrow: self.narrow,
        }
    }

    /// Returns all panels.
    pub fn all(&self) -> Panels<'_> {
        self.panels(0..self.starts.len() / BLOCK)
    }

    pub fn resident_bytes(&self) -> usize {
        self.bytes.len() + 12 * self.biases.len()
    }
}

impl Packed for ByteMatrix {
    fn write(&self, to: &mut PackedWriter) -> io::Result<()> {
        to.put(&[self.depth as i32, i32::from(self.narrow)])?;
        to.put(&self.bytes)?;
        to.put(&self.scales)?;
        to.put(&self.starts)?;
        to.put(&self.biases)
    }

    fn read(from: &mut PackedReader) -> Result<Self, ModelError> {
        let sizes = from.take_exactly::<i32>(2)?;
        let (depth, narrow) = (sizes[0] as usize, sizes[1] != 0);
        let bytes = from.take::<i8>()?;
        let columns = bytes.len().checked_div(depth).unwrap_or_default();
        let is_whole = columns.is_multiple_of(BLOCK) && depth.is_multiple_of(BLOCK) && columns > 0;
        if !is_whole || columns * depth != bytes.len() || narrow != from.kernel.prefers_narrow() {
            return Err(ModelError::malformed("packed weights for other instructions"));
        }
        let scales = from.take_exactly(columns)?;
        let starts = from.take_exactly(columns)?;
        Ok(Self { depth, narrow, bytes, scales, starts, biases: from.take_exactly(columns)? })
    }
}

vectorized! {
    /// Rounds a column to bytes of this scale. Returns their sum.
    fn round_column(weights: &[f32], scale: f32, bytes: &mut [i8]) -> i32 {
        let mut sum = 0;
        for (byte, weight) in bytes.iter_mut().zip(weights) {
            *byte = (weight / scale).round() as i8;
            sum += i32::from(*byte);
        }
        sum
    }

    /// Multiplies rows with panels, into `out`.
    pub(crate) fn product(
        session: &Session,
        left: &Rows<'_>,
        panels: Panels<'_>,
        then: Epilogue,
        out: Out<'_>,
        sums: &mut Pair,
    ) {
        match then {
            Epilogue::Set => product_with::<V, Set>(session, left, panels, out, sums),
            Epilogue::Add => product_with::<V, Add>(session, left, panels, out, sums),
            Epilogue::Gelu => product_with::<V, Gelu>(session, left, panels, out, sums),
            Epilogue::Gate => product_with::<V, Gate>(session, left, panels, out, sums),
        }
    }
}

/// Converts each block to floats while the next one is multiplied.
#[inline(always)]
fn product_with<V: Floats, A: EpilogueOp>(
    session: &Session,
    left: &Rows<'_>,
    panels: Panels<'_>,
    mut out: Out<'_>,
    sums: &mut Pair,
) {
    let [mut current, mut before] = sums.each_mut();
    let (mut scales, mut row, mut column) = (panels.scales(0, &[]), 0, 0);
    for first in left.range.clone().step_by(BLOCK) {
        let (bytes, rows) = left.bytes.block(first..left.range.end);
        for index in 0..panels.count() {
            let mut interleaved = Rescale::<V, A>::new(&before.0, scales, out.at(row, column));
            session.multiply(bytes, panels.right(index), &mut current.0, BLOCK, &mut interleaved);
            std::mem::swap(&mut current, &mut before);
            (scales, row, column) = (panels.scales(index, rows), first - left.range.start, index * BLOCK);
        }
    }
    rescale_all::<V, A>(&before.0, scales, out.at(row, column));
}

/// A range of the rows of a matrix.
#[derive(Clone)]
pub(crate) struct Rows<'a> {
    pub bytes: &'a ByteRows,
    pub range: Range<usize>,
}
