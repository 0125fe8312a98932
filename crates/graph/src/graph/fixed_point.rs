//! Sums that do not depend on the order of addition, since documents come in the arbitrary order of their ids.

use std::iter::Sum;
use std::ops::AddAssign;

/// Units per 1. Whole numbers of units add up without rounding.
const PARTS: f64 = 16_777_216.0;

#[derive(Clone, Copy, Default)]
pub struct FixedPoint(i64);

impl FixedPoint {
    pub fn value(self) -> f32 {
        (self.0 as f64 / PARTS) as f32
    }
}

impl From<f32> for FixedPoint {
    fn from(value: f32) -> Self {
        Self((f64::from(value) * PARTS).round() as i64)
    }
}

impl AddAssign<f32> for FixedPoint {
    fn add_assign(&mut self, value: f32) {
        self.0 = self.0.saturating_add(Self::from(value).0);
    }
}

impl Sum<f32> for FixedPoint {
    fn sum<I: Iterator<Item = f32>>(values: I) -> Self {
        let mut sum = Self::default();
        values.for_each(|value| sum += value);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_gives_the_same_sum() {
        let values: Vec<f32> = (1..1000).map(|n| 1.0 / n as f32).collect();
        let forth: FixedPoint = values.iter().copied().sum();
        let back: FixedPoint = values.iter().rev().copied().sum();
        assert_eq!(forth.value(), back.value());
        assert!((forth.value() - 7.484_470_6).abs() < 1e-4);
    }
}
