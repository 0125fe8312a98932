//! Packed weights: a model's matrices as the kernels read them, in one file that a start maps instead of packing the
//! weights again.
//!
//! It is a file of `arrays`, of which the first says what the file was made from. It is written under another name and
//! renamed, so it is whole or not there, and it is never changed in place. A file of another version, layout or model is
//! made anew.

use crate::ModelError;
use crate::arrays::{Array, ArrayReader, ArrayWriter, Damaged, Number};
use crate::kernel::Kernel;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process;
use std::time::UNIX_EPOCH;

/// Changes with what is packed and how.
const VERSION: u32 = 2;

pub(crate) type PackedWriter = ArrayWriter<BufWriter<File>>;

/// A model's weights, without what is quickly read from its own files.
pub(crate) trait Packed: Sized {
    fn write(&self, to: &mut PackedWriter) -> io::Result<()>;
    fn read(from: &mut PackedReader) -> Result<Self, ModelError>;
}

/// Opens the packed form of the model in `source`. If there is none, packs the model with `make` and writes it for the
/// next start; if that fails, for instance on a full disk, the model is used all the same.
pub(crate) fn load<M: Packed>(
    cache: Option<&Path>,
    name: &str,
    source: &Path,
    kernel: Kernel,
    make: impl FnOnce() -> Result<M, ModelError>,
) -> Result<M, ModelError> {
    let Some(cache) = cache else { return make() };
    let path = cache.join(format!("{name}.packed"));
    let stamp = stamp(source).map_err(|error| ModelError::Read { path: source.to_owned(), source: error })?;
    if let Some(mut reader) = PackedReader::open(&path, &stamp, kernel)
        && let Ok(model) = M::read(&mut reader)
    {
        return Ok(model);
    }
    let model = make()?;
    if let Ok(()) = write(&path, &stamp, &model)
        && let Some(mut reader) = PackedReader::open(&path, &stamp, kernel)
    {
        // From the file, weights are shared with other processes and need no memory of their own.
        return M::read(&mut reader);
    }
    Ok(model)
}

/// Returns what a packed file was made from: if the source's size or time has changed, it is made anew.
fn stamp(source: &Path) -> io::Result<String> {
    let metadata = fs::metadata(source)?;
    let changed = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(format!("stoa weights {VERSION}, from {} bytes of {}", metadata.len(), changed.as_nanos()))
}

fn write(path: &Path, stamp: &str, model: &impl Packed) -> io::Result<()> {
    let draft = path.with_extension(format!("draft-{}", process::id()));
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
        let mut writer = PackedWriter::new(BufWriter::new(File::create(&draft)?));
        writer.put(stamp.as_bytes())?;
        model.write(&mut writer)?;
        writer.into_inner().into_inner()?.sync_all()?;
        fs::rename(&draft, path)
    });
    if written.is_err() {
        // It may not be there at all.
        let _ = fs::remove_file(draft);
    }
    written
}

pub(crate) struct PackedReader {
    arrays: ArrayReader,
    pub kernel: Kernel,
}

impl PackedReader {
    /// Returns none if there is no such file, or if it was made from something else.
    fn open(path: &PathBuf, stamp: &str, kernel: Kernel) -> Option<Self> {
        let mut arrays = ArrayReader::open(&File::open(path).ok()?).ok()?;
        let found = arrays.take::<u8>().ok()?;
        (*found == *stamp.as_bytes()).then_some(Self { arrays, kernel })
    }

    /// Returns the next array.
    pub fn take<T: Number>(&mut self) -> Result<Array<T>, ModelError> {
        self.arrays.take().map_err(malformed)
    }

    /// Returns the next array, which must have this length.
    pub fn take_exactly<T: Number>(&mut self, len: usize) -> Result<Array<T>, ModelError> {
        self.arrays.take_exactly(len).map_err(malformed)
    }
}

fn malformed(_: Damaged) -> ModelError {
    ModelError::malformed("the packed weights are damaged")
}
