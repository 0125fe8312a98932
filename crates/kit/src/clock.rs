//! The one source of wall-clock time. Services hold a [`Clock`]; tests hold one that they move.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Milliseconds since 1970, from the system or from a test.
#[derive(Clone, Default)]
pub struct Clock {
    fixed: Option<Arc<AtomicI64>>,
}

impl Clock {
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that stands still until [`Clock::advance`] moves it.
    pub fn fixed(now_ms: i64) -> Self {
        Self { fixed: Some(Arc::new(AtomicI64::new(now_ms))) }
    }

    pub fn now_ms(&self) -> i64 {
        match &self.fixed {
            Some(fixed) => fixed.load(Ordering::Relaxed),
            None => system_ms(),
        }
    }

    /// Moves a fixed clock, and all its clones, forward. The system's clock stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Some(fixed) = &self.fixed {
            fixed.fetch_add(by.as_millis() as i64, Ordering::Relaxed);
        }
    }
}

/// `2026-11-15T02:17:41.250Z`
pub fn iso8601(ms: i64) -> String {
    chrono::DateTime::from_timestamp_millis(ms)
        .unwrap_or_default()
        .to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system")]
fn system_ms() -> i64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_epoch.map(|elapsed| elapsed.as_millis() as i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_when_told_and_with_its_clones() {
        let clock = Clock::fixed(1_000);
        let clone = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!((clock.now_ms(), clone.now_ms()), (3_000, 3_000));
    }

    #[test]
    fn the_system_clock_is_past_2026() {
        assert!(Clock::system().now_ms() > 1_767_225_600_000);
    }

    #[test]
    fn iso8601_has_milliseconds_and_z() {
        assert_eq!(iso8601(1_794_709_061_250), "2026-11-15T02:17:41.250Z");
    }
}
