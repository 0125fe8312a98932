//! The bytes of a GGUF file: an open file that is read at positions, or memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::ModelError;

#[derive(Debug)]
pub enum Source {
    File { file: File, path: PathBuf, len: u64 },
    Memory(Vec<u8>),
}

impl Source {
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let open = || {
            let file = File::open(path)?;
            let len = file.metadata()?.len();
            Ok(Self::File { file, path: path.to_owned(), len })
        };
        open().map_err(|source| ModelError::Read { path: path.to_owned(), source })
    }

    pub fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads exactly `len` bytes from `position`.
    pub fn read(&self, position: u64, len: usize) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        self.append(position, len, &mut bytes)?;
        Ok(bytes)
    }

    /// Like [`Self::read`], but appends to `bytes`.
    pub fn append(&self, position: u64, len: usize, bytes: &mut Vec<u8>) -> Result<(), ModelError> {
        let end = position.checked_add(len as u64).filter(|end| *end <= self.len());
        let Some(end) = end else {
            return Err(ModelError::malformed(format!(
                "{len} bytes expected at {position}, but the file ends at {}",
                self.len()
            )));
        };
        match self {
            Self::Memory(all) => bytes.extend_from_slice(&all[position as usize..end as usize]),
            Self::File { file, path, .. } => {
                let filled = bytes.len();
                bytes.resize(filled + len, 0);
                file.read_exact_at(&mut bytes[filled..], position)
                    .map_err(|source| ModelError::Read { path: path.clone(), source })?;
            }
        }
        Ok(())
    }
}
