//! Sixteen floats at a time, in plain Rust that the compiler turns into vector instructions.
//!
//! A function written inside `vectorized!` is compiled once for AVX-512, once for AVX2 and once for the processor at
//! hand, and its first argument chooses. Inside, `FMA` says whether multiply-and-add is one instruction.

use std::ops::{Add, Mul, Sub};

pub(crate) const LANES: usize = 16;

macro_rules! vectorized {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)? $body:block
    )*) => { $(
        $(#[$attribute])*
        #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "calls code for the chosen instructions"))]
        $visibility fn $name(isa: $crate::kernel::Isa, $($argument: $kind),*) $(-> $result)? {
            #[inline(always)]
            fn with<const FMA: bool>($($argument: $kind),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512($($argument: $kind),*) $(-> $result)? {
                with::<true>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $kind),*) $(-> $result)? {
                with::<true>($($argument),*)
            }

            match isa {
                // SAFETY: an `Isa` is handed out only where its instructions were seen to work.
                #[cfg(target_arch = "x86_64")]
                $crate::kernel::Isa::Amx | $crate::kernel::Isa::Vnni => unsafe { avx512($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::kernel::Isa::Avx2 => unsafe { avx2($($argument),*) },
                _ => with::<{ cfg!(target_arch = "aarch64") }>($($argument),*),
            }
        }
    )* };
}

pub(crate) use vectorized;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Floats([f32; LANES]);

impl Floats {
    #[inline(always)]
    pub fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    /// The first sixteen of `values`.
    #[inline(always)]
    pub fn load(values: &[f32]) -> Self {
        let mut lanes = [0.0; LANES];
        lanes.copy_from_slice(&values[..LANES]);
        Self(lanes)
    }

    #[inline(always)]
    pub fn from_integers(values: &[i32]) -> Self {
        let values = &values[..LANES];
        let mut lanes = [0.0; LANES];
        for i in 0..LANES {
            lanes[i] = values[i] as f32;
        }
        Self(lanes)
    }

    #[inline(always)]
    pub fn store(self, values: &mut [f32]) {
        values[..LANES].copy_from_slice(&self.0);
    }

    /// The low byte of each lane of what `rounded` gave.
    #[inline(always)]
    pub fn store_low_bytes(self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..LANES];
        for i in 0..LANES {
            bytes[i] = self.0[i].to_bits() as u8;
        }
    }

    #[inline(always)]
    fn each(self, f: impl Fn(f32) -> f32) -> Self {
        let mut lanes = self.0;
        for lane in &mut lanes {
            *lane = f(*lane);
        }
        Self(lanes)
    }

    #[inline(always)]
    fn with(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        let mut lanes = self.0;
        for i in 0..LANES {
            lanes[i] = f(lanes[i], other.0[i]);
        }
        Self(lanes)
    }

    /// `self * factor + term`.
    #[inline(always)]
    pub fn times_plus<const FMA: bool>(self, factor: Self, term: Self) -> Self {
        let mut lanes = self.0;
        for i in 0..LANES {
            lanes[i] =
                if FMA { lanes[i].mul_add(factor.0[i], term.0[i]) } else { lanes[i] * factor.0[i] + term.0[i] };
        }
        Self(lanes)
    }

    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    pub fn abs(self) -> Self {
        self.each(f32::abs)
    }

    #[inline(always)]
    pub fn divided_by(self, other: Self) -> Self {
        self.with(other, |a, b| a / b)
    }

    #[inline(always)]
    pub fn sum(self) -> f32 {
        self.fold(|a, b| a + b)
    }

    #[inline(always)]
    pub fn highest(self) -> f32 {
        self.fold(|a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn fold(self, f: impl Fn(f32, f32) -> f32) -> f32 {
        let mut lanes = self.0;
        for width in [8, 4, 2, 1] {
            for i in 0..width {
                lanes[i] = f(lanes[i], lanes[i + width]);
            }
        }
        lanes[0]
    }

    /// `e` to the power of each, to seven digits, for what lies between -87 and 88.
    #[inline(always)]
    pub fn exp<const FMA: bool>(self) -> Self {
        let x = self.max(Self::splat(-87.0)).min(Self::splat(88.0));
        let shifted = x.times_plus::<FMA>(Self::splat(std::f32::consts::LOG2_E), Self::splat(ROUNDER));
        let power = shifted - Self::splat(ROUNDER);
        let rest = power.times_plus::<FMA>(Self::splat(-LN_2_HIGH), x);
        let rest = power.times_plus::<FMA>(Self::splat(-LN_2_LOW), rest);
        let mut series = Self::splat(1.0 / 720.0);
        for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            series = series.times_plus::<FMA>(rest, Self::splat(coefficient));
        }
        // The low bits of `shifted` are the power of two: added to the exponent, they multiply by it.
        let mut lanes = series.0;
        for i in 0..LANES {
            lanes[i] = f32::from_bits(lanes[i].to_bits().wrapping_add(shifted.0[i].to_bits() << 23));
        }
        Self(lanes)
    }

    /// Each times `factor`, rounded to the nearest whole number plus `offset`, in the low bits of the result: the
    /// sum is so large that a float has no bit left for a fraction.
    #[inline(always)]
    pub fn rounded<const FMA: bool>(self, factor: Self, offset: f32) -> Self {
        self.times_plus::<FMA>(factor, Self::splat(ROUNDER + offset))
    }
}

/// 1.5 · 2²³.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts, the first with few enough bits that a whole number times it is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

impl Add for Floats {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for Floats {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
}

impl Mul for Floats {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }
}
