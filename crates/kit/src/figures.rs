//! How many requests a listener has answered, how many of them failed, and how long the answers took: small sums that can be
//! stored and added up over processes. Operators have more in `metrics`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Ranges of time: bucket 0 is below 250 µs, each of the others is twice as long as the one before, the last has no end.
pub const BUCKETS: usize = 20;
const FIRST_MICROS: u64 = 250;

/// The counters of one listener.
#[derive(Default)]
pub struct Figures {
    errors: AtomicU64,
    times: [AtomicU64; BUCKETS],
}

/// What was counted in a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Answers with a status of 500 and above.
    pub errors: i64,
    /// Answers in each bucket, by the time until they began.
    pub times: [i64; BUCKETS],
}

impl Figures {
    /// Counts an answer that begins after this time. The length of a stream of events says nothing.
    pub fn record(&self, status: u16, elapsed: Duration) {
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let doublings = u64::BITS - (micros / FIRST_MICROS).leading_zeros();
        self.times[(doublings as usize).min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
        if status >= 500 {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns what was counted since the last call.
    pub fn take(&self) -> Sums {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed) as i64;
        Sums { errors: take(&self.errors), times: std::array::from_fn(|bucket| take(&self.times[bucket])) }
    }
}

impl Sums {
    pub fn requests(&self) -> i64 {
        self.times.iter().sum()
    }

    pub fn add(&mut self, other: &Self) {
        self.errors += other.errors;
        self.times.iter_mut().zip(other.times).for_each(|(own, other)| *own += other);
    }

    /// Returns the time in milliseconds within which this share of the answers began; none if there was no answer. Within
    /// a bucket the answers count as evenly spread.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let total = self.requests();
        if total <= 0 {
            return None;
        }
        let wanted = (total as f64 * share).max(1.0);
        let mut below = 0.0;
        for (bucket, count) in self.times.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if below + count >= wanted {
                let (start, end) = range(bucket);
                return Some(start + (end - start) * (wanted - below) / count);
            }
            below += count;
        }
        None
    }
}

/// Returns where a bucket begins and ends, in milliseconds. The last one counts as ending like the others.
fn range(bucket: usize) -> (f64, f64) {
    let end = FIRST_MICROS as f64 / 1000.0 * f64::from(1_u32 << bucket);
    (if bucket == 0 { 0.0 } else { end / 2.0 }, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(micros: &[u64]) -> Sums {
        let figures = Figures::default();
        micros.iter().for_each(|micros| figures.record(200, Duration::from_micros(*micros)));
        figures.take()
    }

    #[test]
    fn an_answer_is_counted_once_in_the_bucket_of_its_time() {
        for (micros, bucket) in
            [(0, 0), (249, 0), (250, 1), (499, 1), (500, 2), (1_000, 3), (60_000_000, 18), (u64::MAX, 19)]
        {
            let times = sums(&[micros]).times;
            assert_eq!(times.iter().position(|count| *count == 1), Some(bucket), "{micros}");
        }
        let figures = Figures::default();
        figures.record(499, Duration::ZERO);
        figures.record(500, Duration::ZERO);
        assert_eq!((figures.take().errors, figures.take()), (1, Sums::default()));
    }

    #[test]
    fn quantiles_lie_in_their_bucket() {
        assert_eq!(Sums::default().quantile(0.5), None);
        let mut many = sums(&[&[300; 98][..], &[10_000, 10_000]].concat());
        let p50 = many.quantile(0.5).unwrap();
        assert!((0.25..=0.5).contains(&p50), "{p50}");
        let p99 = many.quantile(0.99).unwrap();
        assert!((8.0..=16.0).contains(&p99), "{p99}");
        many.add(&sums(&[100_000; 200]));
        assert!(many.quantile(0.5).unwrap() > 60.0);
    }
}
