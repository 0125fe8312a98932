//! The only source of randomness: ids, salts, secrets, jitter. Tests seed it.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

use crate::Clock;

/// Bits of a sortable id for the order within a millisecond.
const TICK_BITS: u32 = 12;

/// A cryptographically secure generator, or one with a fixed seed for tests.
#[derive(Clone, Default)]
pub struct Random {
    seeded: Option<Arc<Mutex<StdRng>>>,
    /// The time of the last sortable id, and its number within the millisecond.
    last_tick: Arc<Mutex<u64>>,
}

impl Random {
    pub fn system() -> Self {
        Self::default()
    }

    /// Returns a generator whose output depends only on the seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seeded: Some(Arc::new(Mutex::new(StdRng::seed_from_u64(seed)))), ..Self::default() }
    }

    #[expect(clippy::disallowed_methods, reason = "only this function uses the system's generator")]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        match &self.seeded {
            Some(seeded) => seeded.lock().unwrap_or_else(PoisonError::into_inner).random(),
            None => rand::rng().random(),
        }
    }

    /// Returns a number from 0 (included) to 1 (excluded).
    pub fn fraction(&self) -> f64 {
        let bits = u64::from_le_bytes(self.bytes()) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }

    pub fn uuid_v4(&self) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid()
    }

    /// Returns an id that sorts by its time, and after every earlier id of this generator.
    pub fn uuid_v7(&self, clock: &Clock) -> Uuid {
        let tick = self.next_tick(clock);
        let [.., high, low] = tick.to_be_bytes();
        let mut bytes: [u8; 10] = self.bytes();
        bytes[..2].copy_from_slice(&[high & 0x0f, low]);
        uuid::Builder::from_unix_timestamp_millis(tick >> TICK_BITS, &bytes).into_uuid()
    }

    fn next_tick(&self, clock: &Clock) -> u64 {
        let mut last = self.last_tick.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (clock.now_ms().unsigned_abs() << TICK_BITS).max(*last + 1);
        *last
    }

    /// Returns 2 × `N` random hexadecimal digits.
    pub fn hex<const N: usize>(&self) -> String {
        hex(&self.bytes::<N>())
    }
}

/// Encodes bytes as hexadecimal digits in lower case.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let pairs =
        bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    pairs.map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_output() {
        let (one, other) = (Random::seeded(7), Random::seeded(7));
        assert_eq!(one.uuid_v4(), other.uuid_v4());
        assert_eq!(one.hex::<16>(), other.hex::<16>());
        assert_ne!(one.uuid_v4(), one.uuid_v4());
    }

    #[test]
    fn ids_have_their_version() {
        let random = Random::system();
        assert_eq!(random.uuid_v4().get_version_num(), 4);
        assert_eq!(random.uuid_v7(&Clock::fixed(1_794_709_061_250)).get_version_num(), 7);
    }

    #[test]
    fn version_7_sorts_by_time() {
        let (random, clock) = (Random::system(), Clock::fixed(1_794_709_061_250));
        let earlier = random.uuid_v7(&clock);
        clock.advance(std::time::Duration::from_millis(1));
        assert!(earlier < random.uuid_v7(&clock));
    }

    #[test]
    fn version_7_sorts_within_a_millisecond_and_when_the_clock_goes_back() {
        let random = Random::system();
        let (now, earlier) = (Clock::fixed(1_794_709_061_250), Clock::fixed(1_794_709_061_000));
        let ids: Vec<Uuid> =
            (0..10_000).map(|n| random.uuid_v7(if n < 5_000 { &now } else { &earlier })).collect();
        assert!(ids.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn fractions_stay_below_one() {
        let random = Random::seeded(1);
        assert!((0..1_000).map(|_| random.fraction()).all(|fraction| (0.0..1.0).contains(&fraction)));
    }

    #[test]
    fn hex_is_lower_case_and_padded() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
