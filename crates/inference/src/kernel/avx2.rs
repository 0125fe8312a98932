//! The product with AVX2. Its byte product saturates, so bytes are widened to sixteen bits, where pairs of products
//! are exact: the even bytes of a column's four in one vector, the odd ones in another.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::{BLOCK, Left, Sums};
use std::arch::x86_64::*;

pub(super) fn multiply(left: Left<'_>, panel: &[i8], start: &[i32; BLOCK], sums: &mut Sums) {
    let mut row = 0;
    while row < left.rows {
        let step = (left.rows - row).min(4);
        for column in [0, 16] {
            // SAFETY: a `Session` of this kind exists only where these instructions work; the caller has checked
            // that `left` holds its rows and `panel` its depth, and a block has room for 32 rows.
            unsafe {
                let bytes = left.bytes.as_ptr().add(row * left.stride);
                let panel = panel.as_ptr().add(column * 4);
                let out = sums.0.as_mut_ptr().add(row * BLOCK + column);
                let start = start.as_ptr().add(column);
                let product = match step {
                    4 => rows::<4>,
                    3 => rows::<3>,
                    2 => rows::<2>,
                    _ => rows::<1>,
                };
                product(bytes, left.stride, panel, left.depth / 4, start, out);
            }
        }
        row += step;
    }
}

/// SAFETY: `left` must point to `ROWS` rows, `stride` apart, of `4 * fours` bytes, `panel` to `fours` groups of 64
/// bytes, 128 apart, `start` to 16 sums and `out` to `ROWS` rows of 16 sums, 32 apart.
#[target_feature(enable = "avx2")]
unsafe fn rows<const ROWS: usize>(
    left: *const u8,
    stride: usize,
    panel: *const i8,
    fours: usize,
    start: *const i32,
    out: *mut i32,
) {
    // SAFETY: every address lies within what the caller vouches for.
    unsafe {
        let start = [_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(8).cast())];
        let mut sums = [start; ROWS];
        let low_bytes = _mm256_set1_epi16(0xff);
        for four in 0..fours {
            let halves = [
                _mm256_loadu_si256(panel.add(four * 128).cast()),
                _mm256_loadu_si256(panel.add(four * 128 + 32).cast()),
            ];
            let even = halves.map(|half| _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(half)));
            let odd = halves.map(|half| _mm256_srai_epi16::<8>(half));
            for (row, sums) in sums.iter_mut().enumerate() {
                let bytes = left.add(row * stride + four * 4).cast::<i32>().read_unaligned();
                let bytes = _mm256_set1_epi32(bytes);
                let left_even = _mm256_and_si256(bytes, low_bytes);
                let left_odd = _mm256_srli_epi16::<8>(bytes);
                for half in 0..2 {
                    let even = _mm256_madd_epi16(left_even, even[half]);
                    let odd = _mm256_madd_epi16(left_odd, odd[half]);
                    sums[half] = _mm256_add_epi32(sums[half], _mm256_add_epi32(even, odd));
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            _mm256_storeu_si256(out.add(row * BLOCK).cast(), sums[0]);
            _mm256_storeu_si256(out.add(row * BLOCK + 8).cast(), sums[1]);
        }
    }
}
