//! Sixteen floats in one register. Only code compiled for AVX-512 may use them, which `vectorized!` ensures.

#![expect(unsafe_code, reason = "vector instructions")]

use super::{Floats, LANES};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Vector(__m512);

/// Applies one instruction.
macro_rules! instruction {
    ($call:expr) => {
        // SAFETY: this vector is used only in functions that `vectorized!` compiles and calls for AVX-512; the
        // lengths of slices were checked if the instruction accesses memory.
        unsafe { $call }
    };
}

/// Combines the lanes of four vectors by an operation; each result fills a quarter of the register.
macro_rules! of_four {
    ($a:expr, $b:expr, $c:expr, $d:expr, $join:ident) => {{
        // Combines quarters of all four, until each quarter of one register belongs to one of them.
        let ab = $join(
            _mm512_shuffle_f32x4::<0b01_00_01_00>($a.0, $b.0),
            _mm512_shuffle_f32x4::<0b11_10_11_10>($a.0, $b.0),
        );
        let cd = $join(
            _mm512_shuffle_f32x4::<0b01_00_01_00>($c.0, $d.0),
            _mm512_shuffle_f32x4::<0b11_10_11_10>($c.0, $d.0),
        );
        let all = $join(
            _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd),
        );
        let all = $join(all, _mm512_permute_ps::<0b01_00_11_10>(all));
        $join(all, _mm512_permute_ps::<0b10_11_00_01>(all))
    }};
}

/// Combines the lanes of sixteen vectors, each into one lane of the result.
macro_rules! of_each {
    ($vectors:expr, $join:ident) => {{
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = $vectors;
        Self(instruction!({
            let all = _mm512_mask_blend_ps(0x2222, of_four!(a, b, c, d, $join), of_four!(e, f, g, h, $join));
            let all = _mm512_mask_blend_ps(0x4444, all, of_four!(i, j, k, l, $join));
            let all = _mm512_mask_blend_ps(0x8888, all, of_four!(m, n, o, p, $join));
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            _mm512_permutexvar_ps(order, all)
        }))
    }};
}

/// Returns the low bytes of four vectors, with each quarter of all four together, since packing works within
/// quarters.
#[inline(always)]
fn packed(four: [Vector; 4]) -> __m512i {
    let mut low = [instruction!(_mm512_set1_epi32(0xff)); 4];
    for i in 0..4 {
        low[i] = instruction!(_mm512_and_si512(_mm512_castps_si512(four[i].0), low[i]));
    }
    let [a, b, c, d] = low;
    instruction!(_mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d)))
}

