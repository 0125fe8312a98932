//! The lock on the data folder: a second process would overwrite `listen.json` and share the temporary files.

use anyhow::{Context, Result, bail};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

pub const LOCK: &str = "stoa.lock";

/// Locks the folder until it is dropped or the process ends.
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK);
        let failed = || format!("cannot lock {}", path.display());
        let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.with_context(failed)?;
        match file.try_lock() {
            Ok(()) => write_number(&mut file).with_context(failed)?,
            Err(TryLockError::WouldBlock) => bail!(taken(folder, &mut file)),
            Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
        }
        Ok(Self { _file: file })
    }
}

fn write_number(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn taken(folder: &Path, file: &mut File) -> String {
    let mut number = String::new();
    // It may be empty: the other process is just writing it.
    let _ = file.read_to_string(&mut number);
    let process = match number.trim() {
        "" => String::new(),
        number => format!(" (process {number})"),
    };
    format!(
        "another stoa{process} serves from the data folder {}: stop it, or give this one a STOA_DATA_DIR of its own; \
         several processes share their data by DATABASE_URL and OBJECT_STORE_URL, see docs/scaling.md",
        folder.display()
    )
}
