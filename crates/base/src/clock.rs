//! The only source of wall-clock time, and the formats of times. Services hold a [`Clock`]; tests hold one that they move.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A clock in milliseconds since 1970: the system's, or one that a test sets.
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

    /// Sets a fixed clock, and all its clones, back. Does nothing to the system's clock.
    pub fn set_back(&self, by: Duration) {
        if let Some(fixed) = &self.fixed {
            fixed.fetch_sub(by.as_millis() as i64, Ordering::Relaxed);
        }
    }

    /// Moves a fixed clock, and all its clones, forward. Does nothing to the system's clock.
    pub fn advance(&self, by: Duration) {
        if let Some(fixed) = &self.fixed {
            fixed.fetch_add(by.as_millis() as i64, Ordering::Relaxed);
        }
    }
}

/// Formats a time as `2026-11-15T02:17:41.250Z`.
pub fn iso8601(ms: i64) -> String {
    chrono::DateTime::from_timestamp_millis(ms)
        .unwrap_or_default()
        .to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Parses a duration such as `250ms`, `30s`, `15m`, `1h`, `7d`; never zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wanted = || {
        format!(
            "`{text}` is not a time: expected a whole number and a unit, such as `250ms`, `30s`, `15m`, `1h`, `7d`"
        )
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok().filter(|number| *number > 0).ok_or_else(wanted)?;
    let unit_ms: u64 = match &text[digits..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wanted()),
    };
    let within_a_century = |ms: &u64| *ms <= 36_525 * 86_400_000;
    number.checked_mul(unit_ms).filter(within_a_century).map(Duration::from_millis).ok_or_else(wanted)
}

#[expect(clippy::disallowed_methods, reason = "only this function reads the system's clock")]
fn system_ms() -> i64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_epoch.map(|elapsed| elapsed.as_millis() as i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_by_advance_and_with_its_clones() {
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

    #[test]
    fn times_need_a_number_and_a_unit() {
        for (text, ms) in
            [("250ms", 250), ("30s", 30_000), ("15m", 900_000), ("1h", 3_600_000), ("7d", 604_800_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)));
        }
        for text in ["", "1", "h", "0s", "-1s", "1.5h", "1 h", "1y", "99999999999999999999s", "40000d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
