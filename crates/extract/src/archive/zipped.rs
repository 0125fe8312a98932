//! ZIP archives.

use std::io::Cursor;

use zip::ZipArchive;
use zip::result::ZipError;

use super::SkipReason;
use super::members::Members;
use crate::{ExtractError, Kind};

pub(super) fn unpack(bytes: &[u8], members: &mut Members) -> Result<(), ExtractError> {
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|error| ExtractError::damaged(Kind::Archive, error))?;
    for at in 0..archive.len() {
        // The raw entry opens without a password, and tells what it is.
        let entry = archive.by_index_raw(at).map_err(|error| ExtractError::damaged(Kind::Archive, error))?;
        let is_file = entry.unix_mode().is_none_or(|mode| matches!(mode & FILE_TYPE, 0 | REGULAR));
        let is_directory = entry.is_dir();
        let name = match std::str::from_utf8(entry.name_raw()) {
            // Many programs write UTF-8 and do not say so.
            Ok(name) => name.to_owned(),
            Err(_) => entry.name().map(|name| name.into_owned()).unwrap_or_default(),
        };
        drop(entry);
        if is_directory {
            continue;
        }
        let Some(path) = members.place(name.as_bytes())? else { continue };
        if !is_file {
            members.skip(path, SkipReason::NotAFile);
            continue;
        }
        match archive.by_index(at) {
            Ok(entry) => members.add(path, entry)?,
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                members.skip(path, SkipReason::Encrypted);
            }
            Err(error) => members.skip(path, SkipReason::Damaged(error.to_string())),
        }
    }
    Ok(())
}

/// The bits of a Unix mode that say what an entry is, and their value for a file.
const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
