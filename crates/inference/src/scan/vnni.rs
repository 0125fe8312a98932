//! The scan's sums with AVX-512 byte dot products, one for the high and one for the low half of each number.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::Numbers;
use std::arch::x86_64::*;

/// Rows that are read together with the same part of the query.
const TOGETHER: usize = 4;

pub(super) fn sums(bytes: &[u8], numbers: &Numbers, sums: &mut [i32]) {
    let len = numbers.whole.len();
    assert!(len.is_multiple_of(64) && numbers.high.len() == len && numbers.low.len() == len);
    assert!(bytes.len() >= len * sums.len());
    let mut bytes = bytes.chunks(len * TOGETHER);
    let (fours, rest) = sums.as_chunks_mut::<TOGETHER>();
    for (sums, bytes) in fours.iter_mut().zip(bytes.by_ref()) {
        // SAFETY: a `Kernel` of this kind exists only if these instructions work; the lengths are checked above.
        *sums = unsafe { rows(bytes, &numbers.high, &numbers.low) };
    }
    for (sum, bytes) in rest.iter_mut().zip(bytes.flat_map(|bytes| bytes.chunks(len))) {
        // SAFETY: as above.
        [*sum] = unsafe { rows(bytes, &numbers.high, &numbers.low) };
    }
}

/// SAFETY: `high` and `low` must be equally many whole groups of 64, and `bytes` as many for each of the rows.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn rows<const ROWS: usize>(bytes: &[u8], high: &[i8], low: &[i8]) -> [i32; ROWS] {
    let mut totals = [[_mm512_setzero_si512(); 2]; ROWS];
    for index in (0..high.len()).step_by(64) {
        // SAFETY: every address is within what the caller guarantees.
        unsafe {
            let high_part = _mm512_loadu_si512(high.as_ptr().add(index).cast());
            let low_part = _mm512_loadu_si512(low.as_ptr().add(index).cast());
            for (row, total) in totals.iter_mut().enumerate() {
                let bytes = _mm512_loadu_si512(bytes.as_ptr().add(row * high.len() + index).cast());
                total[0] = _mm512_dpbusd_epi32(total[0], bytes, high_part);
                total[1] = _mm512_dpbusd_epi32(total[1], bytes, low_part);
            }
        }
    }
    totals.map(|[high, low]| _mm512_reduce_add_epi32(_mm512_add_epi32(_mm512_slli_epi32::<7>(high), low)))
}
