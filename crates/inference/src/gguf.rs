//! Reads GGUF files, versions 2 and 3: metadata and tensor directory at once, weights on demand. The file is
//! untrusted: every length is compared with the file's before anything of that size is allocated.

mod directory;
mod header;
mod metadata;
mod source;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use crate::ModelError;
pub use directory::Tensor;
use directory::Tensors;
use header::Header;
use metadata::Metadata;
use source::Source;

const MAGIC: &[u8] = b"GGUF";
const DEFAULT_ALIGNMENT: u32 = 32;
/// The largest models in use have a few thousand. Each entry takes more memory than it does in the file.
const MAX_ENTRIES: u64 = 1 << 16;

/// An open GGUF file.
#[derive(Debug)]
pub struct Gguf {
    source: Source,
    metadata: Metadata,
    tensors: HashMap<String, Tensor>,
}

impl Gguf {
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        Self::read(Source::open(path)?)
    }

    /// The same for a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ModelError> {
        Self::read(Source::Memory(bytes))
    }

    fn read(source: Source) -> Result<Self, ModelError> {
        let mut header = Header::new(&source);
        let counts = Counts::read(&mut header)?;
        let entries = metadata::read_entries(&mut header, counts.metadata)?;
        let mut tensors = Tensors::read(&mut header, counts.tensors)?;
        let header_end = header.position();
        let metadata = Metadata::new(header.into_bytes(), entries);

        let alignment = metadata.u32("general.alignment")?.unwrap_or(DEFAULT_ALIGNMENT);
        tensors.place(header_end, alignment, source.len())?;
        Ok(Self { metadata, tensors: tensors.by_name, source })
    }

    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    pub fn required_tensor(&self, name: &str) -> Result<&Tensor, ModelError> {
        self.tensor(name).ok_or_else(|| ModelError::malformed(format!("no tensor `{name}`")))
    }

    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.values()
    }

    /// Returns the stored bytes of a range of a tensor's rows, `row_bytes` for each.
    pub fn read_rows(&self, tensor: &Tensor, rows: Range<usize>) -> Result<Vec<u8>, ModelError> {
        if rows.start > rows.end || rows.end > tensor.rows {
            return Err(ModelError::malformed(format!(
                "tensor `{}` has {} rows, not rows {} to {}",
                tensor.name, tensor.rows, rows.start, rows.end
            )));
        }
        let row_bytes = tensor.row_bytes();
        self.source.read(tensor.position + (rows.start * row_bytes) as u64, rows.len() * row_bytes)
    }

    /// Returns `None` if the file has no such key, and an error if its value has another type.
    pub fn string(&self, key: &str) -> Result<Option<&str>, ModelError> {
        self.metadata.string(key)
    }

    /// Accepts any integer that fits.
    pub fn u32(&self, key: &str) -> Result<Option<u32>, ModelError> {
        self.metadata.u32(key)
    }

    pub fn f32(&self, key: &str) -> Result<Option<f32>, ModelError> {
        self.metadata.f32(key)
    }

    pub fn bool(&self, key: &str) -> Result<Option<bool>, ModelError> {
        self.metadata.bool(key)
    }

    pub fn strings(&self, key: &str) -> Result<Option<Vec<&str>>, ModelError> {
        self.metadata.strings(key)
    }

    pub fn f32s(&self, key: &str) -> Result<Option<Vec<f32>>, ModelError> {
        self.metadata.f32s(key)
    }

    pub fn u32s(&self, key: &str) -> Result<Option<Vec<u32>>, ModelError> {
        self.metadata.u32s(key)
    }

    pub fn i32s(&self, key: &str) -> Result<Option<Vec<i32>>, ModelError> {
        self.metadata.i32s(key)
    }

    pub fn required_string(&self, key: &str) -> Result<&str, ModelError> {
        required(key, self.string(key)?)
    }

    pub fn required_u32(&self, key: &str) -> Result<u32, ModelError> {
        required(key, self.u32(key)?)
    }

    pub fn required_f32(&self, key: &str) -> Result<f32, ModelError> {
        required(key, self.f32(key)?)
    }

    pub fn required_strings(&self, key: &str) -> Result<Vec<&str>, ModelError> {
        required(key, self.strings(key)?)
    }

    pub fn required_f32s(&self, key: &str) -> Result<Vec<f32>, ModelError> {
        required(key, self.f32s(key)?)
    }
}

fn required<T>(key: &str, value: Option<T>) -> Result<T, ModelError> {
    value.ok_or_else(|| ModelError::malformed(format!("no metadata `{key}`")))
}

struct Counts {
    tensors: u64,
    metadata: u64,
}

impl Counts {
    fn read(header: &mut Header) -> Result<Self, ModelError> {
        if header.take(4)? != MAGIC {
            return Err(ModelError::malformed("not a GGUF file: it does not begin with `GGUF`"));
        }
        let version = header.u32()?;
        if !matches!(version, 2 | 3) {
            return Err(ModelError::unsupported(format!(
                "GGUF version {version}: versions 2 and 3, little-endian, are read"
            )));
        }
        let counts = Self { tensors: header.u64()?, metadata: header.u64()? };
        if counts.tensors.max(counts.metadata) > MAX_ENTRIES {
            return Err(ModelError::malformed(format!(
                "{} tensors and {} metadata keys: at most {MAX_ENTRIES} of each are read",
                counts.tensors, counts.metadata
            )));
        }
        Ok(counts)
    }
}
