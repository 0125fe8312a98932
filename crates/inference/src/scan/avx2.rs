//! The scan's sums with AVX2: bytes are widened to sixteen bits, where pairs of products are exact.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::Numbers;
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

/// Returns the sum of eight numbers.
#[target_feature(enable = "avx2")]
pub(super) fn folded(total: __m256i) -> i32 {
    let half = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256::<1>(total));
    let pair = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    _mm_cvtsi128_si32(_mm_add_epi32(pair, _mm_shuffle_epi32::<0b10_11_00_01>(pair)))
}
