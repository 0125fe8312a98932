//! Sixteen floats at a time, on any processor.
//!
//! A function inside `vectorized!` is compiled once for AVX-512, once for AVX2 and once for any processor; its first
//! argument selects the version. Inside, `V` is the vector of sixteen floats.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
pub(crate) mod portable;

use std::f32::consts::LN_2;

pub(crate) const LANES: usize = 16;

macro_rules! vectorized {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block
    )*) => { $(
        $(#[$attribute])*
        #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "calls code for the chosen instructions"))]
        $visibility fn $name(isa: $crate::kernel::Isa, $($argument: $kind),*) $(-> $result)? {
            #[allow(clippy::extra_unused_type_parameters, reason = "some only leave their loops to the compiler")]
            #[inline(always)]
            fn with<V: $crate::simd::Floats>($($argument: $kind),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512($($argument: $kind),*) $(-> $result)? {
                with::<$crate::simd::avx512::Vector>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $kind),*) $(-> $result)? {
                with::<$crate::simd::avx2::Vector>($($argument),*)
            }

            match isa {
                // SAFETY: an `Isa` exists only if its instructions work.
                #[cfg(target_arch = "x86_64")]
                $crate::kernel::Isa::Amx | $crate::kernel::Isa::Vnni => unsafe { avx512($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::kernel::Isa::Avx2 => unsafe { avx2($($argument),*) },
                _ => with::<$crate::simd::portable::Vector>($($argument),*),
            }
        }
    )* };
}

pub(crate) use vectorized;

/// Sixteen floats. Slices that are read or written must have at least sixteen elements.
pub(crate) trait Floats: Copy {
    fn splat(value: f32) -> Self;
    fn load(values: &[f32]) -> Self;
    fn from_integers(values: &[i32]) -> Self;
    /// Loads floats that are stored bit by bit in integers.
    fn load_bits(values: &[i32]) -> Self;
    fn store_bits(self, values: &mut [i32]);
    fn store(self, values: &mut [f32]);
    /// Stores the low byte of each lane after `rounded`.
    fn store_low_bytes(self, bytes: &mut [u8]);
    /// The same for four vectors, contiguous.
    #[inline(always)]
    fn store_low_bytes_of(four: [Self; 4], bytes: &mut [u8]) {
        for i in 0..4 {
            four[i].store_low_bytes(&mut bytes[i * LANES..]);
        }
    }

    /// The same for four vectors, in groups of four bytes: the first group of each vector together, the next groups
    /// `apart`.
    #[inline(always)]
    fn store_low_bytes_across(four: [Self; 4], bytes: &mut [i8], apart: usize) {
        let mut rows = [0; 4 * LANES];
        Self::store_low_bytes_of(four, &mut rows);
        for word in 0..4 {
            for row in 0..4 {
                for i in 0..4 {
                    bytes[word * apart + row * 4 + i] = rows[row * LANES + word * 4 + i] as i8;
                }
            }
        }
    }

    /// The same for four vectors, interleaved: the bytes of one lane together.
    #[inline(always)]
    fn store_low_bytes_interleaved(four: [Self; 4], bytes: &mut [i8]) {
        let mut rows = [0; 4 * LANES];
        Self::store_low_bytes_of(four, &mut rows);
        for i in 0..LANES {
            for row in 0..4 {
                bytes[i * 4 + row] = rows[row * LANES + i] as i8;
            }
        }
    }

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn divided_by(self, other: Self) -> Self;
    /// Returns `self * factor + term`.
    fn times_plus(self, factor: Self, term: Self) -> Self;
    fn max(self, other: Self) -> Self;
    /// Returns the maximum of lanes that hold integers.
    fn max_integers(self, other: Self) -> Self;
    /// Converts lanes that hold integers to floats.
    fn numbers(self) -> Self;
    fn min(self, other: Self) -> Self;
    fn abs(self) -> Self;
    /// Limits the magnitude to `limit`, which is positive.
    #[inline(always)]
    fn clamped(self, limit: Self) -> Self {
        self.max(Self::splat(0.0).minus(limit)).min(limit)
    }

    fn sum(self) -> f32;
    fn highest(self) -> f32;
    /// Returns the maximum of each of sixteen vectors.
    #[inline(always)]
    fn highest_of_each(vectors: [Self; LANES]) -> Self {
        let mut highest = [0.0; LANES];
        for (highest, vector) in highest.iter_mut().zip(vectors) {
            *highest = vector.highest();
        }
        Self::load(&highest)
    }

    /// Returns the sum of each of sixteen vectors.
    #[inline(always)]
    fn sum_of_each(vectors: [Self; LANES]) -> Self {
        let mut sums = [0.0; LANES];
        for (sum, vector) in sums.iter_mut().zip(vectors) {
            *sum = vector.sum();
        }
        Self::load(&sums)
    }

    /// Adds the low bits of a result of `rounded` to the exponent, which multiplies by that power of two.
    fn times_power(self, rounded: Self) -> Self;

    /// Returns `e` to the power of each, to six digits, for values from -87 to 88.
    #[inline(always)]
    fn exp(self) -> Self {
        let x = self.max(Self::splat(-87.0)).min(Self::splat(88.0));
        let shifted = x.rounded(Self::splat(std::f32::consts::LOG2_E), 0.0);
        let power = shifted.minus(Self::splat(ROUNDER));
        let rest = power.times_plus(Self::splat(-LN_2_HIGH), x);
        let rest = power.times_plus(Self::splat(-LN_2_LOW), rest);
        let mut series = Self::splat(1.0 / 720.0);
        for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            series = series.times_plus(rest, Self::splat(coefficient));
        }
        series.times_power(shifted)
    }

    /// Returns two to the power of each, to four digits, for values up to 0.
    #[inline(always)]
    fn power_of_two(self) -> Self {
        let x = self.max(Self::splat(-126.0));
        let shifted = x.plus(Self::splat(ROUNDER));
        let rest = x.minus(shifted.minus(Self::splat(ROUNDER)));
        rest.power_of_part().times_power(shifted)
    }

    /// Returns two to the power of each, for values from -½ to ½.
    #[inline(always)]
    fn power_of_part(self) -> Self {
        let mut series = Self::splat(LN_2 * LN_2 * LN_2 * LN_2 / 24.0);
        for coefficient in [LN_2 * LN_2 * LN_2 / 6.0, LN_2 * LN_2 / 2.0, LN_2, 1.0] {
            series = series.times_plus(self, Self::splat(coefficient));
        }
        series
    }

    /// Multiplies by `factor` and rounds to the nearest integer plus `offset`, in the low bits of the result: a
    /// number is added that leaves no bit for a fraction.
    #[inline(always)]
    fn rounded(self, factor: Self, offset: f32) -> Self {
        self.times_plus(factor, Self::splat(ROUNDER + offset))
    }
}

/// 1.5 · 2²³.
pub(crate) const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts. The first has so few bits that an integer times it is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
