//! A panel of blocks as the bytes that `linear` multiplies: each column rounded to one scale of its own.

use super::{Bits, BlockMatrix};
use crate::elementwise::ZERO;
use crate::kernel::{BLOCK, Isa};
use crate::linear::Panel;
use crate::simd::vectorized;
use crate::tensor_kind::f16_to_f32;

static NO_BIAS: [f32; BLOCK] = [0.0; BLOCK];
/// Bits behind the point in what a quant is multiplied by.
const FRACTION: i32 = 8;

impl BlockMatrix {
    /// Unpacks a panel into `bytes`, which hold `32 · depth`.
    pub fn unpack<'a>(&'a self, isa: Isa, index: usize, bytes: &'a mut [i8]) -> Panel<'a> {
        self.unpack_bytes(isa, index, bytes);
        Panel {
            bytes,
            scales: &self.column_scales[index * BLOCK..][..BLOCK],
            start: &self.column_starts[index],
            bias: &NO_BIAS,
        }
    }

    pub(super) fn unpack_bytes(&self, isa: Isa, index: usize, bytes: &mut [i8]) {
        let scales = &self.column_scales[index * BLOCK..][..BLOCK];
        let blocks = self.panel_blocks(index).chunks_exact(self.bits.block_bytes());
        for (block, bytes) in blocks.zip(bytes.chunks_exact_mut(BLOCK * BLOCK)) {
            let (factors, terms) = lines(self.bits, block, scales);
            let quants = &block[self.bits.scale_bytes()..];
            match self.bits {
                Bits::Four => four_bits(isa, quants, &factors, &terms, bytes),
                Bits::Eight => eight_bits(isa, quants, &factors, &terms, bytes),
            }
        }
    }
}

/// For each column, four times: what a quant is multiplied by, and what is then added. Sixteen bits that overflow in
/// between are right in the end, since the sum fits.
fn lines(bits: Bits, block: &[u8], column_scales: &[f32]) -> ([i16; 4 * BLOCK], [i16; 4 * BLOCK]) {
    let half = |at: usize| f16_to_f32(u16::from_le_bytes([block[2 * at], block[2 * at + 1]]));
    let mut factors = [0; 4 * BLOCK];
    let mut terms = [0; 4 * BLOCK];
    for (column, column_scale) in column_scales.iter().enumerate() {
        let unit = (1 << FRACTION) as f32 / if *column_scale > 0.0 { *column_scale } else { 1.0 };
        let factor = (half(column) * unit).round() as i32;
        let min = match bits {
            Bits::Four => (half(BLOCK + column) * unit).round() as i32,
            Bits::Eight => -ZERO * factor,
        };
        let rounding = 1 << (FRACTION - 1);
        factors[column * 4..][..4].fill(factor as i16);
        terms[column * 4..][..4].fill((min + rounding) as i16);
    }
    (factors, terms)
}

vectorized! {
    fn four_bits(quants: &[u8], factors: &[i16; 4 * BLOCK], terms: &[i16; 4 * BLOCK], bytes: &mut [i8]) {
        let (low, high) = bytes[..BLOCK * BLOCK].split_at_mut(BLOCK * BLOCK / 2);
        for half in 0..2 {
            let quants = &quants[half * 256..][..256];
            let factors = &factors[half * 64..][..64];
            let terms = &terms[half * 64..][..64];
            for group in 0..4 {
                let quants = &quants[group * 64..][..64];
                let low = &mut low[group * 128 + half * 64..][..64];
                let high = &mut high[group * 128 + half * 64..][..64];
                for i in 0..64 {
                    low[i] = line(quants[i] & 15, factors[i], terms[i]);
                    high[i] = line(quants[i] >> 4, factors[i], terms[i]);
                }
            }
        }
    }

    fn eight_bits(quants: &[u8], factors: &[i16; 4 * BLOCK], terms: &[i16; 4 * BLOCK], bytes: &mut [i8]) {
        for half in 0..2 {
            let factors = &factors[half * 64..][..64];
            let terms = &terms[half * 64..][..64];
            for group in 0..8 {
                let quants = &quants[half * 512 + group * 64..][..64];
                let bytes = &mut bytes[group * 128 + half * 64..][..64];
                for i in 0..64 {
                    bytes[i] = line(quants[i], factors[i], terms[i]);
                }
            }
        }
    }
}

#[inline(always)]
fn line(quant: u8, factor: i16, term: i16) -> i8 {
    (i16::from(quant).wrapping_mul(factor).wrapping_add(term) >> FRACTION) as i8
}
