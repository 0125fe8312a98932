//! The sums of the coarse look with AVX2: bytes of two bits times bytes, pairs of which are exact in sixteen bits.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::super::avx2::folded;
use super::{GROUP, LANES};
use std::arch::x86_64::*;

/// Groups whose products can be added up in sixteen bits.
const GROUPS_OF_A_SUM: usize = 8;

pub(super) fn sums(bytes: &[u8], numbers: &[i8], sums: &mut [i32]) {
    assert!(numbers.len().is_multiple_of(GROUP) && bytes.len() >= numbers.len() / 4 * sums.len());
    // SAFETY: a `Kernel` of this kind exists only if these instructions work; the lengths are checked above.
    unsafe { rows(bytes, numbers, sums) }
}

/// SAFETY: `numbers` must be whole groups, and `bytes` a fourth of them for each of the sums.
#[target_feature(enable = "avx2")]
unsafe fn rows(bytes: &[u8], numbers: &[i8], sums: &mut [i32]) {
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
