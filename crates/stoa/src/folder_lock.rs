//! One process serves from a data folder: a second one would write over its `listen.json` and share its temporary files.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// The folder is ours until this is dropped, or the process ends in whatever way.
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    pub fn take(folder: &Path) -> Result<Self, String> {
        let path = folder.join("stoa.lock");
        let failed = |error: std::io::Error| format!("cannot lock {}: {error}", path.display());
        let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => write_number(&mut file).map_err(failed)?,
            Err(TryLockError::WouldBlock) => return Err(taken(folder, &mut file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
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
    // The other may just be writing it.
    let _ = file.read_to_string(&mut number);
    let process = match number.trim() {
        "" => String::new(),
        number => format!(" (process {number})"),
    };
    format!(
        "another stoa{process} serves from the data folder {}: stop it, or give this one a STOA_DATA_DIR of its own; \
         several share their data by DATABASE_URL and OBJECT_STORE_URL, see docs/scaling.md",
        folder.display()
    )
}
