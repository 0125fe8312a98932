//! How GGUF packs weights: the kinds that this crate reads, their block sizes, and the meaning of each block.

mod float;
mod unpack;

use crate::ModelError;
pub use float::{bf16_to_f32, f16_to_f32};

/// The storage format of one tensor's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorKind {
    F32,
    F16,
    BF16,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q4K,
    Q5K,
    Q6K,
}

/// Thirty-two consecutive weights of four bits each: weight = `scale` × quant + `min`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FourBitBlock {
    pub scale: f32,
    pub min: f32,
    /// In the order of the weights, each below 16.
    pub quants: [u8; 32],
}

impl TensorKind {
    /// Returns the kind with this number in GGUF.
    pub fn from_id(id: u32) -> Result<Self, ModelError> {
        Ok(match id {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            12 => Self::Q4K,
            13 => Self::Q5K,
            14 => Self::Q6K,
            30 => Self::BF16,
            other => return Err(unsupported(other)),
        })
    }

    /// Returns the weights per block. A row is a whole number of blocks.
    pub const fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::BF16 => 1,
            Self::Q8_0 | Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 => 32,
            Self::Q4K | Self::Q5K | Self::Q6K => 256,
        }
    }

    pub const fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Q8_0 => 34,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    /// Unpacks whole blocks; `out` needs `block_len` elements for each. Blocks that do not fit are ignored.
    pub fn dequantize(self, bytes: &[u8], out: &mut [f32]) {
        debug_assert_eq!(bytes.len() / self.block_bytes(), out.len() / self.block_len());
        let blocks = bytes.chunks_exact(self.block_bytes()).zip(out.chunks_exact_mut(self.block_len()));
        match self {
            Self::F32 => blocks.for_each(|(block, out)| out[0] = unpack::f32_at(block, 0)),
            Self::F16 => blocks.for_each(|(block, out)| out[0] = unpack::f16_at(block, 0)),
            Self::BF16 => blocks.for_each(|(block, out)| out[0] = bf16_to_f32(unpack::u16_at(block, 0))),
            Self::Q8_0 => blocks.for_each(|(block, out)| unpack::q8_0(block, out)),
            Self::Q5_0 => blocks.for_each(|(block, out)| unpack::q5_0(block, out)),
            Self::Q5_1 => blocks.for_each(|(block, out)| unpack::q5_1(block, out)),
            Self::Q5K => blocks.for_each(|(block, out)| unpack::q5_k(block, out)),
            Self::Q6K => blocks.for_each(|(block, out)| unpack::q6_k(block, out)),
            Self::Q4_0 | Self::Q4_1 | Self::Q4K => blocks.for_each(|(block, out)| {
                for (part, out) in out.chunks_exact_mut(32).enumerate() {
                    self.four_bit_block(block, part).dequantize(out);
                }
            }),
        }
    }

    /// Returns the blocks as they are stored, for kernels that compute on four bits. `None` for the other kinds.
    pub fn four_bit_blocks(self, bytes: &[u8]) -> Option<impl Iterator<Item = FourBitBlock> + '_> {
        if !matches!(self, Self::Q4_0 | Self::Q4_1 | Self::Q4K) {
            return None;
        }
        let parts = self.block_len() / 32;
        let blocks = bytes.chunks_exact(self.block_bytes());
        Some(blocks.flat_map(move |block| (0..parts).map(move |part| self.four_bit_block(block, part))))
    }

    fn four_bit_block(self, block: &[u8], part: usize) -> FourBitBlock {
        match self {
            Self::Q4_0 => unpack::q4_0(block),
            Self::Q4_1 => unpack::q4_1(block),
            _ => unpack::q4_k(block, part),
        }
    }
}

impl FourBitBlock {
    fn dequantize(&self, out: &mut [f32]) {
        for (out, quant) in out.iter_mut().zip(self.quants) {
            *out = self.scale * f32::from(quant) + self.min;
        }
    }
}

fn unsupported(id: u32) -> ModelError {
    let name = match id {
        9 => "Q8_1",
        10 => "Q2_K",
        11 => "Q3_K",
        15 => "Q8_K",
        16..=19 | 21..=23 | 29 => "one of the IQ kinds",
        20 => "IQ4_NL",
        24..=27 => "an integer kind",
        28 => "F64",
        34 | 35 => "a ternary kind",
        39 => "MXFP4",
        _ => "unknown",
    };
    ModelError::unsupported(format!(
        "tensor type {id} (`{name}`): one of F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K"
    ))
}

#[cfg(test)]
mod tests;
