//! For tests that try many cases, the same in every run: broken versions of a file for parsers (`STOA_FUZZ=100` makes a
//! hundred times as many), and seeds for simulations.

use std::ops::Range;

/// Calls `read` with `count` versions of a file, each with a few bytes, numbers or stretches changed. Returns how many there
/// were.
pub fn mutations(original: &[u8], count: u64, mut read: impl FnMut(Vec<u8>)) -> u64 {
    let count = count * setting("STOA_FUZZ").unwrap_or(1);
    for seed in 0..count {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut bytes = original.to_vec();
        for _ in 0..=random.below(4) {
            mutate(&mut bytes, &mut random);
        }
        read(bytes);
    }
    count
}

/// Returns the seeds that a simulation tries: `usual` many, `STOA_SEEDS` many, or the one in `STOA_SEED`.
pub fn seeds(usual: u64) -> Range<u64> {
    match setting("STOA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("STOA_SEEDS").unwrap_or(usual),
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no configuration to ask")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Calls `read` with every proper prefix of a file.
pub fn prefixes(original: &[u8], read: impl FnMut(Vec<u8>)) {
    (0..original.len()).map(|len| original[..len].to_vec()).for_each(read);
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes.truncate(at),
        3 => {
            let end = (at + random.below(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => {
            let number = [0, 1, u64::MAX, 1 << 63, 1 << 32, random.next() >> 40][random.below(6)];
            for (byte, new) in bytes[at..].iter_mut().zip(number.to_le_bytes()) {
                *byte = new;
            }
        }
        _ => {
            let end = (at + random.below(24)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit
    }
}
