//! A matrix that stays quantized as in its file: blocks of 32 weights of four or eight bits, with a scale for each
//! block.
//!
//! Writing text token by token is limited by how fast the weights come from memory, so they stay packed and are
//! multiplied with rows of bytes that also have a scale for each block. For many rows at once, as in reading a
//! prompt, a panel is unpacked into the bytes of `linear` and used for all rows.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod load;
mod portable;
mod unpack;

use crate::ModelError;
use crate::arrays::Array;
use crate::elementwise;
use crate::kernel::{Aligned, BLOCK, Isa};
use crate::packed::{Packed, PackedReader, PackedWriter};
use crate::tensor_kind::f16_to_f32;
use std::io;

/// How a panel's block (32 columns by a depth of 32) is stored: scales as half floats, then quants, both in halves of
/// 16 columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    /// `weight = scale · quant + min`: 32 scales, 32 mins, then for each half `[4][16][4]` bytes whose low nibbles
    /// are the first 16 of the depth and whose high nibbles the last.
    Four,
    /// `weight = scale · (quant - 128)`: 32 scales, then for each half `[8][16][4]` bytes.
    Eight,
}

impl Bits {
    const fn scale_bytes(self) -> usize {
        match self {
            Self::Four => 4 * BLOCK,
            Self::Eight => 2 * BLOCK,
        }
    }

    const fn block_bytes(self) -> usize {
        match self {
            Self::Four => self.scale_bytes() + BLOCK * BLOCK / 2,
            Self::Eight => self.scale_bytes() + BLOCK * BLOCK,
        }
    }
}

pub(crate) struct BlockMatrix {
    bits: Bits,
    depth: usize,
    columns: usize,
    blocks: Array<u8>,
    /// For the bytes of `linear`: a scale for each column, and its start (see `Panels`).
    column_scales: Array<f32>,
    column_starts: Array<i32>,
}

impl BlockMatrix {
    pub fn depth(&self) -> usize {
        self.depth
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn panels(&self) -> usize {
        self.columns.div_ceil(BLOCK)
    }

    fn panel_blocks(&self, panel: usize) -> &[u8] {
        let bytes = self.depth / BLOCK * self.bits.block_bytes();
        &self.blocks[panel * bytes..][..bytes]
    }

    /// Writes one column as floats.
    pub fn column(&self, column: usize, out: &mut [f32]) {
        let lane = column % BLOCK;
        let blocks = self.panel_blocks(column / BLOCK).chunks_exact(self.bits.block_bytes());
        for (block, out) in blocks.zip(out.chunks_exact_mut(BLOCK)) {
            let half = |at: usize| f16_to_f32(u16::from_le_bytes([block[2 * at], block[2 * at + 1]]));
            let quants = &block[self.bits.scale_bytes()..];
            for (i, out) in out.iter_mut().enumerate() {
                *out = match self.bits {
                    Bits::Four => {
                        let pair = quants[lane / 16 * 256 + i % 16 / 4 * 64 + lane % 16 * 4 + i % 4];
                        half(lane) * f32::from(if i < 16 { pair & 15 } else { pair >> 4 })
                            + half(BLOCK + lane)
                    }
                    Bits::Eight => {
                        let quant = quants[lane / 16 * 512 + i / 4 * 64 + lane % 16 * 4 + i % 4];
                        half(lane) * (f32::from(quant) - 128.0)
                    }
                };
            }
        }
    }

    pub fn weights(&self) -> usize {
        self.columns * self.depth
    }

    pub fn resident_bytes(&self) -> usize {
        self.blocks.len() + 8 * self.column_scales.len()
    }

    /// Multiplies all of `rows` with one panel; `out` gets rows of 32.
    pub fn times_panel(&self, isa: Isa, rows: &BlockRows, panel: usize, out: &mut [f32]) {
        assert!(rows.width == self.depth && out.len() == rows.rows * BLOCK);
        let blocks = self.panel_blocks(panel);
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Amx | Isa::Vnni => avx512::times_panel(self.bits, blocks, rows, out),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::times_panel(self.bits, blocks, rows, out),
            _ => portable::times_panel(self.bits, blocks, rows, out),
        }
    }
}