impl Floats for Vector {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(instruction!(_mm512_set1_ps(value)))
    }

    #[inline(always)]
    fn load(values: &[f32]) -> Self {
        let values = &values[..LANES];
        Self(instruction!(_mm512_loadu_ps(values.as_ptr())))
    }

    #[inline(always)]
    fn from_integers(values: &[i32]) -> Self {
        let values = &values[..LANES];
        Self(instruction!(_mm512_cvtepi32_ps(_mm512_loadu_si512(values.as_ptr().cast()))))
    }

    #[inline(always)]
    fn load_bits(values: &[i32]) -> Self {
        let values = &values[..LANES];
        Self(instruction!(_mm512_loadu_ps(values.as_ptr().cast())))
    }

    #[inline(always)]
    fn store_bits(self, values: &mut [i32]) {
        let values = &mut values[..LANES];
        instruction!(_mm512_storeu_ps(values.as_mut_ptr().cast(), self.0));
    }

    #[inline(always)]
    fn store(self, values: &mut [f32]) {
        let values = &mut values[..LANES];
        instruction!(_mm512_storeu_ps(values.as_mut_ptr(), self.0));
    }

    #[inline(always)]
    fn store_low_bytes(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..LANES];
        instruction!(_mm_storeu_si128(
            bytes.as_mut_ptr().cast(),
            _mm512_cvtepi32_epi8(_mm512_castps_si512(self.0))
        ));
    }

    #[inline(always)]
    fn store_low_bytes_of(four: [Self; 4], bytes: &mut [u8]) {
        let bytes = &mut bytes[..4 * LANES];
        let packed = packed(four);
        instruction!({
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
            _mm512_storeu_si512(bytes.as_mut_ptr().cast(), _mm512_permutexvar_epi32(order, packed));
        });
    }

    #[inline(always)]
    fn store_low_bytes_across(four: [Self; 4], bytes: &mut [i8], apart: usize) {
        let packed = packed(four);
        let quarters = instruction!([
            _mm512_castsi512_si128(packed),
            _mm512_extracti32x4_epi32::<1>(packed),
            _mm512_extracti32x4_epi32::<2>(packed),
            _mm512_extracti32x4_epi32::<3>(packed),
        ]);
        for i in 0..4 {
            let place = &mut bytes[i * apart..i * apart + LANES];
            instruction!(_mm_storeu_si128(place.as_mut_ptr().cast(), quarters[i]));
        }
    }

    #[inline(always)]
    fn store_low_bytes_interleaved(four: [Self; 4], bytes: &mut [i8]) {
        let bytes = &mut bytes[..4 * LANES];
        let [a, b, c, d] = four;
        instruction!({
            let (a, b) = (_mm512_castps_si512(a.0), _mm512_castps_si512(b.0));
            let (c, d) = (_mm512_castps_si512(c.0), _mm512_castps_si512(d.0));
            let low = _mm512_set1_epi32(0xff);
            let low_word = _mm512_set1_epi32(0xffff);
            // Takes the first where the mask is set, else the second: the other bytes of the first are not zero.
            let low_half = _mm512_ternarylogic_epi32::<0xca>(low, a, _mm512_slli_epi32::<8>(b));
            let high_half = _mm512_ternarylogic_epi32::<0xca>(low, c, _mm512_slli_epi32::<8>(d));
            let all =
                _mm512_ternarylogic_epi32::<0xca>(low_word, low_half, _mm512_slli_epi32::<16>(high_half));
            _mm512_storeu_si512(bytes.as_mut_ptr().cast(), all);
        });
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(instruction!(_mm512_add_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self(instruction!(_mm512_sub_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self(instruction!(_mm512_mul_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn divided_by(self, other: Self) -> Self {
        Self(instruction!(_mm512_div_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        Self(instruction!(_mm512_fmadd_ps(self.0, factor.0, term.0)))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(instruction!(_mm512_max_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn max_integers(self, other: Self) -> Self {
        Self(instruction!(_mm512_castsi512_ps(_mm512_max_epi32(
            _mm512_castps_si512(self.0),
            _mm512_castps_si512(other.0)
        ))))
    }

    #[inline(always)]
    fn numbers(self) -> Self {
        Self(instruction!(_mm512_cvtepi32_ps(_mm512_castps_si512(self.0))))
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(instruction!(_mm512_min_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(instruction!(_mm512_abs_ps(self.0)))
    }

    #[inline(always)]
    fn clamped(self, limit: Self) -> Self {
        // The one closer to zero, with the sign of the first.
        Self(instruction!(_mm512_range_ps::<0b0010>(self.0, limit.0)))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        instruction!(_mm512_reduce_add_ps(self.0))
    }

    #[inline(always)]
    fn highest(self) -> f32 {
        instruction!(_mm512_reduce_max_ps(self.0))
    }

    #[inline(always)]
    fn highest_of_each(vectors: [Self; LANES]) -> Self {
        of_each!(vectors, _mm512_max_ps)
    }

    #[inline(always)]
    fn sum_of_each(vectors: [Self; LANES]) -> Self {
        of_each!(vectors, _mm512_add_ps)
    }

    #[inline(always)]
    fn times_power(self, rounded: Self) -> Self {
        let power = instruction!(_mm512_slli_epi32::<23>(_mm512_castps_si512(rounded.0)));
        Self(instruction!(_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(self.0), power))))
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        let part = Self(instruction!(_mm512_reduce_ps::<{ _MM_FROUND_TO_NEAREST_INT }>(self.0)));
        Self(instruction!(_mm512_scalef_ps(part.power_of_part().0, self.minus(part).0)))
    }
}
