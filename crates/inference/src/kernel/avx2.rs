//! The products with AVX2. Its byte product adds pairs in sixteen bits and saturates, which never happens with narrow
//! columns. For other columns the bytes are widened, so that pairs of products are exact: the even bytes of a
//! column's four in one vector, the odd ones in another.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::{BLOCK, Left};
use std::arch::x86_64::*;

/// Depth that is widened at a time, in groups of four bytes.
const FOURS: usize = 64;

/// Bytes of up to eight rows, widened: of each four bytes the first and third, and the second and fourth.
struct Wide {
    even: [[i32; FOURS]; 8],
    odd: [[i32; FOURS]; 8],
}

pub(super) fn multiply(left: Left<'_>, panel: &[i8], start: &[i32; BLOCK], sums: &mut [i32], stride: usize) {
    let mut wide = Wide { even: [[0; FOURS]; 8], odd: [[0; FOURS]; 8] };
    for row in (0..left.rows).step_by(8) {
        let rows = (left.rows - row).min(8);
        for sums in sums[row * stride..].chunks_mut(stride).take(rows) {
            sums[..BLOCK].copy_from_slice(start);
        }
        for first in (0..left.depth).step_by(4 * FOURS) {
            let fours = (left.depth - first).min(4 * FOURS) / 4;
            for lane in 0..rows {
                let bytes = &left.bytes[(row + lane) * left.stride + first..][..4 * fours];
                // SAFETY: a `Session` of this kind exists only if these instructions work.
                unsafe { widen(bytes, &mut wide.even[lane], &mut wide.odd[lane]) };
            }
            for column in (0..BLOCK).step_by(8) {
                let product = match rows {
                    8 => some_rows::<8>,
                    7 => some_rows::<7>,
                    6 => some_rows::<6>,
                    5 => some_rows::<5>,
                    4 => some_rows::<4>,
                    3 => some_rows::<3>,
                    2 => some_rows::<2>,
                    _ => some_rows::<1>,
                };
                // SAFETY: as above; the caller has checked that `panel` holds its depth and `sums` the rows.
                unsafe {
                    let panel = panel.as_ptr().add(first * BLOCK + column * 4);
                    product(&wide, panel, fours, sums.as_mut_ptr().add(row * stride + column), stride);
                }
            }
        }
    }
}

/// Multiplies with narrow columns, see `column_scale`.
pub(super) fn multiply_narrow(
    left: Left<'_>,
    panel: &[i8],
    start: &[i32; BLOCK],
    sums: &mut [i32],
    stride: usize,
) {
    // Half of the columns stay in the first-level cache while all rows pass by.
    for column in (0..BLOCK).step_by(16) {
        for row in (0..left.rows).step_by(4) {
            let product = match left.rows - row {
                4.. => narrow_rows::<4>,
                3 => narrow_rows::<3>,
                2 => narrow_rows::<2>,
                _ => narrow_rows::<1>,
            };
            // SAFETY: as above; the caller has checked that `left` and `sums` hold the rows, too.
            unsafe {
                let bytes = left.bytes.as_ptr().add(row * left.stride);
                let panel = panel.as_ptr().add(column * 4);
                let out = sums.as_mut_ptr().add(row * stride + column);
                product(bytes, left.stride, panel, left.depth / 4, start.as_ptr().add(column), out, stride);
            }
        }
    }
}

/// SAFETY: `left` must point to `ROWS` rows, `stride` apart, of `4 * fours` bytes, `panel` to `fours` groups of 64 bytes,
/// 128 apart, `start` to 16 sums and `out` to rows of as many, `out_stride` apart; `fours` is even.
#[target_feature(enable = "avx2")]
unsafe fn narrow_rows<const ROWS: usize>(
    left: *const u8,
    stride: usize,
    panel: *const i8,
    fours: usize,
    start: *const i32,
    out: *mut i32,
    out_stride: usize,
) {
    // SAFETY: every address is within what the caller guarantees.
    unsafe {
        let ones = _mm256_set1_epi16(1);
        let start = [_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(8).cast())];
        let mut sums = [start; ROWS];
        for four in (0..fours).step_by(2) {
            let columns = |at: usize| _mm256_loadu_si256(panel.add(four * 128 + at).cast());
            let columns = [[columns(0), columns(128)], [columns(32), columns(160)]];
            for (row, sums) in sums.iter_mut().enumerate() {
                let bytes = left.add(row * stride + four * 4).cast::<i32>();
                let first = _mm256_set1_epi32(bytes.read_unaligned());
                let second = _mm256_set1_epi32(bytes.add(1).read_unaligned());
                for (sum, columns) in sums.iter_mut().zip(columns) {
                    let pairs = _mm256_add_epi16(
                        _mm256_maddubs_epi16(first, columns[0]),
                        _mm256_maddubs_epi16(second, columns[1]),
                    );
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, ones));
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            _mm256_storeu_si256(out.add(row * out_stride).cast(), sums[0]);
            _mm256_storeu_si256(out.add(row * out_stride + 8).cast(), sums[1]);
        }
    }
}

#[target_feature(enable = "avx2")]
fn widen(bytes: &[u8], even: &mut [i32; FOURS], odd: &mut [i32; FOURS]) {
    for ((four, even), odd) in bytes.chunks_exact(4).zip(even).zip(odd) {
        let four = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        *even = (four & 0x00ff_00ff) as i32;
        *odd = (four >> 8 & 0x00ff_00ff) as i32;
    }
}

/// Adds to `ROWS` rows of eight sums.
///
/// SAFETY: `panel` must point to `fours` groups of 32 bytes, 128 apart, and `out` to rows of 8 sums, `stride` apart;
/// `fours` is at most `FOURS`.
#[target_feature(enable = "avx2")]
unsafe fn some_rows<const ROWS: usize>(
    wide: &Wide,
    panel: *const i8,
    fours: usize,
    out: *mut i32,
    stride: usize,
) {
    // SAFETY: every address is within what the caller guarantees.
    unsafe {
        let mut sums = [_mm256_setzero_si256(); ROWS];
        for (row, sum) in sums.iter_mut().enumerate() {
            *sum = _mm256_loadu_si256(out.add(row * stride).cast());
        }
        for four in 0..fours {
            let columns = _mm256_loadu_si256(panel.add(four * 128).cast());
            let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(columns));
            let odd = _mm256_srai_epi16::<8>(columns);
            for (row, sum) in sums.iter_mut().enumerate() {
                let left_even = _mm256_set1_epi32(*wide.even.get_unchecked(row).get_unchecked(four));
                let left_odd = _mm256_set1_epi32(*wide.odd.get_unchecked(row).get_unchecked(four));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(left_even, even));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(left_odd, odd));
            }
        }
        for (row, sum) in sums.iter().enumerate() {
            _mm256_storeu_si256(out.add(row * stride).cast(), *sum);
        }
    }
}
