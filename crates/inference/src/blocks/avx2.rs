//! The product with blocks on AVX2: eight columns at a time. Products of four-bit weights cannot saturate; those of
//! eight-bit weights use magnitudes, which cannot either.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::{Bits, BlockRow, BlockRows};
use crate::kernel::BLOCK;
use std::arch::x86_64::*;

pub(super) fn times_panel(bits: Bits, blocks: &[u8], rows: &BlockRows, out: &mut [f32]) {
    for (row, out) in out.chunks_exact_mut(BLOCK).enumerate() {
        // SAFETY: an `Isa` of this kind exists only if these instructions work.
        unsafe { one_row(bits, blocks, rows.row(row), out) }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn one_row(bits: Bits, blocks: &[u8], row: BlockRow<'_>, out: &mut [f32]) {
    let count = blocks.len() / bits.block_bytes();
    assert!(row.bytes.len() >= count * BLOCK && out.len() >= BLOCK);
    let mut sums = [_mm256_setzero_ps(); 4];
    for (index, block) in blocks.chunks_exact(bits.block_bytes()).enumerate() {
        let (scale, sum) = (row.scales[index], row.sums[index]);
        let bytes = row.bytes[index * BLOCK..][..BLOCK].as_ptr();
        for (part, sums) in sums.iter_mut().enumerate() {
            // SAFETY: a block holds its scales and quants, and `bytes` are `BLOCK` long.
            unsafe {
                let scales = _mm256_cvtph_ps(_mm_loadu_si128(block.as_ptr().add(part * 16).cast()));
                match bits {
                    Bits::Four => {
                        let mins =
                            _mm256_cvtph_ps(_mm_loadu_si128(block.as_ptr().add(64 + part * 16).cast()));
                        let dot = _mm256_cvtepi32_ps(four_bits(block.as_ptr(), part, bytes));
                        *sums = _mm256_fmadd_ps(mins, _mm256_set1_ps(scale * sum as f32), *sums);
                        *sums = _mm256_fmadd_ps(_mm256_mul_ps(dot, _mm256_set1_ps(scale)), scales, *sums);
                    }
                    Bits::Eight => {
                        let dot = _mm256_cvtepi32_ps(eight_bits(block.as_ptr(), part, bytes));
                        *sums = _mm256_fmadd_ps(_mm256_mul_ps(dot, _mm256_set1_ps(scale)), scales, *sums);
                    }
                }
            }
        }
    }
    for (out, sums) in out.chunks_exact_mut(8).zip(sums) {
        // SAFETY: `out` is eight floats long.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), sums) }
    }
}

/// SAFETY: `block` must point to a block of four bits, `bytes` to 32.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn four_bits(block: *const u8, part: usize, bytes: *const u8) -> __m256i {
    // SAFETY: every address is within what the caller guarantees.
    unsafe {
        let quants = block.add(Bits::Four.scale_bytes() + part / 2 * 256 + part % 2 * 32);
        let mask = _mm256_set1_epi8(15);
        let mut dot = _mm256_setzero_si256();
        for group in 0..4 {
            let pairs = _mm256_loadu_si256(quants.add(group * 64).cast());
            let low = _mm256_and_si256(pairs, mask);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(pairs), mask);
            let bytes = bytes.add(group * 4).cast::<i32>();
            // Two products of 15 · 127 and their neighbours: all four fit sixteen bits.
            let products = _mm256_add_epi16(
                _mm256_maddubs_epi16(low, _mm256_set1_epi32(bytes.read_unaligned())),
                _mm256_maddubs_epi16(high, _mm256_set1_epi32(bytes.add(4).read_unaligned())),
            );
            dot = _mm256_add_epi32(dot, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
        }
        dot
    }
}

/// SAFETY: `block` must point to a block of eight bits, `bytes` to 32.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn eight_bits(block: *const u8, part: usize, bytes: *const u8) -> __m256i {
    // SAFETY: every address is within what the caller guarantees.
    unsafe {
        let quants = block.add(Bits::Eight.scale_bytes() + part / 2 * 512 + part % 2 * 32);
        let mut dot = _mm256_setzero_si256();
        for group in 0..8 {
            let quants = _mm256_loadu_si256(quants.add(group * 64).cast());
            let signed = _mm256_xor_si256(quants, _mm256_set1_epi8(-128));
            let bytes = _mm256_set1_epi32(bytes.add(group * 4).cast::<i32>().read_unaligned());
            let products = _mm256_maddubs_epi16(_mm256_abs_epi8(signed), _mm256_sign_epi8(bytes, signed));
            dot = _mm256_add_epi32(dot, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
        }
        dot
    }
}
