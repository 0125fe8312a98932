//! Writes the members of an archive to numbered files, and counts them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::path::{self, Place};
use super::{ArchiveLimits, Member, SkipReason, Skipped, Unpacked, too_large};
use crate::{Excess, ExtractError, Kind, detect};

/// Entries of any kind, also directories and hidden files. More of them are an attack.
const MOST_ENTRIES: usize = 100_000;
/// Entries that are told to be skipped. The others are skipped without a word.
const MAX_SKIPPED: usize = 2_000;

pub(super) struct Members<'a> {
    into: &'a Path,
    limits: &'a ArchiveLimits,
    unpacked: Unpacked,
    entries: usize,
    /// Bytes that may still be written, of how many.
    left: u64,
    total: u64,
}

impl<'a> Members<'a> {
    pub fn new(into: &'a Path, limits: &'a ArchiveLimits, total: u64) -> Self {
        Self { into, limits, unpacked: Unpacked::default(), entries: 0, left: total, total }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Counts an entry, and returns its place if it is to be unpacked.
    pub fn place(&mut self, name: &[u8]) -> Result<Option<String>, ExtractError> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(too_large(Excess::FilesInside, MOST_ENTRIES as u64));
        }
        match path::place(name) {
            Place::Good(path) => Ok(Some(path)),
            Place::Hidden(path) => {
                self.skip(path, SkipReason::Hidden);
                Ok(None)
            }
            Place::Bad(path) => {
                self.skip(path, SkipReason::BadPath);
                Ok(None)
            }
            Place::Nowhere => Ok(None),
        }
    }

    pub fn skip(&mut self, path: String, reason: SkipReason) {
        if self.unpacked.skipped.len() < MAX_SKIPPED {
            self.unpacked.skipped.push(Skipped { path, reason });
        }
    }

    /// Writes a member. Errors of its content skip the member; errors of the disk end the unpacking.
    pub fn add(&mut self, path: String, content: impl Read) -> Result<(), ExtractError> {
        if self.unpacked.members.len() >= self.limits.members {
            return Err(too_large(Excess::FilesInside, self.limits.members as u64));
        }
        let file = self.into.join((self.unpacked.members.len() + 1).to_string());
        let most = self.limits.member_bytes.min(self.left);
        match self.write(&file, content.take(most + 1)) {
            Ok(0) => self.drop_file(&file, path, SkipReason::Empty),
            Ok(size) if size > self.left => {
                let _ = fs::remove_file(&file);
                Err(too_large(Excess::BytesUnpacked, self.total))
            }
            Ok(size) if size > self.limits.member_bytes => {
                self.left -= size;
                self.drop_file(&file, path, SkipReason::TooLarge { limit: self.limits.member_bytes })
            }
            Ok(size) => {
                self.left -= size;
                if is_archive(&path, &file).map_err(|error| disk(&error))? {
                    return self.drop_file(&file, path, SkipReason::NestedArchive);
                }
                self.unpacked.members.push(Member { path, file, size });
                Ok(())
            }
            Err(Fault::Disk(error)) => {
                let _ = fs::remove_file(&file);
                Err(disk(&error))
            }
            Err(Fault::Content(error)) if error.kind() == io::ErrorKind::FileTooLarge => {
                let _ = fs::remove_file(&file);
                Err(too_large(Excess::BytesUnpacked, self.total))
            }
            Err(Fault::Content(error)) => self.drop_file(&file, path, SkipReason::Damaged(error.to_string())),
        }
    }

    pub fn finish(self) -> Unpacked {
        self.unpacked
    }

    /// Removes all files that were written.
    pub fn remove(&self) {
        for member in &self.unpacked.members {
            let _ = fs::remove_file(&member.file);
        }
    }

    /// Returns how many bytes were written.
    fn write(&self, file: &Path, mut content: impl Read) -> Result<u64, Fault> {
        let mut file = File::options().write(true).create_new(true).open(file).map_err(Fault::Disk)?;
        let mut buffer = vec![0; 64 * 1024];
        let mut written = 0;
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => return Ok(written),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Fault::Content(error)),
            };
            file.write_all(&buffer[..count]).map_err(Fault::Disk)?;
            written += count as u64;
        }
    }

    fn drop_file(&mut self, file: &PathBuf, path: String, reason: SkipReason) -> Result<(), ExtractError> {
        fs::remove_file(file).map_err(|error| disk(&error))?;
        self.skip(path, reason);
        Ok(())
    }
}

enum Fault {
    Disk(io::Error),
    Content(io::Error),
}

/// Not caused by the archive: the same one may be unpacked later.
fn disk(error: &io::Error) -> ExtractError {
    ExtractError::Worker(format!("the files of an archive cannot be written: {error}"))
}

/// Returns whether a member is itself an archive. Office files and books are archives by their format only.
fn is_archive(path: &str, file: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(file)?.take(512).read_to_end(&mut start)?;
    let may_be =
        start.starts_with(b"PK") || start.starts_with(b"\x1f\x8b") || start.get(257..262) == Some(b"ustar");
    Ok(may_be && detect(path, &fs::read(file)?) == Ok(Kind::Archive))
}
