//! Sums that do not depend on the order: documents come in the order of their ids, and those say nothing.

use std::iter::Sum;
use std::ops::AddAssign;

/// So many parts make 1; whole numbers of them add up without rounding.
const PARTS: f64 = 16_777_216.0;

#[derive(Clone, Copy, Default)]
pub struct Exact(i64);

impl Exact {
    pub fn value(self) -> f32 {
        (self.0 as f64 / PARTS) as f32
    }
}

impl From<f32> for Exact {
    fn from(value: f32) -> Self {
        Self((f64::from(value) * PARTS).round() as i64)
    }
}

impl AddAssign<f32> for Exact {
    fn add_assign(&mut self, value: f32) {
        self.0 = self.0.saturating_add(Self::from(value).0);
    }
}

impl Sum<f32> for Exact {
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
        let forth: Exact = values.iter().copied().sum();
        let back: Exact = values.iter().rev().copied().sum();
        assert_eq!(forth.value(), back.value());
        assert!((forth.value() - 7.484_470_6).abs() < 1e-4);
    }
}
