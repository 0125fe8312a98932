//! Archives: unpacks the files inside into a directory, within limits. The files are named by number, so no name in
//! an archive ever becomes a name on the disk.

mod members;
mod path;
mod tarball;
mod zipped;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Excess, ExtractError, Kind};
use members::Members;

/// How much an archive may hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveLimits {
    /// Files that are unpacked.
    pub members: usize,
    /// Bytes of one file. A larger one is skipped.
    pub member_bytes: u64,
    /// Bytes of all files together.
    pub total_bytes: u64,
    /// Bytes that each byte of the archive may unpack to. A small archive may exceed it.
    pub expansion: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { members: 10_000, member_bytes: 100 << 20, total_bytes: 2 << 30, expansion: 200 }
    }
}

impl ArchiveLimits {
    /// Returns how many bytes an archive of this many may unpack to.
    fn unpacked_from(&self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(self.expansion).max(SMALL).min(self.total_bytes)
    }
}

/// An archive may always unpack to this many bytes.
const SMALL: u64 = 16 << 20;

/// What was unpacked from an archive, in its order, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpacked {
    pub members: Vec<Member>,
    pub skipped: Vec<Skipped>,
}

/// A file that was unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its place in the archive: relative, with slashes, without `..`.
    pub path: String,
    /// Where its bytes are now.
    pub file: PathBuf,
    pub size: u64,
}

/// An entry of an archive that was not unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    pub path: String,
    pub reason: SkipReason,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkipReason {
    /// Files of systems and programs, which users do not see.
    Hidden,
    Empty,
    /// A link, a device or a pipe.
    NotAFile,
    /// A path that leads out of the archive, or is too long.
    BadPath,
    Encrypted,
    NestedArchive,
    TooLarge {
        limit: u64,
    },
    Damaged(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hidden => f.write_str("it is a hidden file"),
            Self::Empty => f.write_str("it is empty"),
            Self::NotAFile => f.write_str("it is a link or a device, not a file"),
            Self::BadPath => f.write_str("its path leads out of the archive or is too long"),
            Self::Encrypted => f.write_str("it is encrypted: remove the password and upload it again"),
            Self::NestedArchive => f.write_str("it is an archive inside an archive: upload it on its own"),
            Self::TooLarge { limit } => write!(f, "it has more than {limit} bytes"),
            Self::Damaged(reason) => write!(f, "it is damaged: {reason}"),
        }
    }
}

/// Unpacks an archive into an existing directory, in this process. See `Extractor::unpack` for untrusted files. If
/// it fails, the files that it wrote are removed again.
pub fn unpack(bytes: &[u8], into: &Path, limits: &ArchiveLimits) -> Result<Unpacked, ExtractError> {
    let mut members = Members::new(into, limits, limits.unpacked_from(bytes.len()));
    let unpacked = match bytes.starts_with(b"PK") {
        true => zipped::unpack(bytes, &mut members),
        false => tarball::unpack(bytes, &mut members),
    };
    match unpacked {
        Ok(()) => Ok(members.finish()),
        Err(error) => {
            members.remove();
            Err(error)
        }
    }
}

fn too_large(what: Excess, limit: u64) -> ExtractError {
    ExtractError::TooLarge { kind: Kind::Archive, what, limit }
}
