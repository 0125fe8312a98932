//! The layout of each quantized block in GGUF files. Callers pass exactly one block.

use super::FourBitBlock;
use super::float::f16_to_f32;

pub fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

pub fn f16_at(block: &[u8], at: usize) -> f32 {
    f16_to_f32(u16_at(block, at))
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

pub fn f32_at(block: &[u8], at: usize) -> f32 {
    f32::from_bits(u32_at(block, at))
}

pub fn q8_0(block: &[u8], out: &mut [f32]) {
    let scale = f16_at(block, 0);
    for (out, &quant) in out.iter_mut().zip(&block[2..]) {
        *out = scale * f32::from(quant.cast_signed());
    }
}

pub fn q4_0(block: &[u8]) -> FourBitBlock {
    let scale = f16_at(block, 0);
    FourBitBlock { scale, min: -8.0 * scale, quants: nibbles(&block[2..]) }
}

pub fn q4_1(block: &[u8]) -> FourBitBlock {
    FourBitBlock { scale: f16_at(block, 0), min: f16_at(block, 2), quants: nibbles(&block[4..]) }
}

/// Returns one of the eight parts of a Q4_K block.
pub fn q4_k(block: &[u8], part: usize) -> FourBitBlock {
    let (scale, min) = k_scale_and_min(block, part);
    let quants = &block[16 + part / 2 * 32..];
    let shift = part % 2 * 4;
    FourBitBlock { scale, min, quants: std::array::from_fn(|i| quants[i] >> shift & 0xf) }
}

pub fn q5_0(block: &[u8], out: &mut [f32]) {
    let scale = f16_at(block, 0);
    for (out, quant) in out.iter_mut().zip(five_bits(u32_at(block, 2), &block[6..])) {
        *out = scale * (f32::from(quant) - 16.0);
    }
}

pub fn q5_1(block: &[u8], out: &mut [f32]) {
    let (scale, min) = (f16_at(block, 0), f16_at(block, 2));
    for (out, quant) in out.iter_mut().zip(five_bits(u32_at(block, 4), &block[8..])) {
        *out = scale * f32::from(quant) + min;
    }
}

pub fn q5_k(block: &[u8], out: &mut [f32]) {
    let (fifth_bits, low) = (&block[16..48], &block[48..]);
    for (part, out) in out.chunks_exact_mut(32).enumerate() {
        let (scale, min) = k_scale_and_min(block, part);
        let low = &low[part / 2 * 32..];
        let shift = part % 2 * 4;
        for (i, out) in out.iter_mut().enumerate() {
            let quant = (low[i] >> shift & 0xf) | (fifth_bits[i] >> part & 1) << 4;
            *out = scale * f32::from(quant) + min;
        }
    }
}

pub fn q6_k(block: &[u8], out: &mut [f32]) {
    let scale = f16_at(block, 208);
    for (half, out) in out.chunks_exact_mut(128).enumerate() {
        let low = &block[half * 64..];
        let high = &block[128 + half * 32..];
        let scales = &block[192 + half * 8..];
        for (quarter, out) in out.chunks_exact_mut(32).enumerate() {
            let low = &low[quarter % 2 * 32..];
            for (i, out) in out.iter_mut().enumerate() {
                let quant = (low[i] >> (quarter / 2 * 4) & 0xf) | (high[i] >> (quarter * 2) & 3) << 4;
                let part_scale = scale * f32::from(scales[quarter * 2 + i / 16].cast_signed());
                *out = part_scale * (f32::from(quant) - 32.0);
            }
        }
    }
}

/// Returns the quants of sixteen bytes: the first sixteen are in their lower halves, the others in the upper.
fn nibbles(bytes: &[u8]) -> [u8; 32] {
    std::array::from_fn(|i| if i < 16 { bytes[i] & 0xf } else { bytes[i - 16] >> 4 })
}

fn five_bits(fifth_bits: u32, low: &[u8]) -> [u8; 32] {
    let low = nibbles(low);
    std::array::from_fn(|i| low[i] | ((fifth_bits >> i & 1) as u8) << 4)
}

/// Returns the scale and minimum of a part. Q4_K and Q5_K pack eight pairs of six bits into twelve bytes: the first
/// four pairs are in the lower six bits of eight bytes, whose upper two bits complete the last four.
fn k_scale_and_min(block: &[u8], part: usize) -> (f32, f32) {
    let packed = &block[4..16];
    let (scale, min) = if part < 4 {
        (packed[part] & 63, packed[part + 4] & 63)
    } else {
        let scale = packed[part + 4] & 0xf | packed[part - 4] >> 6 << 4;
        let min = packed[part + 4] >> 4 | packed[part] >> 6 << 4;
        (scale, min)
    };
    (f16_at(block, 0) * f32::from(scale), -(f16_at(block, 2) * f32::from(min)))
}
