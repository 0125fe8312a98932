//! The product with blocks in plain Rust.

use super::{Bits, BlockRows};
use crate::kernel::BLOCK;
use crate::tensor_kind::f16_to_f32;

pub(super) fn times_panel(bits: Bits, blocks: &[u8], rows: &BlockRows, out: &mut [f32]) {
    out.fill(0.0);
    for (index, block) in blocks.chunks_exact(bits.block_bytes()).enumerate() {
        let half = |at: usize| f16_to_f32(u16::from_le_bytes([block[2 * at], block[2 * at + 1]]));
        let quants = &block[bits.scale_bytes()..];
        for (row, out) in out.chunks_exact_mut(BLOCK).enumerate() {
            let row = rows.row(row);
            let bytes = &row.bytes[index * BLOCK..][..BLOCK];
            let (scale, sum) = (row.scales[index], row.sums[index]);
            for (column, out) in out.iter_mut().enumerate() {
                *out += scale
                    * match bits {
                        Bits::Four => {
                            half(column) * four_bits(quants, column, bytes) as f32
                                + half(BLOCK + column) * sum as f32
                        }
                        Bits::Eight => half(column) * (eight_bits(quants, column, bytes) - 128 * sum) as f32,
                    };
            }
        }
    }
}

fn four_bits(quants: &[u8], column: usize, bytes: &[u8]) -> i32 {
    let start = column / 16 * 256 + column % 16 * 4;
    let mut sum = 0;
    for i in 0..16 {
        let quant = quants[start + i / 4 * 64 + i % 4];
        sum += i32::from(quant & 15) * i32::from(bytes[i] as i8);
        sum += i32::from(quant >> 4) * i32::from(bytes[16 + i] as i8);
    }
    sum
}

fn eight_bits(quants: &[u8], column: usize, bytes: &[u8]) -> i32 {
    let start = column / 16 * 512 + column % 16 * 4;
    let quant = |i: usize| i32::from(quants[start + i / 4 * 64 + i % 4]);
    bytes.iter().enumerate().map(|(i, byte)| quant(i) * i32::from(*byte as i8)).sum()
}
