//! Compares many stored vectors with one query: scans bytes, and returns each score with a bound on its error.
//!
//! A stored vector is kept as bytes and one factor, a query as fifteen-bit numbers, so nearly all of the error comes
//! from rounding the stored vector. The length of that rounding error is known, and by the Cauchy-Schwarz inequality
//! it bounds the error of any score. The caller recomputes the few rows that the bound leaves open with its floats,
//! and misses none. In a large file a coarse look comes first, which hardly ever misses one.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod coarse;
mod portable;
mod products;
#[cfg(target_arch = "x86_64")]
mod vnni;

use crate::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use crate::kernel::{Aligned, Isa, Kernel};
use coarse::{Coarse, CoarseQuery};
pub use products::{precise_product, product};
use std::io::{self, Write};
use std::ops::Range;

/// Added to each byte, since byte products need an unsigned operand.
const OFFSET: i32 = 128;
/// Bound on the rounding of scores and bounds themselves, relative to the vectors' lengths.
const FLOAT_ERROR: f32 = 1e-6;

/// Rows of a block: their bytes and estimates stay in the first-level cache.
const BLOCK: usize = 64;
/// Files with fewer rows are compared in full: they take a few milliseconds.
const LEAST_COARSE_ROWS: usize = 200_000;

/// Stored vectors of one dimension: those of a file first, then those that were added.
pub struct Codes {
    dimension: usize,
    mapped: Mapped,
    /// The bytes of `BLOCK` rows each, so that adding rows moves none.
    blocks: Vec<Aligned<u8>>,
    rows: Vec<Row>,
}

/// Rows in a file: their bytes, and the three numbers of each.
#[derive(Default)]
struct Mapped {
    bytes: Array<u8>,
    rows: Array<f32>,
    coarse: Coarse,
}

#[derive(Clone, Copy)]
struct Row {
    /// The value of one step of a byte.
    step: f32,
    /// The length of the rounding error.
    lost: f32,
    /// An upper bound of the length of the rounded vector.
    reach: f32,
}

impl From<&[f32; 3]> for Row {
    fn from(&[step, lost, reach]: &[f32; 3]) -> Self {
        Self { step, lost, reach }
    }
}

/// A query in the form that the scan uses.
pub struct QueryCodes {
    numbers: Numbers,
    step: f32,
    /// What `OFFSET` adds to every sum.
    offset: i32,
    length: f32,
    lost: f32,
    coarse: CoarseQuery,
}

/// Fifteen-bit numbers, whole and split into `128 · high + low`, padded with zeros to whole cache lines.
struct Numbers {
    whole: Vec<i16>,
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "only byte products read the halves")
    )]
    high: Aligned<i8>,
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "only byte products read the halves")
    )]
    low: Aligned<i8>,
}

/// A score; the exact product is at most `error` away from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub score: f32,
    pub error: f32,
}

impl Codes {
    pub fn new(dimension: usize) -> Self {
        Self { dimension, mapped: Mapped::default(), blocks: Vec::new(), rows: Vec::new() }
    }

    /// Reads what [`Self::write`] wrote: so many rows of this dimension.
    pub fn read(from: &mut ArrayReader, dimension: usize, rows: usize) -> Result<Self, Damaged> {
        Self::read_with(from, dimension, rows, coarse_rows(rows))
    }

    fn read_with(
        from: &mut ArrayReader,
        dimension: usize,
        rows: usize,
        coarse_rows: usize,
    ) -> Result<Self, Damaged> {
        let bytes = rows.checked_mul(stride(dimension)).ok_or(Damaged)?;
        let mapped = Mapped {
            bytes: from.take_exactly(bytes)?,
            rows: from.take_exactly(3 * rows)?,
            coarse: Coarse::read(from, dimension, coarse_rows)?,
        };
        Ok(Self { mapped, ..Self::new(dimension) })
    }

    /// Writes the rows of these numbers.
    pub fn write(&self, to: &mut ArrayWriter<impl Write>, numbers: &[u32]) -> io::Result<()> {
        self.write_with(to, numbers, coarse_rows(numbers.len()))
    }

