//! Softmax with a table: sixty-four logits become bytes at once, which are the indexes of their weights.

#![expect(unsafe_code, reason = "vector instructions that read through pointers")]

use super::Logits;
use std::arch::x86_64::*;

/// Steps of the table per power of two.
const OCTAVE: f32 = 28.0;
/// `255 · 2^((i - 255) / 28)`; the lowest is below one half.
static TABLE: [u8; 256] = table();

const fn table() -> [u8; 256] {
    let mut table = [0; 256];
    // 2^(-1/28), and rounding to the nearest.
    let (mut weight, mut i) = (255.0, 255);
    while i > 0 {
        table[i] = (weight + 0.5) as u8;
        weight *= 0.9755486420525732;
        i -= 1;
    }
    table
}

/// Computes weights as `Logits::look_up` describes.
pub(super) fn weigh(logits: &Logits<'_>, weights: &mut [u8], stride: usize, steps: &mut [f32]) {
    // SAFETY: a `Session` of this kind exists only if these instructions work; the caller has checked that there are
    // sums and room for the weights of each row.
    unsafe { weigh_rows(logits, weights, stride, steps) }
}

/// Returns whether a row comes out right.
pub(super) fn works() -> bool {
    let mut sums = [-1; 64];
    (sums[40], sums[41], sums[63]) = (5, 3, -2);
    let (mut weights, mut steps) = ([9; 64], [0.0]);
    weigh(&Logits { sums: &sums, stride: 64, width: 64, scales: &[1.0] }, &mut weights, 64, &mut steps);
    (weights[0], weights[40], weights[41], weights[63]) == (4, 255, 64, 2)
}

/// SAFETY: `logits` and `weights` must hold a row for each scale. The width is a multiple of 32, and rows of
/// `weights` are padded to a multiple of 64.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
unsafe fn weigh_rows(logits: &Logits<'_>, weights: &mut [u8], stride: usize, steps: &mut [f32]) {
    // SAFETY: every address is within what the caller guarantees, or within the table.
    unsafe {
        let table: [__m512i; 4] =
            std::array::from_fn(|i| _mm512_loadu_si512(TABLE.as_ptr().add(64 * i).cast()));
        // Packing works within quarters of a register: groups of four of all four vectors come out together.
        let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        for (row, (scale, step)) in logits.scales.iter().zip(steps).enumerate() {
            let sums = logits.sums.as_ptr().add(row * logits.stride);
            let weights = weights.as_mut_ptr().add(row * stride);
            let mut highest = [_mm512_loadu_si512(sums.cast()), _mm512_loadu_si512(sums.add(16).cast())];
            for at in (32..logits.width).step_by(32) {
                highest[0] = _mm512_max_epi32(highest[0], _mm512_loadu_si512(sums.add(at).cast()));
                highest[1] = _mm512_max_epi32(highest[1], _mm512_loadu_si512(sums.add(at + 16).cast()));
            }
            let top = _mm512_reduce_max_epi32(_mm512_max_epi32(highest[0], highest[1]));
            let scale = scale * OCTAVE;
            let (scale, shift) = (_mm512_set1_ps(scale), _mm512_set1_ps(255.0 - scale * top as f32));
            let mut total = _mm512_setzero_si512();
            for at in (0..logits.width).step_by(64) {
                let steps = |at: usize| {
                    let sums = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums.add(at).cast()));
                    _mm512_cvtps_epi32(_mm512_fmadd_ps(sums, scale, shift))
                };
                let low = _mm512_packs_epi32(steps(at), steps(at + 16));
                let high = if at + 32 < logits.width {
                    _mm512_packs_epi32(steps(at + 32), steps(at + 48))
                } else {
                    _mm512_setzero_si512()
                };
                let bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
                let found = _mm512_mask_blend_epi8(
                    _mm512_movepi8_mask(bytes),
                    _mm512_permutex2var_epi8(table[0], bytes, table[1]),
                    _mm512_permutex2var_epi8(table[2], bytes, table[3]),
                );
                total = _mm512_dpbusd_epi32(total, found, _mm512_set1_epi8(1));
                _mm512_storeu_si512(weights.add(at).cast(), found);
            }
            *step = 1.0 / _mm512_reduce_add_epi32(total) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_powers_of_two() {
        for (i, weight) in TABLE.iter().enumerate().skip(1) {
            let exact = 255.0 * ((i as f64 - 255.0) / f64::from(OCTAVE)).exp2();
            assert!((f64::from(*weight) - exact).abs() < 0.5001, "{i}: {weight} {exact}");
        }
        assert_eq!((TABLE[0], TABLE[255]), (0, 255));
    }
}
