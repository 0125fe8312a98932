//! The limits on time, memory and size for one file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

const MIB: usize = 1 << 20;
/// Enough memory for a large file.
const ENOUGH: u64 = 512 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// For a small file. A large one gets `seconds_per_mib` more for each mebibyte, up to `most_seconds`.
    pub seconds: u64,
    pub seconds_per_mib: u64,
    pub most_seconds: u64,
    /// Characters of extracted text.
    pub characters: usize,
    /// Bytes of memory that a child process may use, and as much again for a program that it starts.
    pub memory: u64,
    /// Files inside an archive.
    pub entries: usize,
    /// Bytes that an archive may unpack to, in all.
    pub unpacked: usize,
    /// Bytes that each byte of an archive may unpack to. A small archive may exceed it.
    pub expansion: usize,
    pub cells: usize,
    pub pages: usize,
    pub ocr: Ocr,
}

/// How text in pictures is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ocr {
    /// As `tesseract` names them: `eng`, or `eng+deu` for text in both.
    pub languages: String,
    /// Pages of one file that are recognised.
    pub pages: usize,
    pub seconds_per_page: u64,
}

impl Default for Ocr {
    fn default() -> Self {
        Self { languages: "eng".to_owned(), pages: 500, seconds_per_page: 60 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            seconds: 60,
            seconds_per_mib: 10,
            most_seconds: 300,
            characters: 20_000_000,
            memory: 1 << 30,
            entries: 20_000,
            unpacked: 256 * MIB,
            expansion: 200,
            cells: 2_000_000,
            pages: 10_000,
            ocr: Ocr::default(),
        }
    }
}

impl Limits {
    /// Returns limits under which all children together use at most `budget` bytes, and the number of children: one
    /// per core if each gets enough for a large file.
    pub fn within(budget: u64, cores: usize) -> (usize, Self) {
        let children = cores.min((budget / ENOUGH) as usize).max(1);
        let memory = (budget / children as u64).min(1 << 30);
        (children, Self { memory, ..Self::default() })
    }

    /// Returns how long a file of this many bytes may take.
    pub fn time(&self, bytes: usize) -> Duration {
        let seconds = self.seconds + self.seconds_per_mib * (bytes / MIB) as u64;
        Duration::from_secs(seconds.min(self.most_seconds.max(self.seconds)))
    }

    /// Returns how many bytes an archive of this many may unpack to.
    pub(crate) fn unpacked_from(&self, bytes: usize) -> usize {
        bytes.saturating_mul(self.expansion).max(16 * MIB).min(self.unpacked)
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn children_at_once_stay_within_the_budget() {
        const GIB: u64 = 1 << 30;
        for (budget, cores, children, memory) in [
            (2 * GIB, 2, 2, GIB),
            (2 * GIB, 1, 1, GIB),
            (2 * GIB, 3, 3, 2 * GIB / 3),
            (2 * GIB, 64, 4, GIB / 2),
            (GIB / 4, 8, 1, GIB / 4),
            (64 * GIB, 8, 8, GIB),
        ] {
            let (number, limits) = Limits::within(budget, cores);
            assert_eq!((number, limits.memory), (children, memory), "{budget} {cores}");
            assert!(number as u64 * limits.memory <= budget);
        }
    }
}
