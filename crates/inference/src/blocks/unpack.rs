//! Unpacks a panel of blocks into the bytes that `linear` multiplies: each column is rounded with a scale of its own.

use super::{Bits, BlockMatrix};
use crate::elementwise::ZERO;
use crate::kernel::{BLOCK, Isa};
use crate::linear::Panels;
use crate::simd::vectorized;

static NO_BIAS: [f32; BLOCK] = [0.0; BLOCK];

impl BlockMatrix {
    /// Unpacks a panel into `bytes`, which must hold `32 · depth`.
    pub fn unpack<'a>(&'a self, isa: Isa, index: usize, bytes: &'a mut [i8]) -> Panels<'a> {
        self.unpack_bytes(isa, index, bytes);
        Panels {
            bytes,
            starts: &self.column_starts[index * BLOCK..][..BLOCK],
            scales: &self.column_scales[index * BLOCK..][..BLOCK],
            biases: &NO_BIAS,
            narrow: false,
        }
    }

    pub(super) fn unpack_bytes(&self, isa: Isa, index: usize, bytes: &mut [i8]) {
        let mut units = [0.0; BLOCK];
        for (unit, scale) in units.iter_mut().zip(&self.column_scales[index * BLOCK..]) {
            *unit = ONE / if *scale > 0.0 { *scale } else { 1.0 };
        }
        match self.bits {
            Bits::Four => four_bits(isa, self.panel_blocks(index), &units, bytes),
            Bits::Eight => eight_bits(isa, self.panel_blocks(index), &units, bytes),
        }
    }
}

/// Factors and terms with which quants become bytes: `(factor · quant + term) / 256`. Sixteen bits may overflow in
/// between, but the result fits. Each factor and term is repeated four times, for the four bytes of a column.
struct Lines {
    factors: [i16; 4 * BLOCK],
    terms: [i16; 4 * BLOCK],
}

const ONE: f32 = 256.0;
const HALF: i16 = 128;

impl Lines {
    #[inline(always)]
    fn new(factors: [i16; BLOCK], terms: [i16; BLOCK]) -> Self {
        let mut lines = Self { factors: [0; 4 * BLOCK], terms: [0; 4 * BLOCK] };
        for i in 0..4 * BLOCK {
            lines.factors[i] = factors[i / 4];
            lines.terms[i] = terms[i / 4].wrapping_add(HALF);
        }
        lines
    }

    /// Writes four bytes of each of the 16 columns of one half of a panel.
    #[inline(always)]
    fn apply(&self, half: usize, quants: impl Fn(usize) -> u8, bytes: &mut [i8]) {
        let factors = &self.factors[half * 64..][..64];
        let terms = &self.terms[half * 64..][..64];
        for (i, byte) in bytes[..64].iter_mut().enumerate() {
            *byte = (i16::from(quants(i)).wrapping_mul(factors[i]).wrapping_add(terms[i]) >> 8) as i8;
        }
    }
}

/// Returns half floats times `units`, rounded to integers.
#[inline(always)]
fn rounded(halves: &[u8], units: &[f32; BLOCK]) -> [i16; BLOCK] {
    /// 1.5 · 2²³: adding it leaves no bit for a fraction.
    const ROUNDER: f32 = 12_582_912.0;
    /// Converts the exponent of a half float to that of a float.
    const REBIAS: f32 = (1u128 << 112) as f32;
    let mut numbers = [0; BLOCK];
    for i in 0..BLOCK {
        let bits = u32::from(u16::from_le_bytes([halves[2 * i], halves[2 * i + 1]]));
        let value = f32::from_bits((bits & 0x7fff) << 13 | (bits & 0x8000) << 16) * REBIAS;
        numbers[i] = (value * units[i] + ROUNDER).to_bits() as i16;
    }
    numbers
}

vectorized! {
    fn four_bits(blocks: &[u8], units: &[f32; BLOCK], bytes: &mut [i8]) {
        let blocks = blocks.chunks_exact(Bits::Four.block_bytes());
        for (block, bytes) in blocks.zip(bytes.chunks_exact_mut(BLOCK * BLOCK)) {
            let lines = Lines::new(rounded(&block[..64], units), rounded(&block[64..128], units));
            let (low, high) = bytes.split_at_mut(BLOCK * BLOCK / 2);
            for half in 0..2 {
                for group in 0..4 {
                    let quants = &block[128 + half * 256 + group * 64..][..64];
                    lines.apply(half, |i| quants[i] & 15, &mut low[group * 128 + half * 64..]);
                    lines.apply(half, |i| quants[i] >> 4, &mut high[group * 128 + half * 64..]);
                }
            }
        }
    }

    fn eight_bits(blocks: &[u8], units: &[f32; BLOCK], bytes: &mut [i8]) {
        let blocks = blocks.chunks_exact(Bits::Eight.block_bytes());
        for (block, bytes) in blocks.zip(bytes.chunks_exact_mut(BLOCK * BLOCK)) {
            let factors = rounded(&block[..64], units);
            let lines = Lines::new(factors, factors.map(|factor| factor.wrapping_mul(-ZERO as i16)));
            for half in 0..2 {
                for group in 0..8 {
                    let quants = &block[64 + half * 512 + group * 64..][..64];
                    lines.apply(half, |i| quants[i], &mut bytes[group * 128 + half * 64..]);
                }
            }
        }
    }
}
