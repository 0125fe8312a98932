//! Sixteen floats for any processor.

use super::{Floats, LANES};

#[derive(Clone, Copy)]
pub(crate) struct Vector([f32; LANES]);

impl Vector {
    #[inline(always)]
    fn with(mut self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(lane, other)| *lane = f(*lane, other));
        self
    }
}

impl Floats for Vector {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn load(values: &[f32]) -> Self {
        let mut lanes = [0.0; LANES];
        lanes.copy_from_slice(&values[..LANES]);
        Self(lanes)
    }

    #[inline(always)]
    fn from_integers(values: &[i32]) -> Self {
        let mut lanes = [0.0; LANES];
        lanes.iter_mut().zip(&values[..LANES]).for_each(|(lane, value)| *lane = *value as f32);
        Self(lanes)
    }

    #[inline(always)]
    fn load_bits(values: &[i32]) -> Self {
        let mut lanes = [0.0; LANES];
        lanes.iter_mut().zip(&values[..LANES]).for_each(|(lane, bits)| *lane = f32::from_bits(*bits as u32));
        Self(lanes)
    }

    #[inline(always)]
    fn store_bits(self, values: &mut [i32]) {
        values[..LANES].iter_mut().zip(self.0).for_each(|(bits, lane)| *bits = lane.to_bits() as i32);
    }

    #[inline(always)]
    fn store(self, values: &mut [f32]) {
        values[..LANES].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn store_low_bytes(self, bytes: &mut [u8]) {
        bytes[..LANES].iter_mut().zip(self.0).for_each(|(byte, lane)| *byte = lane.to_bits() as u8);
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }

    #[inline(always)]
    fn divided_by(self, other: Self) -> Self {
        self.with(other, |a, b| a / b)
    }

    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        self.times(factor).plus(term)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn max_integers(self, other: Self) -> Self {
        self.with(other, |a, b| f32::from_bits((a.to_bits() as i32).max(b.to_bits() as i32) as u32))
    }

    #[inline(always)]
    fn numbers(self) -> Self {
        Self(self.0.map(|lane| lane.to_bits() as i32 as f32))
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.with(self, |a, _| a.abs())
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        self.0.iter().sum()
    }

    #[inline(always)]
    fn highest(self) -> f32 {
        self.0.iter().copied().fold(f32::NEG_INFINITY, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn times_power(self, rounded: Self) -> Self {
        self.with(rounded, |lane, power| f32::from_bits(lane.to_bits().wrapping_add(power.to_bits() << 23)))
    }
}