    fn write_with(
        &self,
        to: &mut ArrayWriter<impl Write>,
        numbers: &[u32],
        coarse_rows: usize,
    ) -> io::Result<()> {
        let rows =
            numbers.iter().map(|number| (self.row_bytes(*number as usize), self.row(*number as usize)));
        to.put_parts(numbers.len() * stride(self.dimension), rows.clone().map(|(bytes, _)| bytes))?;
        to.put_parts(
            3 * numbers.len(),
            rows.clone().map(|(_, Row { step, lost, reach })| [step, lost, reach]),
        )?;
        Coarse::write(to, self.dimension, rows.take(coarse_rows))
    }

    pub fn len(&self) -> usize {
        self.mapped_len() + self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn mapped_len(&self) -> usize {
        self.mapped.rows.len() / 3
    }

    /// Returns the bytes held for the added vectors.
    pub fn resident_bytes(&self) -> usize {
        self.blocks.len() * BLOCK * stride(self.dimension) + size_of::<Row>() * self.rows.capacity()
    }

    /// Stores a vector. It is cut or padded with zeros to the dimension.
    pub fn push(&mut self, vector: &[f32]) {
        let vector = &vector[..vector.len().min(self.dimension)];
        let step = highest(vector) / 127.0;
        let mut lost = 0.0;
        for (byte, value) in self.next_row().iter_mut().zip(vector) {
            let code = rounded(*value, step, 127);
            *byte = (code + OFFSET) as u8;
            lost += square(f64::from(*value) - f64::from(step) * f64::from(code));
        }
        let lost = lost.sqrt() as f32;
        self.rows.push(Row { step, lost, reach: length(vector) + lost });
    }

    fn next_row(&mut self) -> &mut [u8] {
        let (block, row) = (self.rows.len() / BLOCK, self.rows.len() % BLOCK);
        let stride = stride(self.dimension);
        if block == self.blocks.len() {
            self.blocks.push(Aligned::zeroed(BLOCK * stride));
        }
        &mut self.blocks[block][row * stride..][..stride]
    }

    fn row_bytes(&self, number: usize) -> &[u8] {
        let stride = stride(self.dimension);
        match number.checked_sub(self.mapped_len()) {
            None => &self.mapped.bytes[number * stride..][..stride],
            Some(added) => &self.blocks[added / BLOCK][added % BLOCK * stride..][..stride],
        }
    }

    fn row(&self, number: usize) -> Row {
        match number.checked_sub(self.mapped_len()) {
            None => (&self.mapped.rows.as_chunks().0[number]).into(),
            Some(added) => self.rows[added],
        }
    }

    /// Keeps the rows for which `keep` returns true, in their order and in memory.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = Self::new(self.dimension);
        for number in (0..self.len()).filter(|number| keep(*number)) {
            kept.next_row().copy_from_slice(self.row_bytes(number));
            kept.rows.push(self.row(number));
        }
        *self = kept;
    }

    /// Returns the number of blocks that [`Self::scan`] compares: each has up to `BLOCK` rows.
    pub fn blocks(&self) -> usize {
        self.mapped_len().div_ceil(BLOCK) + self.blocks.len()
    }

    /// Calls `found` with the rows of these blocks and their products with the query. Rows of a large file are left out if
    /// their product is, almost certainly, lower than `least` or what `found` returned since.
    pub fn scan(
        &self,
        kernel: Kernel,
        query: &QueryCodes,
        blocks: Range<usize>,
        mut least: f32,
        mut found: impl FnMut(usize, Estimate) -> f32,
    ) {
        assert!(query.numbers.whole.len() == stride(self.dimension));
        let mut estimates = [Estimate::default(); BLOCK];
        for rows in blocks.map(|block| self.rows_of(block)) {
            let estimates = &mut estimates[..rows.len()];
            if rows.end <= self.mapped.coarse.len() && least > f32::NEG_INFINITY {
                self.mapped.coarse.estimate(kernel, &query.coarse, rows.start, estimates);
                for (row, coarse) in rows.zip(estimates) {
                    if coarse.score + coarse.error >= least {
                        let mut estimate = [Estimate::default()];
                        self.estimate(kernel, query, row..row + 1, &mut estimate);
                        least = found(row, estimate[0]);
                    }
                }
            } else {
                self.estimate(kernel, query, rows.clone(), estimates);
                for (row, estimate) in rows.zip(estimates) {
                    least = found(row, *estimate);
                }
            }
        }
    }

