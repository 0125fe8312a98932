//! Tar archives, also packed with gzip.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::members::Members;
use super::{SkipReason, too_large};
use crate::{Excess, ExtractError, Kind};

pub(super) fn unpack(bytes: &[u8], members: &mut Members) -> Result<(), ExtractError> {
    match bytes.starts_with(b"\x1f\x8b") {
        true => {
            let left = members.total().saturating_mul(2);
            entries(Bounded { inner: MultiGzDecoder::new(bytes), left }, members)
        }
        false => entries(bytes, members),
    }
}

fn entries(packed: impl Read, members: &mut Members) -> Result<(), ExtractError> {
    let total = members.total();
    let fault = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => too_large(Excess::BytesUnpacked, total),
        _ => ExtractError::damaged(Kind::Archive, error),
    };
    let mut archive = tar::Archive::new(packed);
    for entry in archive.entries().map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        let Some(path) = members.place(&entry.path_bytes())? else { continue };
        match kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
            true => members.add(path, entry)?,
            false => members.skip(path, SkipReason::NotAFile),
        }
    }
    Ok(())
}

/// Fails after a number of bytes: members that are skipped cost time too.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(count)
    }
}
