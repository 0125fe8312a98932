//! Sixteen floats in two registers. Only code compiled for AVX2 may use them, which `vectorized!` ensures.

#![expect(unsafe_code, reason = "vector instructions")]

use super::{Floats, LANES};
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Vector(__m256, __m256);

/// Applies the same instruction to both halves.
macro_rules! both {
    ($call:ident($($argument:expr),*)) => {
        // SAFETY: this vector is used only in functions that `vectorized!` compiles and calls for AVX2.
        unsafe { Vector($call($($argument.0),*), $call($($argument.1),*)) }
    };
}

impl Floats for Vector {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        both!(_mm256_set1_ps((value, value)))
    }

    #[inline(always)]
    fn load(values: &[f32]) -> Self {
        let values = &values[..LANES];
        let (first, second) = values.split_at(8);
        both!(_mm256_loadu_ps((first.as_ptr(), second.as_ptr())))
    }

    #[inline(always)]
    fn from_integers(values: &[i32]) -> Self {
        let values = &values[..LANES];
        // SAFETY: as in `both!`; the length was checked.
        let halves = unsafe {
            let first = values.as_ptr().cast::<__m256i>();
            (_mm256_loadu_si256(first), _mm256_loadu_si256(first.add(1)))
        };
        both!(_mm256_cvtepi32_ps(halves))
    }

    #[inline(always)]
    fn load_bits(values: &[i32]) -> Self {
        let values = &values[..LANES];
        let (first, second) = values.split_at(8);
        both!(_mm256_loadu_ps((first.as_ptr().cast::<f32>(), second.as_ptr().cast::<f32>())))
    }

    #[inline(always)]
    fn store_bits(self, values: &mut [i32]) {
        let values = &mut values[..LANES];
        // SAFETY: as in `both!`; the length was checked.
        unsafe {
            _mm256_storeu_ps(values.as_mut_ptr().cast(), self.0);
            _mm256_storeu_ps(values.as_mut_ptr().add(8).cast(), self.1);
        }
    }

    #[inline(always)]
    fn store(self, values: &mut [f32]) {
        let values = &mut values[..LANES];
        // SAFETY: as in `both!`; the length was checked.
        unsafe {
            _mm256_storeu_ps(values.as_mut_ptr(), self.0);
            _mm256_storeu_ps(values.as_mut_ptr().add(8), self.1);
        }
    }

    #[inline(always)]
    fn store_low_bytes(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..LANES];
        // SAFETY: as in `both!`; the slice was checked to have sixteen elements.
        unsafe {
            let mask = _mm256_set1_epi32(0xff);
            let first = _mm256_and_si256(_mm256_castps_si256(self.0), mask);
            let second = _mm256_and_si256(_mm256_castps_si256(self.1), mask);
            // Packing works within halves of a register: the words come out as 0 2 1 3.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(first, second));
            let packed =
                _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(bytes.as_mut_ptr().cast(), packed);
        }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        both!(_mm256_add_ps(self, other))
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        both!(_mm256_sub_ps(self, other))
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        both!(_mm256_mul_ps(self, other))
    }

    #[inline(always)]
    fn divided_by(self, other: Self) -> Self {
        both!(_mm256_div_ps(self, other))
    }

    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        both!(_mm256_fmadd_ps(self, factor, term))
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        both!(_mm256_max_ps(self, other))
    }

    #[inline(always)]
    fn max_integers(self, other: Self) -> Self {
        // SAFETY: as in `both!`.
        let bits = |vector: Self| unsafe { (_mm256_castps_si256(vector.0), _mm256_castps_si256(vector.1)) };
        let (a, b) = (bits(self), bits(other));
        // SAFETY: as in `both!`.
        let halves = unsafe { (_mm256_max_epi32(a.0, b.0), _mm256_max_epi32(a.1, b.1)) };
        both!(_mm256_castsi256_ps(halves))
    }

    #[inline(always)]
    fn numbers(self) -> Self {
        // SAFETY: as in `both!`.
        let halves = unsafe { (_mm256_castps_si256(self.0), _mm256_castps_si256(self.1)) };
        both!(_mm256_cvtepi32_ps(halves))
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        both!(_mm256_min_ps(self, other))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        let sign = Self::splat(-0.0);
        both!(_mm256_andnot_ps(sign, self))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        // SAFETY: as in `both!`.
        unsafe {
            let eight = _mm256_add_ps(self.0, self.1);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn highest(self) -> f32 {
        highest_of_four([self; 4])[0]
    }

    #[inline(always)]
    fn highest_of_each(vectors: [Self; LANES]) -> Self {
        let mut highest = [0.0; LANES];
        for (highest, vectors) in highest.chunks_exact_mut(4).zip(vectors.chunks_exact(4)) {
            highest.copy_from_slice(&highest_of_four([vectors[0], vectors[1], vectors[2], vectors[3]]));
        }
        Self::load(&highest)
    }

    #[inline(always)]
    fn times_power(self, rounded: Self) -> Self {
        // SAFETY: as in `both!`.
        unsafe {
            let multiply = |lanes: __m256, rounded: __m256| {
                let power = _mm256_slli_epi32::<23>(_mm256_castps_si256(rounded));
                _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(lanes), power))
            };
            Self(multiply(self.0, rounded.0), multiply(self.1, rounded.1))
        }
    }
}

#[inline(always)]
fn highest_of_four([a, b, c, d]: [Vector; 4]) -> [f32; 4] {
    let mut highest = [0.0; 4];
    // SAFETY: as in `both!`; there is room for four.
    unsafe {
        let [a, b] = [_mm256_max_ps(a.0, a.1), _mm256_max_ps(b.0, b.1)];
        let [c, d] = [_mm256_max_ps(c.0, c.1), _mm256_max_ps(d.0, d.1)];
        // Compares lanes in pairs, then in fours: each half of the register becomes `a b c d`.
        let ab = _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let cd = _mm256_max_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let all = _mm256_max_ps(
            _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
        );
        let all = _mm_max_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps::<1>(all));
        _mm_storeu_ps(highest.as_mut_ptr(), all);
    }
    highest
}
