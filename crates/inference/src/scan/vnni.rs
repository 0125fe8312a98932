//! The scan's sums with AVX-512 byte dot products, one for the high and one for the low half of each number.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::Numbers;
use std::arch::x86_64::*;

pub(super) fn sums(bytes: &[u8], numbers: &Numbers, sums: &mut [i32]) {
    let len = numbers.whole.len();
    assert!(len.is_multiple_of(64) && numbers.high.len() == len && numbers.low.len() == len);
    assert!(bytes.len() >= len * sums.len());
    // SAFETY: a `Kernel` of this kind exists only where these instructions work; the lengths are checked above.
    unsafe { rows(bytes, &numbers.high, &numbers.low, sums) }
}

/// SAFETY: `high` and `low` must be equally many whole groups of 64, and `bytes` as many for each of the sums.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn rows(bytes: &[u8], high: &[i8], low: &[i8], sums: &mut [i32]) {
    for (row, sum) in sums.iter_mut().enumerate() {
        let mut total = [_mm512_setzero_si512(); 2];
        for index in (0..high.len()).step_by(64) {
            // SAFETY: every address lies within what the caller vouches for.
            unsafe {
                let bytes = _mm512_loadu_si512(bytes.as_ptr().add(row * high.len() + index).cast());
                let high = _mm512_loadu_si512(high.as_ptr().add(index).cast());
                let low = _mm512_loadu_si512(low.as_ptr().add(index).cast());
                total[0] = _mm512_dpbusd_epi32(total[0], bytes, high);
                total[1] = _mm512_dpbusd_epi32(total[1], bytes, low);
            }
        }
        *sum = _mm512_reduce_add_epi32(_mm512_add_epi32(_mm512_slli_epi32::<7>(total[0]), total[1]));
    }
}