impl Packed for BlockMatrix {
    fn write(&self, to: &mut PackedWriter) -> io::Result<()> {
        to.put(&[self.depth as i32, self.columns as i32, i32::from(self.bits == Bits::Four)])?;
        to.put(&self.blocks)?;
        to.put(&self.column_scales)?;
        to.put(&self.column_starts)
    }

    fn read(from: &mut PackedReader) -> Result<Self, ModelError> {
        let sizes = from.take_exactly::<i32>(3)?;
        let (depth, columns) = (sizes[0] as usize, sizes[1] as usize);
        let bits = if sizes[2] == 1 { Bits::Four } else { Bits::Eight };
        let panels = columns.div_ceil(BLOCK);
        let bytes =
            (depth / BLOCK).checked_mul(panels).and_then(|count| count.checked_mul(bits.block_bytes()));
        let bytes = bytes.ok_or_else(|| ModelError::malformed("packed weights are too large"))?;
        Ok(Self {
            bits,
            depth,
            columns,
            blocks: from.take_exactly(bytes)?,
            column_scales: from.take_exactly(panels * BLOCK)?,
            column_starts: from.take_exactly(panels * BLOCK)?,
        })
    }
}

/// A few rows of activations as signed bytes, with a scale and a sum for each 32 of them.
pub(crate) struct BlockRows {
    bytes: Aligned<u8>,
    scales: Vec<f32>,
    sums: Vec<i32>,
    width: usize,
    rows: usize,
}

impl BlockRows {
    pub fn new() -> Self {
        Self { bytes: Aligned::zeroed(0), scales: Vec::new(), sums: Vec::new(), width: 0, rows: 0 }
    }

    /// Makes room for rows, which are then set one by one.
    pub fn reset(&mut self, rows: usize, width: usize) {
        self.bytes.reserve(rows * width);
        self.scales.resize(rows * width / BLOCK, 0.0);
        self.sums.resize(rows * width / BLOCK, 0);
        self.rows = rows;
        self.width = width;
    }

    pub fn set(&mut self, isa: Isa, row: usize, values: &[f32]) {
        let first = row * self.width / BLOCK;
        let bytes = &mut self.bytes[row * self.width..][..self.width];
        let scales = &mut self.scales[first..first + self.width / BLOCK];
        elementwise::quantize_rows(isa, values, BLOCK, BLOCK, scales, bytes);
        for (sum, bytes) in self.sums[first..].iter_mut().zip(bytes.chunks_exact(BLOCK)) {
            *sum = bytes.iter().map(|byte| i32::from(*byte as i8)).sum();
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    fn row(&self, row: usize) -> BlockRow<'_> {
        let blocks = row * self.width / BLOCK..(row + 1) * self.width / BLOCK;
        BlockRow {
            bytes: &self.bytes[row * self.width..][..self.width],
            scales: &self.scales[blocks.clone()],
            sums: &self.sums[blocks],
        }
    }
}

#[derive(Clone, Copy)]
struct BlockRow<'a> {
    bytes: &'a [u8],
    scales: &'a [f32],
    sums: &'a [i32],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::linear::{self, ByteRows};
    use crate::rescale::{Epilogue, Out};
    use crate::tensor_kind::TensorKind;

