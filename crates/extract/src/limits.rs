//! What one file may cost.

use std::time::Duration;

use serde::{Deserialize, Serialize};

const MIB: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// For a small file; a large one has `seconds_per_mib` more for each mebibyte, up to `most_seconds`.
    pub seconds: u64,
    pub seconds_per_mib: u64,
    pub most_seconds: u64,
    /// Of extracted text.
    pub characters: usize,
    /// Bytes of address space that a child process may take on top of what it starts with.
    pub memory: u64,
    /// Files inside an archive.
    pub entries: usize,
    /// Bytes that an archive may unpack to, in all.
    pub unpacked: usize,
    /// The same for each byte of the archive. An honest archive of a few kilobytes may pass it.
    pub expansion: usize,
    pub cells: usize,
    pub pages: usize,
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
        }
    }
}

impl Limits {
    /// How long a file of this many bytes may take.
    pub fn time(&self, bytes: usize) -> Duration {
        let seconds = self.seconds + self.seconds_per_mib * (bytes / MIB) as u64;
        Duration::from_secs(seconds.min(self.most_seconds.max(self.seconds)))
    }

    /// How many bytes an archive of this many may unpack to.
    pub(crate) fn unpacked_from(&self, bytes: usize) -> usize {
        bytes.saturating_mul(self.expansion).max(16 * MIB).min(self.unpacked)
    }
}