    /// Returns the rows of a block.
    fn rows_of(&self, block: usize) -> Range<usize> {
        let mapped_blocks = self.mapped_len().div_ceil(BLOCK);
        let (first, end) = match block.checked_sub(mapped_blocks) {
            None => (block * BLOCK, self.mapped_len()),
            Some(added) => (self.mapped_len() + added * BLOCK, self.len()),
        };
        first..end.min(first + BLOCK)
    }

    /// Estimates the products of rows, all of one block.
    fn estimate(&self, kernel: Kernel, query: &QueryCodes, rows: Range<usize>, estimates: &mut [Estimate]) {
        let stride = stride(self.dimension);
        let bytes = match rows.start.checked_sub(self.mapped_len()) {
            None => &self.mapped.bytes[rows.start * stride..],
            Some(added) => &self.blocks[added / BLOCK][added % BLOCK * stride..],
        };
        let mut sums = [0; BLOCK];
        let sums = &mut sums[..rows.len()];
        let bytes = &bytes[..sums.len() * stride];
        match kernel.0 {
            #[cfg(target_arch = "x86_64")]
            Isa::Amx | Isa::Vnni => vnni::sums(bytes, &query.numbers, sums),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::sums(bytes, &query.numbers, sums),
            _ => portable::sums(bytes, &query.numbers, sums),
        }
        for ((estimate, sum), row) in estimates.iter_mut().zip(sums).zip(rows) {
            let row = self.row(row);
            estimate.score = (*sum - query.offset) as f32 * (query.step * row.step);
            estimate.error = row.lost * query.length + row.reach * (query.lost + FLOAT_ERROR * query.length);
        }
    }
}

impl QueryCodes {
    /// Prepares a query for codes of this dimension: it is cut or padded to it.
    pub fn new(query: &[f32], dimension: usize) -> Self {
        let query = &query[..query.len().min(dimension)];
        // So that no sum of products can overflow in any dimension.
        let most = (i32::MAX as usize / (255 * dimension.max(1))).min(127 * 128) as i32;
        let step = highest(query) / most as f32;
        let mut numbers = Numbers::zeroed(stride(dimension));
        let (mut total, mut lost) = (0, 0.0);
        for (index, value) in query.iter().enumerate() {
            let number = rounded(*value, step, most);
            numbers.set(index, number);
            total += number;
            lost += square(f64::from(*value) - f64::from(step) * f64::from(number));
        }
        Self {
            numbers,
            step,
            offset: OFFSET * total,
            length: length(query),
            lost: lost.sqrt() as f32,
            coarse: CoarseQuery::new(query, dimension),
        }
    }
}

impl Numbers {
    fn zeroed(len: usize) -> Self {
        Self { whole: vec![0; len], high: Aligned::zeroed(len), low: Aligned::zeroed(len) }
    }

    fn set(&mut self, index: usize, number: i32) {
        let high = (number + 64) >> 7;
        self.whole[index] = number as i16;
        self.high[index] = high as i8;
        self.low[index] = (number - 128 * high) as i8;
    }
}

/// Returns how many rows of a file have a coarse form: all or none.
fn coarse_rows(rows: usize) -> usize {
    if rows >= LEAST_COARSE_ROWS { rows } else { 0 }
}

/// Returns the bytes from one row to the next, in whole cache lines.
fn stride(dimension: usize) -> usize {
    dimension.max(1).next_multiple_of(64)
}

fn highest(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0, |highest, value| value.abs().max(highest))
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| square(f64::from(*value))).sum::<f64>().sqrt() as f32
}

fn square(value: f64) -> f64 {
    value * value
}

/// Returns how many steps a value is, at most `most`; 0 if the step is 0.
fn rounded(value: f32, step: f32, most: i32) -> i32 {
    ((value / step).round() as i32).clamp(-most, most)
}

#[cfg(test)]
mod tests;
