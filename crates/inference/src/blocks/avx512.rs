//! The product with blocks on AVX-512: sixteen columns at a time, and up to four rows for each weight that is read.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::{Bits, BlockRow, BlockRows};
use crate::kernel::BLOCK;
use std::arch::x86_64::*;

pub(super) fn times_panel(bits: Bits, blocks: &[u8], rows: &BlockRows, out: &mut [f32]) {
    let mut first = 0;
    while first < rows.rows {
        let count = (rows.rows - first).min(4);
        let out = &mut out[first * BLOCK..][..count * BLOCK];
        // SAFETY: an `Isa` of this kind exists only if these instructions work.
        unsafe {
            match count {
                4 => some_rows::<4>(bits, blocks, std::array::from_fn(|row| rows.row(first + row)), out),
                3 => some_rows::<3>(bits, blocks, std::array::from_fn(|row| rows.row(first + row)), out),
                2 => some_rows::<2>(bits, blocks, std::array::from_fn(|row| rows.row(first + row)), out),
                _ => some_rows::<1>(bits, blocks, [rows.row(first)], out),
            }
        }
        first += count;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn some_rows<const ROWS: usize>(bits: Bits, blocks: &[u8], rows: [BlockRow<'_>; ROWS], out: &mut [f32]) {
    let count = blocks.len() / bits.block_bytes();
    let complete = |row: &BlockRow<'_>| {
        row.bytes.len() >= count * BLOCK && row.scales.len() >= count && row.sums.len() >= count
    };
    assert!(rows.iter().all(complete) && out.len() >= ROWS * BLOCK);
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    for (index, block) in blocks.chunks_exact(bits.block_bytes()).enumerate() {
        for half in 0..2 {
            // SAFETY: a block holds its scales and quants, and each row `BLOCK` bytes for each block, as asserted.
            unsafe {
                match bits {
                    Bits::Four => four_bits(block.as_ptr(), half, index, &rows, &mut sums),
                    Bits::Eight => eight_bits(block.as_ptr(), half, index, &rows, &mut sums),
                }
            }
        }
    }
    for (out, sums) in out.chunks_exact_mut(BLOCK).zip(sums) {
        // SAFETY: `out` is 32 floats long.
        unsafe {
            _mm512_storeu_ps(out.as_mut_ptr(), sums[0]);
            _mm512_storeu_ps(out.as_mut_ptr().add(16), sums[1]);
        }
    }
}

/// SAFETY: `block` must point to a block of four bits, and each row have a block of this `index`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn four_bits<const ROWS: usize>(
    block: *const u8,
    half: usize,
    index: usize,
    rows: &[BlockRow<'_>; ROWS],
    sums: &mut [[__m512; 2]; ROWS],
) {
    // SAFETY: every address is within what the caller guarantees.
    unsafe {
        let scales = _mm512_cvtph_ps(_mm256_loadu_si256(block.add(half * 32).cast()));
        let mins = _mm512_cvtph_ps(_mm256_loadu_si256(block.add(64 + half * 32).cast()));
        let quants = block.add(Bits::Four.scale_bytes() + half * 256);
        let mask = _mm512_set1_epi8(15);
        let mut dots = [_mm512_setzero_si512(); ROWS];
        for group in 0..4 {
            let pairs = _mm512_loadu_si512(quants.add(group * 64).cast());
            let low = _mm512_and_si512(pairs, mask);
            let high = _mm512_and_si512(_mm512_srli_epi16::<4>(pairs), mask);
            for (row, dot) in rows.iter().zip(&mut dots) {
                let bytes = row.bytes.as_ptr().add(index * BLOCK + group * 4).cast::<i32>();
                *dot = _mm512_dpbusd_epi32(*dot, low, _mm512_set1_epi32(bytes.read_unaligned()));
                *dot = _mm512_dpbusd_epi32(*dot, high, _mm512_set1_epi32(bytes.add(4).read_unaligned()));
            }
        }
        for ((row, dot), sums) in rows.iter().zip(dots).zip(sums) {
            let scale = *row.scales.get_unchecked(index);
            let sum = _mm512_set1_ps(scale * *row.sums.get_unchecked(index) as f32);
            let dot = _mm512_mul_ps(_mm512_cvtepi32_ps(dot), _mm512_set1_ps(scale));
            sums[half] = _mm512_fmadd_ps(dot, scales, _mm512_fmadd_ps(mins, sum, sums[half]));
        }
    }
}

/// SAFETY: `block` must point to a block of eight bits, and each row have a block of this `index`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn eight_bits<const ROWS: usize>(
    block: *const u8,
    half: usize,
    index: usize,
    rows: &[BlockRow<'_>; ROWS],
    sums: &mut [[__m512; 2]; ROWS],
) {
    // SAFETY: every address is within what the caller guarantees.
    unsafe {
        let scales = _mm512_cvtph_ps(_mm256_loadu_si256(block.add(half * 32).cast()));
        let quants = block.add(Bits::Eight.scale_bytes() + half * 512);
        let mut dots = [_mm512_setzero_si512(); ROWS];
        for (row, dot) in rows.iter().zip(&mut dots) {
            *dot = _mm512_set1_epi32(-128 * *row.sums.get_unchecked(index));
        }
        for group in 0..8 {
            let quants = _mm512_loadu_si512(quants.add(group * 64).cast());
            for (row, dot) in rows.iter().zip(&mut dots) {
                let bytes = row.bytes.as_ptr().add(index * BLOCK + group * 4).cast::<i32>();
                *dot = _mm512_dpbusd_epi32(*dot, quants, _mm512_set1_epi32(bytes.read_unaligned()));
            }
        }
        for ((row, dot), sums) in rows.iter().zip(dots).zip(sums) {
            let scale = _mm512_set1_ps(*row.scales.get_unchecked(index));
            let dot = _mm512_mul_ps(_mm512_cvtepi32_ps(dot), scale);
            sums[half] = _mm512_fmadd_ps(dot, scales, sums[half]);
        }
    }
}
