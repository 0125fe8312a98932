//! A first look at the rows of a large file through two bits of each number, a quarter of the bytes. It leaves out the
//! rows that are almost certainly too far from the query.
//!
//! The two bits choose one of four values, evenly apart around zero. A row's factor makes its product with itself exact.
//! What is then left of the row lies in a direction that has nothing to do with the query, so its product with the query
//! is about both lengths over the root of the dimension, and hardly ever more than `DOUBT` times that.

#[cfg(target_arch = "x86_64")]
mod avx2;

use super::{BLOCK, Estimate, OFFSET, Row, highest, length, rounded, square};
use crate::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use crate::kernel::{Isa, Kernel};
use std::io::{self, Write};

const DOUBT: f32 = 3.0;
/// The distance of the four values, in standard deviations of a row's numbers: that of the least error if they are
/// distributed normally.
const APART: f32 = 0.9957;
/// The bytes that are unpacked together.
const LANES: usize = 32;
/// The numbers in them: those of the lowest two bits first.
const GROUP: usize = 4 * LANES;

/// Rows of a file. None if the file is too small for it to be worth while.
#[derive(Default)]
pub(super) struct Coarse {
    bytes: Array<u8>,
    /// The factor of each row, and the length of what is lost.
    rows: Array<f32>,
}

pub(super) struct CoarseQuery {
    numbers: Vec<i8>,
    total: i32,
    step: f32,
    /// The error for a row whose lost part has the length 1.
    doubt: f32,
}

impl Coarse {
    pub fn read(from: &mut ArrayReader, dimension: usize, rows: usize) -> Result<Self, Damaged> {
        let bytes = rows.checked_mul(stride(dimension)).ok_or(Damaged)?;
        Ok(Self { bytes: from.take_exactly(bytes)?, rows: from.take_exactly(2 * rows)? })
    }

    /// Writes rows, each given as its bytes and its numbers.
    pub fn write<'a>(
        to: &mut ArrayWriter<impl Write>,
        dimension: usize,
        rows: impl ExactSizeIterator<Item = (&'a [u8], Row)>,
    ) -> io::Result<()> {
        let mut numbers = Vec::with_capacity(2 * rows.len());
        let bytes = rows.len() * stride(dimension);
        let packed = rows.map(|(bytes, row)| {
            let (packed, factor, lost) = pack(&bytes[..dimension], row);
            numbers.extend([factor, lost]);
            packed
        });
        to.put_parts(bytes, packed)?;
        to.put(&numbers)
    }

    pub fn len(&self) -> usize {
        self.rows.len() / 2
    }

    /// Estimates the products of the rows from `first` on.
    pub fn estimate(&self, kernel: Kernel, query: &CoarseQuery, first: usize, estimates: &mut [Estimate]) {
        let mut sums = [0; BLOCK];
        let sums = &mut sums[..estimates.len()];
        let stride = query.numbers.len() / 4;
        self::sums(kernel, &self.bytes[first * stride..], &query.numbers, sums);
        let rows = &self.rows.as_chunks().0[first..];
        for ((estimate, sum), [factor, lost]) in estimates.iter_mut().zip(sums).zip(rows) {
            estimate.score = (2 * *sum - 3 * query.total) as f32 * (0.5 * query.step * factor);
            estimate.error = query.doubt * lost;
        }
    }
}

impl CoarseQuery {
    /// Its own rounding is a fortieth of a row's.
    pub fn new(query: &[f32], dimension: usize) -> Self {
        let step = highest(query) / 127.0;
        let mut numbers = vec![0; 4 * stride(dimension)];
        for (number, value) in numbers.iter_mut().zip(query) {
            *number = rounded(*value, step, 127) as i8;
        }
        let total = numbers.iter().map(|number| i32::from(*number)).sum();
        Self { numbers, total, step, doubt: DOUBT * length(query) / (dimension.max(1) as f32).sqrt() }
    }
}

/// Returns a row's two bits of each number, its factor, and the length of what is lost.
fn pack(bytes: &[u8], row: Row) -> (Vec<u8>, f32, f32) {
    let number = |byte: &u8| (i32::from(*byte) - OFFSET) as f32;
    let squares: f32 = bytes.iter().map(|byte| number(byte) * number(byte)).sum();
    let apart = APART * (squares / bytes.len().max(1) as f32).sqrt();
    let mut packed = vec![0; stride(bytes.len())];
    if squares == 0.0 {
        return (packed, 0.0, row.lost);
    }
    let (mut product, mut packed_squares) = (0.0, 0.0);
    for (index, byte) in bytes.iter().enumerate() {
        let code = ((number(byte) / apart).floor() + 2.0).clamp(0.0, 3.0);
        let value = code - 1.5;
        product += value * number(byte);
        packed_squares += value * value;
        let (group, within) = (index / GROUP, index % GROUP);
        packed[group * LANES + within % LANES] |= (code as u8) << (2 * (within / LANES));
    }
    let factor = if product > 0.0 { squares / product } else { 0.0 };
    let lost =
        (square(f64::from(factor)) * f64::from(packed_squares) - f64::from(squares)).abs().sqrt() as f32;
    (packed, row.step * factor, row.step * lost + row.lost)
}

/// Computes `sums[i] = Σ codes[i][k] · numbers[k]` exactly.
fn sums(kernel: Kernel, bytes: &[u8], numbers: &[i8], sums: &mut [i32]) {
    match kernel.0 {
        #[cfg(target_arch = "x86_64")]
        Isa::Amx | Isa::Vnni | Isa::Avx2 => avx2::sums(bytes, numbers, sums),
        _ => portable_sums(bytes, numbers, sums),
    }
}

fn portable_sums(bytes: &[u8], numbers: &[i8], sums: &mut [i32]) {
    for (row, sum) in bytes.chunks_exact(numbers.len() / 4).zip(sums) {
        let groups = row.as_chunks::<LANES>().0.iter().zip(numbers.as_chunks::<GROUP>().0);
        let product = |(index, number): (usize, &i8), bytes: &[u8; LANES]| {
            i32::from(bytes[index % LANES] >> (2 * (index / LANES)) & 3) * i32::from(*number)
        };
        *sum = groups
            .map(|(bytes, numbers)| numbers.iter().enumerate().map(|each| product(each, bytes)).sum::<i32>())
            .sum();
    }
}

/// Returns the bytes of a row.
fn stride(dimension: usize) -> usize {
    dimension.max(1).div_ceil(GROUP) * LANES
}
