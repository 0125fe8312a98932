//! A coarse look at many rows: one bit for the sign of each number, an eighth of the bytes. The estimate of a product is
//! a few hundredths off, so it only chooses which rows are compared in full.

use super::stride;
use crate::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use std::io::{self, Write};
use std::ops::Range;

/// The bound of a query's numbers: the sum of eight fits into sixteen bits.
const MOST: f32 = 4_095.0;

/// The signs of rows in a file.
#[derive(Default)]
pub(super) struct Signs {
    /// Of each row a byte for every eight numbers.
    bytes: Array<u8>,
    /// The length of each row's vector by the sum of its sizes: the best factor for a product with its signs.
    factors: Array<f32>,
}

/// A query as the signs are compared with it: for every eight numbers, the sum of those whose bit is set.
pub struct SignQuery {
    sums: Vec<[i16; 256]>,
    total: i32,
    step: f32,
}

impl Signs {
    pub fn read(from: &mut ArrayReader, dimension: usize, rows: usize) -> Result<Self, Damaged> {
        let bytes = rows.checked_mul(width(dimension)).ok_or(Damaged)?;
        Ok(Self { bytes: from.take_exactly(bytes)?, factors: from.take_exactly(rows)? })
    }

    /// Writes the signs of rows, which come as their bytes and the value of a step.
    pub fn write<'a>(
        to: &mut ArrayWriter<impl Write>,
        dimension: usize,
        count: usize,
        rows: impl Iterator<Item = (&'a [u8], f32)> + Clone,
    ) -> io::Result<()> {
        let signs = rows.clone().map(|(bytes, _)| signs(&bytes[..dimension]));
        to.put_parts(count * width(dimension), signs)?;
        to.put_parts(count, rows.map(|(bytes, step)| [factor(&bytes[..dimension], step)]))
    }

    /// Calls `found` with each of these rows and about its product with the query.
    pub fn scan(&self, query: &SignQuery, rows: Range<usize>, mut found: impl FnMut(usize, f32)) {
        let width = query.sums.len();
        let bytes = self.bytes[rows.start * width..rows.end * width].chunks_exact(width.max(1));
        for ((row, bytes), factor) in rows.clone().zip(bytes).zip(&self.factors[rows]) {
            let set: i32 =
                bytes.iter().zip(&query.sums).map(|(byte, sums)| i32::from(sums[usize::from(*byte)])).sum();
            found(row, factor * query.step * (2 * set - query.total) as f32);
        }
    }
}

impl SignQuery {
    pub fn new(query: &[f32], dimension: usize) -> Self {
        let query = &query[..query.len().min(dimension)];
        let step = super::highest(query) / MOST;
        let mut numbers = vec![0i16; 8 * width(dimension)];
        for (number, value) in numbers.iter_mut().zip(query) {
            *number = super::rounded(*value, step, MOST as i32) as i16;
        }
        let sums = numbers.as_chunks::<8>().0.iter().map(|eight| {
            std::array::from_fn(|bits| (0..8).filter(|bit| bits >> bit & 1 == 1).map(|bit| eight[bit]).sum())
        });
        Self { sums: sums.collect(), total: numbers.iter().map(|number| i32::from(*number)).sum(), step }
    }
}

/// Returns the bytes of a row's signs.
fn width(dimension: usize) -> usize {
    stride(dimension) / 8
}

fn signs(codes: &[u8]) -> Vec<u8> {
    let mut signs = vec![0; width(codes.len())];
    for (index, code) in codes.iter().enumerate() {
        signs[index / 8] |= u8::from(i32::from(*code) > super::OFFSET) << (index % 8);
    }
    signs
}

fn factor(codes: &[u8], step: f32) -> f32 {
    let numbers = || codes.iter().map(|code| i32::from(*code) - super::OFFSET);
    let sizes: i32 = numbers().map(i32::abs).sum();
    let squares: i32 = numbers().map(|number| number * number).sum();
    if sizes == 0 { 0.0 } else { step * squares as f32 / sizes as f32 }
}
