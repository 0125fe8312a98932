//! The scan's sums with AVX2: bytes are widened to sixteen bits, where pairs of products are exact.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::Numbers;
use super::coarse::{GROUP, LANES};
use std::arch::x86_64::*;

pub(super) fn sums(bytes: &[u8], numbers: &Numbers, sums: &mut [i32]) {
    let numbers = &numbers.whole[..];
    assert!(numbers.len().is_multiple_of(32) && bytes.len() >= numbers.len() * sums.len());
    // SAFETY: a `Kernel` of this kind exists only if these instructions work; the lengths are checked above.
    unsafe { rows(bytes, numbers, sums) }
}

/// SAFETY: `numbers` must be whole groups of 32, and `bytes` as many for each of the sums.
#[target_feature(enable = "avx2")]
unsafe fn rows(bytes: &[u8], numbers: &[i16], sums: &mut [i32]) {
    for (row, sum) in sums.iter_mut().enumerate() {
        // SAFETY: every address is within what the caller guarantees.
        let total = unsafe {
            let bytes = bytes.as_ptr().add(row * numbers.len());
            let numbers_at = |index| _mm256_loadu_si256(numbers.as_ptr().add(index).cast());
            let bytes_at = |index| _mm256_cvtepu8_epi16(_mm_loadu_si128(bytes.add(index).cast()));
            let mut total = [_mm256_setzero_si256(); 2];
            for index in (0..numbers.len()).step_by(32) {
                for (half, total) in total.iter_mut().enumerate() {
                    let at = index + 16 * half;
                    *total = _mm256_add_epi32(*total, _mm256_madd_epi16(bytes_at(at), numbers_at(at)));
                }
            }
            _mm256_add_epi32(total[0], total[1])
        };
        *sum = folded(total);
    }
}

/// Groups whose products can be added up in sixteen bits.
const GROUPS_OF_A_SUM: usize = 8;

pub(super) fn coarse_sums(bytes: &[u8], numbers: &[i8], sums: &mut [i32]) {
    assert!(numbers.len().is_multiple_of(GROUP) && bytes.len() >= numbers.len() / 4 * sums.len());
    // SAFETY: a `Kernel` of this kind exists only if these instructions work; the lengths are checked above.
    unsafe { coarse_rows(bytes, numbers, sums) }
}

/// SAFETY: `numbers` must be whole groups, and `bytes` a fourth of them for each of the sums.
#[target_feature(enable = "avx2")]
unsafe fn coarse_rows(bytes: &[u8], numbers: &[i8], sums: &mut [i32]) {
    let groups = numbers.len() / GROUP;
    let (two_bits, ones) = (_mm256_set1_epi8(3), _mm256_set1_epi16(1));
    for (row, sum) in sums.iter_mut().enumerate() {
        let mut total = _mm256_setzero_si256();
        for first in (0..groups).step_by(GROUPS_OF_A_SUM) {
            let mut part = _mm256_setzero_si256();
            for group in first..groups.min(first + GROUPS_OF_A_SUM) {
                // SAFETY: every address is within what the caller guarantees.
                unsafe {
                    let bytes = _mm256_loadu_si256(bytes.as_ptr().add((row * groups + group) * LANES).cast());
                    let numbers = numbers.as_ptr().add(group * GROUP);
                    let products = |bytes, index| {
                        let numbers = _mm256_loadu_si256(numbers.add(index * LANES).cast());
                        _mm256_maddubs_epi16(_mm256_and_si256(bytes, two_bits), numbers)
                    };
                    part = _mm256_add_epi16(part, products(bytes, 0));
                    part = _mm256_add_epi16(part, products(_mm256_srli_epi16::<2>(bytes), 1));
                    part = _mm256_add_epi16(part, products(_mm256_srli_epi16::<4>(bytes), 2));
                    part = _mm256_add_epi16(part, products(_mm256_srli_epi16::<6>(bytes), 3));
                }
            }
            total = _mm256_add_epi32(total, _mm256_madd_epi16(part, ones));
        }
        *sum = folded(total);
    }
}

#[target_feature(enable = "avx2")]
fn folded(total: __m256i) -> i32 {
    let half = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256::<1>(total));
    let pair = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32::<0b10_11_00_01>(pair)))
}
