//! Sixteen floats in one register. Only code compiled for AVX-512 may use them, which `vectorized!` sees to.

#![expect(unsafe_code, reason = "vector instructions")]

use super::{Floats, LANES};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Vector(__m512);

/// One instruction, inlined into code that was compiled for it.
macro_rules! instruction {
    ($call:expr) => {
        // SAFETY: this vector is used only in functions that `vectorized!` compiles and calls for AVX-512; slices
        // were checked for length where the instruction reads or writes memory.
        unsafe { $call }
    };
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
    fn min(self, other: Self) -> Self {
        Self(instruction!(_mm512_min_ps(self.0, other.0)))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(instruction!(_mm512_abs_ps(self.0)))
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
    fn highest_of_each([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        let mut lanes = [0.0; LANES];
        instruction!({
            // Quarters of all four against each other, until each quarter of one register belongs to one of them.
            let ab = _mm512_max_ps(
                _mm512_shuffle_f32x4::<0b01_00_01_00>(a.0, b.0),
                _mm512_shuffle_f32x4::<0b11_10_11_10>(a.0, b.0),
            );
            let cd = _mm512_max_ps(
                _mm512_shuffle_f32x4::<0b01_00_01_00>(c.0, d.0),
                _mm512_shuffle_f32x4::<0b11_10_11_10>(c.0, d.0),
            );
            let all = _mm512_max_ps(
                _mm512_shuffle_f32x4::<0b10_00_10_00>(ab, cd),
                _mm512_shuffle_f32x4::<0b11_01_11_01>(ab, cd),
            );
            let all = _mm512_max_ps(all, _mm512_permute_ps::<0b01_00_11_10>(all));
            let all = _mm512_max_ps(all, _mm512_permute_ps::<0b10_11_00_01>(all));
            _mm512_storeu_ps(lanes.as_mut_ptr(), all)
        });
        [lanes[0], lanes[4], lanes[8], lanes[12]]
    }

    #[inline(always)]
    fn times_power(self, rounded: Self) -> Self {
        let power = instruction!(_mm512_slli_epi32::<23>(_mm512_castps_si512(rounded.0)));
        Self(instruction!(_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(self.0), power))))
    }
}
