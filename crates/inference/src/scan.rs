//! Compares many stored vectors with one query: scans bytes, and returns each score with a bound on its error.
//!
//! A stored vector is kept as bytes and one factor, a query as fifteen-bit numbers, so nearly all of the error comes
//! from rounding the stored vector. The length of that rounding error is known, and by the Cauchy-Schwarz inequality
//! it bounds the error of any score. The caller recomputes the few rows that the bound leaves open with its floats,
//! and misses none.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;
#[cfg(target_arch = "x86_64")]
mod vnni;

use crate::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use crate::kernel::{Aligned, Isa, Kernel};
use crate::simd::vectorized;
use std::io::{self, Write};
use std::ops::{AddAssign, Range};

/// Added to each byte, since byte products need an unsigned operand.
const OFFSET: i32 = 128;
/// Bound on the rounding of scores and bounds themselves, relative to the vectors' lengths.
const FLOAT_ERROR: f32 = 1e-6;

/// Rows of a block: their bytes and estimates stay in the first-level cache.
const BLOCK: usize = 64;

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
        let bytes = rows.checked_mul(stride(dimension)).ok_or(Damaged)?;
        let mapped = Mapped { bytes: from.take_exactly(bytes)?, rows: from.take_exactly(3 * rows)? };
        Ok(Self { mapped, ..Self::new(dimension) })
    }

    /// Writes the rows of these numbers.
    pub fn write(&self, to: &mut ArrayWriter<impl Write>, numbers: &[u32]) -> io::Result<()> {
        let bytes = numbers.iter().map(|number| self.row_bytes(*number as usize));
        to.put_parts(numbers.len() * stride(self.dimension), bytes)?;
        let rows = numbers.iter().map(|number| {
            let Row { step, lost, reach } = self.row(*number as usize);
            [step, lost, reach]
        });
        to.put_parts(3 * numbers.len(), rows)
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

    /// Calls `found` with the products of the query and the rows of these blocks, a block at a time, with the number of its
    /// first row.
    pub fn scan(
        &self,
        kernel: Kernel,
        query: &QueryCodes,
        blocks: Range<usize>,
        mut found: impl FnMut(usize, &[Estimate]),
    ) {
        let stride = stride(self.dimension);
        assert!(query.numbers.whole.len() == stride);
        let (mapped, mapped_rows) = (self.mapped_len().div_ceil(BLOCK), self.mapped.rows.as_chunks().0);
        let (mut rows, mut estimates) = (Vec::with_capacity(BLOCK), [Estimate::default(); BLOCK]);
        for block in blocks {
            rows.clear();
            let (first, bytes) = match block.checked_sub(mapped) {
                None => {
                    let first = block * BLOCK;
                    rows.extend(mapped_rows[first..].iter().take(BLOCK).map(Row::from));
                    (first, &self.mapped.bytes[first * stride..])
                }
                Some(added) => {
                    rows.extend(&self.rows[added * BLOCK..self.rows.len().min((added + 1) * BLOCK)]);
                    (mapped_rows.len() + added * BLOCK, &self.blocks[added][..])
                }
            };
            let estimates = &mut estimates[..rows.len()];
            estimate(kernel, query, &bytes[..rows.len() * stride], &rows, estimates);
            found(first, estimates);
        }
    }
}

fn estimate(kernel: Kernel, query: &QueryCodes, bytes: &[u8], rows: &[Row], estimates: &mut [Estimate]) {
    let mut sums = [0; BLOCK];
    let sums = &mut sums[..rows.len()];
    match kernel.0 {
        #[cfg(target_arch = "x86_64")]
        Isa::Amx | Isa::Vnni => vnni::sums(bytes, &query.numbers, sums),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::sums(bytes, &query.numbers, sums),
        _ => portable::sums(bytes, &query.numbers, sums),
    }
    for ((estimate, sum), row) in estimates.iter_mut().zip(sums).zip(rows) {
        estimate.score = (*sum - query.offset) as f32 * (query.step * row.step);
        estimate.error = row.lost * query.length + row.reach * (query.lost + FLOAT_ERROR * query.length);
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
        Self { numbers, step, offset: OFFSET * total, length: length(query), lost: lost.sqrt() as f32 }
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

vectorized! {
    fn single_product(a: &[f32], b: &[f32]) -> f32 {
        let (a, a_rest) = a.as_chunks::<64>();
        let (b, b_rest) = b.as_chunks::<64>();
        let mut sums = [0.0; 64];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..64 {
                sums[lane] += a[lane] * b[lane];
            }
        }
        let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
        folded(sums) + rest
    }

    fn double_product(a: &[f32], b: &[f32]) -> f64 {
        let (a, a_rest) = a.as_chunks::<16>();
        let (b, b_rest) = b.as_chunks::<16>();
        let mut sums = [0.0; 16];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..16 {
                sums[lane] += f64::from(a[lane]) * f64::from(b[lane]);
            }
        }
        let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        folded(sums) + rest
    }
}

/// Returns the sum of numbers by halving them repeatedly; adding one by one would be slower, since each addition
/// waits for the one before.
#[inline(always)]
fn folded<T: Copy + AddAssign, const LANES: usize>(mut sums: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            let other = sums[lane + half];
            sums[lane] += other;
        }
        half /= 2;
    }
    sums[0]
}

/// Returns the product of two vectors, the same on every processor.
pub fn product(kernel: Kernel, a: &[f32], b: &[f32]) -> f32 {
    single_product(kernel.0, a, b)
}

/// Returns the product of two vectors in double precision, the same on every processor. It takes three times as long.
pub fn precise_product(kernel: Kernel, a: &[f32], b: &[f32]) -> f64 {
    double_product(kernel.0, a, b)
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
