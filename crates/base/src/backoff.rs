//! Retry with backoff: how long to wait after a failure.

use crate::Random;
use std::time::Duration;

/// Pauses that double with each failure, up to a longest one. Half of a pause is random, so that callers that failed
/// together do not all retry together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest pause after the first failure.
    pub first: Duration,
    /// The longest pause after any failure.
    pub longest: Duration,
}

impl Backoff {
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// Returns the pause after `failures` failures in a row, counted from 1.
    pub fn pause(&self, failures: i64, random: &Random) -> Duration {
        self.at(failures, random.fraction())
    }

    fn at(&self, failures: i64, fraction: f64) -> Duration {
        const MOST_DOUBLINGS: i64 = 20;
        let doublings = failures.saturating_sub(1).clamp(0, MOST_DOUBLINGS);
        let whole = self.first.saturating_mul(1 << doublings).min(self.longest);
        whole.mul_f64(0.5 + fraction / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_the_longest_and_half_of_it_is_random() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(600));
        let ms = |failures, fraction| backoff.at(failures, fraction).as_millis();
        assert_eq!((ms(1, 0.0), ms(1, 0.998)), (500, 999));
        assert_eq!((ms(4, 0.0), ms(4, 0.5)), (4_000, 6_000));
        assert_eq!((ms(60, 0.0), ms(i64::MAX, 0.0)), (300_000, 300_000));
        assert_eq!((ms(0, 0.0), ms(i64::MIN, 0.0)), (500, 500));
    }
}
