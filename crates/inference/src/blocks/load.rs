//! Repacks a tensor of a file into panels of blocks: four-bit kinds and Q8_0 as they are, all others rounded to eight
//! bits with a scale for each 32.

use super::{Bits, BlockMatrix};
use crate::ModelError;
use crate::elementwise::ZERO;
use crate::kernel::{Aligned, BLOCK, Isa};
use crate::tensor_kind::{FourBitBlock, TensorKind, f16_to_f32};
use std::ops::Range;

impl BlockMatrix {
    /// `read` returns the stored bytes of a range of the tensor's rows, which are the matrix's columns.
    pub fn load(
        kind: TensorKind,
        columns: usize,
        depth: usize,
        read: impl Fn(Range<usize>) -> Result<Vec<u8>, ModelError>,
    ) -> Result<Self, ModelError> {
        if !depth.is_multiple_of(BLOCK) || depth == 0 || columns == 0 {
            return Err(ModelError::unsupported("a matrix whose rows are not whole blocks of 32"));
        }
        let bits = match kind {
            TensorKind::Q4_0 | TensorKind::Q4_1 | TensorKind::Q4K => Bits::Four,
            _ => Bits::Eight,
        };
        let panels = columns.div_ceil(BLOCK);
        let panel_bytes = depth / BLOCK * bits.block_bytes();
        let mut blocks = Aligned::zeroed(panels * panel_bytes);
        let mut column_scales = Aligned::zeroed(panels * BLOCK);
        for panel in 0..panels {
            let rows = panel * BLOCK..columns.min((panel + 1) * BLOCK);
            let bytes = read(rows.clone())?;
            let row_bytes = bytes.len() / rows.len();
            let to = &mut blocks[panel * panel_bytes..][..panel_bytes];
            for (lane, bytes) in bytes.chunks_exact(row_bytes).enumerate() {
                column_scales[panel * BLOCK + lane] = pack_column(kind, bits, to, lane, bytes);
            }
        }
        let mut matrix = Self {
            bits,
            depth,
            columns,
            blocks: blocks.into(),
            column_scales: column_scales.into(),
            column_starts: Aligned::zeroed(0).into(),
        };
        let starts: Vec<i32> = (0..panels).flat_map(|panel| matrix.starts(panel)).collect();
        matrix.column_starts = starts.as_slice().into();
        Ok(matrix)
    }

    /// Returns the starts of a panel's columns.
    fn starts(&self, panel: usize) -> [i32; BLOCK] {
        let mut unpacked = Aligned::zeroed(self.depth * BLOCK);
        self.unpack_bytes(Isa::Portable, panel, &mut unpacked);
        let mut sums = [0; BLOCK];
        for group in unpacked.chunks_exact(4 * BLOCK) {
            for (sum, four) in sums.iter_mut().zip(group.chunks_exact(4)) {
                *sum += four.iter().map(|byte| i32::from(*byte)).sum::<i32>();
            }
        }
        sums.map(|sum| -ZERO * sum)
    }
}

/// Packs one column of a panel. Returns the scale with which the whole column becomes bytes.
fn pack_column(kind: TensorKind, bits: Bits, panel: &mut [u8], lane: usize, bytes: &[u8]) -> f32 {
    let blocks = panel.chunks_exact_mut(bits.block_bytes());
    let mut highest = 0.0f32;
    if let Some(four_bits) = kind.four_bit_blocks(bytes) {
        for (to, block) in blocks.zip(four_bits) {
            highest = highest.max(put_four_bits(to, lane, &block));
        }
    } else if kind == TensorKind::Q8_0 {
        for (to, block) in blocks.zip(bytes.chunks_exact(kind.block_bytes())) {
            let scale = u16::from_le_bytes([block[0], block[1]]);
            let quants = std::array::from_fn(|i| block[2 + i] ^ 0x80);
            highest = highest.max(put_eight_bits(to, lane, scale, &quants));
        }
    } else {
        let mut weights = vec![0.0; blocks.len() * BLOCK];
        kind.dequantize(bytes, &mut weights);
        for (to, weights) in blocks.zip(weights.chunks_exact(BLOCK)) {
            let (scale, quants) = to_eight_bits(weights);
            highest = highest.max(put_eight_bits(to, lane, scale, &quants));
        }
    }
    if highest > 0.0 && highest.is_finite() { highest / 127.0 } else { 1.0 }
}

/// Returns the largest magnitude in the block.
fn put_four_bits(to: &mut [u8], lane: usize, block: &FourBitBlock) -> f32 {
    let (scale, min) = (f32_to_f16(block.scale), f32_to_f16(block.min));
    to[2 * lane..][..2].copy_from_slice(&scale.to_le_bytes());
    to[2 * BLOCK + 2 * lane..][..2].copy_from_slice(&min.to_le_bytes());
    let quants = &mut to[Bits::Four.scale_bytes()..];
    let column = lane / 16 * 256 + lane % 16 * 4;
    for i in 0..16 {
        quants[column + i / 4 * 64 + i % 4] = block.quants[i] | block.quants[16 + i] << 4;
    }
    let (scale, min) = (f16_to_f32(scale), f16_to_f32(min));
    min.abs().max((15.0 * scale + min).abs())
}

/// Returns the largest magnitude in the block.
fn put_eight_bits(to: &mut [u8], lane: usize, scale: u16, quants: &[u8; BLOCK]) -> f32 {
    to[2 * lane..][..2].copy_from_slice(&scale.to_le_bytes());
    let to = &mut to[Bits::Eight.scale_bytes()..];
    let column = lane / 16 * 512 + lane % 16 * 4;
    let mut highest = 0;
    for (i, quant) in quants.iter().enumerate() {
        to[column + i / 4 * 64 + i % 4] = *quant;
        highest = highest.max((i32::from(*quant) - ZERO).abs());
    }
    (f16_to_f32(scale) * highest as f32).abs()
}

fn to_eight_bits(weights: &[f32]) -> (u16, [u8; BLOCK]) {
    let highest = weights.iter().fold(0.0f32, |highest, weight| highest.max(weight.abs()));
    let scale = f32_to_f16(highest / 127.0);
    let step = f16_to_f32(scale);
    let quant = |weight: f32| ((weight / step).round().clamp(-127.0, 127.0) as i32 + ZERO) as u8;
    (scale, std::array::from_fn(|i| if step > 0.0 { quant(weights[i]) } else { ZERO as u8 }))
}

/// Converts to the nearest half float, ties to even. Too large values become infinite.
fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    if magnitude < 6.103_515_6e-5 {
        // A subnormal number, in units of the smallest step; the addition rounds.
        return sign | ((magnitude + 0.5).to_bits() - 0.5f32.to_bits()) as u16;
    }
    let bits = magnitude.to_bits() - (112 << 23);
    let rounded = bits + 0xfff + (bits >> 13 & 1);
    sign | (rounded >> 13) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_float_survives_the_way_there_and_back() {
        for bits in 0..=u16::MAX {
            let value = f16_to_f32(bits);
            if !value.is_nan() {
                assert_eq!(f32_to_f16(value), bits, "{value}");
            }
        }
        assert_eq!(f32_to_f16(1.0 + 0.00048828125), 0x3c00, "a tie goes to the even one");
        assert_eq!(f32_to_f16(1e9), 0x7c00);
    }
}