    fn number(i: usize) -> f32 {
        ((i * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
    }

    /// Returns 40 columns of depth 96 as `kind` stores them, and their values.
    fn matrix(kind: TensorKind) -> (BlockMatrix, Vec<f32>) {
        let (columns, depth) = (40, 96);
        let mut bytes = Vec::new();
        for column in 0..columns {
            for block in 0..depth / 32 {
                let seed = column * 1000 + block * 100;
                match kind {
                    TensorKind::Q4_1 => {
                        bytes.extend([0x00, 0x2c, 0x00, 0xb8]);
                        bytes.extend((0..16).map(|i| (number(seed + i) * 127.0) as i8 as u8));
                    }
                    TensorKind::Q8_0 => {
                        bytes.extend([column as u8, 0x24]);
                        bytes.extend((0..32).map(|i| (number(seed + i) * 127.0) as i8 as u8));
                    }
                    _ => (0..32).for_each(|i| bytes.extend(number(seed + i).to_le_bytes())),
                }
            }
        }
        let mut weights = vec![0.0; columns * depth];
        kind.dequantize(&bytes, &mut weights);
        let row_bytes = bytes.len() / columns;
        let matrix = BlockMatrix::load(kind, columns, depth, |rows| {
            Ok(bytes[rows.start * row_bytes..rows.end * row_bytes].to_vec())
        });
        (matrix.unwrap(), weights)
    }

    #[test]
    fn every_kernel_multiplies_blocks_as_plain_arithmetic_does() {
        for kind in [TensorKind::Q4_1, TensorKind::Q8_0, TensorKind::F32] {
            let (matrix, weights) = matrix(kind);
            for kernel in Kernel::available() {
                for count in [1, 2, 3, 4, 5, 9] {
                    let rows: Vec<Vec<f32>> =
                        (0..count).map(|row| (0..96).map(|i| number(row * 31 + i * 17)).collect()).collect();
                    let mut bytes = BlockRows::new();
                    bytes.reset(count, 96);
                    rows.iter().enumerate().for_each(|(at, row)| bytes.set(kernel.0, at, row));
                    for panel in 0..matrix.panels() {
                        let mut out = vec![0.0; count * BLOCK];
                        matrix.times_panel(kernel.0, &bytes, panel, &mut out);
                        check(&format!("{kernel} {kind:?}"), &rows, &weights, panel, &out);
                    }
                }
            }
        }
    }

    #[test]
    fn a_panel_unpacked_to_bytes_gives_nearly_the_same() {
        for kind in [TensorKind::Q4_1, TensorKind::Q8_0, TensorKind::F32] {
            let (matrix, weights) = matrix(kind);
            for kernel in Kernel::available() {
                let session = kernel.session();
                let rows: Vec<Vec<f32>> =
                    (0..20).map(|row| (0..96).map(|i| number(row * 31 + i * 17)).collect()).collect();
                let mut bytes = ByteRows::new();
                bytes.reset(20, 96);
                bytes.set_all(kernel.0, &rows.concat(), 96, 1.0);
                let mut unpacked = Aligned::zeroed(96 * BLOCK);
                for index in 0..matrix.panels() {
                    let panel = matrix.unpack(kernel.0, index, &mut unpacked);
                    let mut out = vec![0.0; 20 * BLOCK];
                    linear::product(
                        kernel.0,
                        &session,
                        &bytes.all(),
                        panel,
                        Epilogue::Set,
                        Out { values: &mut out, stride: BLOCK },
                        &mut crate::kernel::pair(),
                    );
                    check(&format!("{kernel} {kind:?}"), &rows, &weights, index, &out);
                }
            }
        }
    }

    #[test]
    fn a_column_is_given_back_as_it_came() {
        for kind in [TensorKind::Q4_1, TensorKind::Q8_0] {
            let (matrix, weights) = matrix(kind);
            let mut column = vec![0.0; 96];
            for (index, expected) in weights.chunks_exact(96).enumerate() {
                matrix.column(index, &mut column);
                assert_eq!(column, expected, "{kind:?}");
            }
        }
    }

    fn check(what: &str, rows: &[Vec<f32>], weights: &[f32], panel: usize, out: &[f32]) {
        for (row, out) in rows.iter().zip(out.chunks_exact(BLOCK)) {
            for (lane, got) in out.iter().enumerate() {
                let column = panel * BLOCK + lane;
                let weights = weights.get(column * 96..(column + 1) * 96).unwrap_or(&[]);
                let exact: f32 = weights.iter().zip(row).map(|(weight, value)| weight * value).sum();
                let size: f32 = weights.iter().zip(row).map(|(weight, value)| (weight * value).abs()).sum();
                assert!((exact - got).abs() <= size * 0.01, "{what}, column {column}: {got}, not {exact}");
            }
        }
    }
}
