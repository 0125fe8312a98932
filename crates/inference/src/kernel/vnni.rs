//! The product with AVX-512 byte dot products: up to twelve rows by 32 columns stay in registers.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::{BLOCK, Left};
use std::arch::x86_64::*;

pub(super) fn multiply(left: Left<'_>, panel: &[i8], start: &[i32; BLOCK], sums: &mut [i32], stride: usize) {
    let mut row = 0;
    while row < left.rows {
        let step = match left.rows - row {
            12.. => 12,
            8.. => 8,
            4.. => 4,
            rest => rest,
        };
        // SAFETY: a `Session` of this kind exists only if these instructions work; the caller has checked that `left`
        // and `sums` hold the rows and `panel` its depth.
        unsafe {
            let bytes = left.bytes.as_ptr().add(row * left.stride);
            let out = sums.as_mut_ptr().add(row * stride);
            let product = match step {
                12 => rows::<12>,
                8 => rows::<8>,
                4 => rows::<4>,
                3 => rows::<3>,
                2 => rows::<2>,
                _ => rows::<1>,
            };
            product(bytes, left.stride, panel.as_ptr(), left.depth / 4, start, out, stride);
        }
        row += step;
    }
}

/// SAFETY: `left` must point to `ROWS` rows, `stride` apart, of `4 * fours` bytes, `panel` to `128 * fours` bytes
/// and `out` to `ROWS` rows of 32 sums, `out_stride` apart.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn rows<const ROWS: usize>(
    left: *const u8,
    stride: usize,
    panel: *const i8,
    fours: usize,
    start: &[i32; BLOCK],
    out: *mut i32,
    out_stride: usize,
) {
    // SAFETY: every address is within what the caller guarantees.
    unsafe {
        let start =
            [_mm512_loadu_si512(start.as_ptr().cast()), _mm512_loadu_si512(start.as_ptr().add(16).cast())];
        let mut sums = [start; ROWS];
        for four in 0..fours {
            let low = _mm512_loadu_si512(panel.add(four * 128).cast());
            let high = _mm512_loadu_si512(panel.add(four * 128 + 64).cast());
            for (row, sums) in sums.iter_mut().enumerate() {
                let bytes = left.add(row * stride + four * 4).cast::<i32>().read_unaligned();
                let bytes = _mm512_set1_epi32(bytes);
                sums[0] = _mm512_dpbusd_epi32(sums[0], bytes, low);
                sums[1] = _mm512_dpbusd_epi32(sums[1], bytes, high);
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            _mm512_storeu_si512(out.add(row * out_stride).cast(), sums[0]);
            _mm512_storeu_si512(out.add(row * out_stride + 16).cast(), sums[1]);
        }
    }
}
