//! Packed weights: a model's matrices as the kernels read them, in one file that a start maps instead of packing the
//! weights again.
//!
//! The file is a sequence of arrays, each with its length before it and on a cache line of its own. The first says what
//! the file was made from. It is written under another name and renamed, so it is whole or not there, and it is never
//! changed in place. A file of another version, layout or model is made anew.

#![expect(unsafe_code, reason = "maps a file, and views its bytes as numbers of any width")]

use crate::ModelError;
use crate::kernel::{Aligned, Kernel, Number};
use memmap2::Mmap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Changes with what is packed and how.
const VERSION: u32 = 1;
const LINE: usize = 64;

/// A model's weights, without what is quickly read from its own files.
pub(crate) trait Packed: Sized {
    fn write(&self, to: &mut Writer) -> io::Result<()>;
    fn read(from: &mut Reader) -> Result<Self, ModelError>;
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
    if let Some(mut reader) = Reader::open(&path, &stamp, kernel)
        && let Ok(model) = M::read(&mut reader)
    {
        return Ok(model);
    }
    let model = make()?;
    if let Ok(()) = write(&path, &stamp, &model)
        && let Some(mut reader) = Reader::open(&path, &stamp, kernel)
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
        let mut writer = Writer { file: BufWriter::new(File::create(&draft)?) };
        writer.put(stamp.as_bytes())?;
        model.write(&mut writer)?;
        writer.file.into_inner()?.sync_all()?;
        fs::rename(&draft, path)
    });
    if written.is_err() {
        // It may not be there at all.
        let _ = fs::remove_file(draft);
    }
    written
}

pub(crate) struct Writer {
    file: BufWriter<File>,
}

impl Writer {
    pub fn put<T: Number>(&mut self, numbers: &[T]) -> io::Result<()> {
        let mut line = [0; LINE];
        line[..8].copy_from_slice(&(numbers.len() as u64).to_le_bytes());
        self.file.write_all(&line)?;
        // SAFETY: a number is made of initialized bytes, and the slice has this many of them.
        let bytes =
            unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size_of_val(numbers)) };
        self.file.write_all(bytes)?;
        self.file.write_all(&[0; LINE][..bytes.len().next_multiple_of(LINE) - bytes.len()])
    }
}

pub(crate) struct Reader {
    map: Arc<Mmap>,
    at: usize,
    pub kernel: Kernel,
}

impl Reader {
    /// Returns none if there is no such file, or if it was made from something else.
    fn open(path: &PathBuf, stamp: &str, kernel: Kernel) -> Option<Self> {
        let file = File::open(path).ok()?;
        // SAFETY: the program never changes such a file once it has its name. Another program that truncated it would
        // end this process, as it would by truncating the program's own file.
        let map = unsafe { Mmap::map(&file) }.ok()?;
        let mut reader = Self { map: Arc::new(map), at: 0, kernel };
        let found = reader.take::<u8>().ok()?;
        (*found == *stamp.as_bytes()).then_some(reader)
    }

    /// Returns the next array.
    pub fn take<T: Number>(&mut self) -> Result<Array<T>, ModelError> {
        let short = || ModelError::malformed("the packed weights end too early");
        let count = self.map.get(self.at..).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
        let len = usize::try_from(u64::from_le_bytes(*count)).map_err(|_| short())?;
        let start = self.at + LINE;
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(short)?;
        let end = start.checked_add(bytes).filter(|end| *end <= self.map.len()).ok_or_else(short)?;
        self.at = end.next_multiple_of(LINE);
        Ok(Array(Storage::File { map: self.map.clone(), start, len }))
    }

    /// Returns the next array, which must have this length.
    pub fn take_exactly<T: Number>(&mut self, len: usize) -> Result<Array<T>, ModelError> {
        let array = self.take()?;
        if array.len() != len {
            return Err(ModelError::malformed(format!(
                "packed weights have {} numbers, not {len}",
                array.len()
            )));
        }
        Ok(array)
    }
}

/// Numbers in memory or in a mapped file. They begin on a cache line.
pub(crate) struct Array<T: Number>(Storage<T>);

enum Storage<T: Number> {
    Memory(Aligned<T>),
    /// `start` is in bytes, `len` in numbers.
    File {
        map: Arc<Mmap>,
        start: usize,
        len: usize,
    },
}

impl<T: Number> From<Aligned<T>> for Array<T> {
    fn from(numbers: Aligned<T>) -> Self {
        Self(Storage::Memory(numbers))
    }
}

impl<T: Number> From<&[T]> for Array<T> {
    fn from(numbers: &[T]) -> Self {
        let mut aligned = Aligned::zeroed(numbers.len());
        aligned.copy_from_slice(numbers);
        aligned.into()
    }
}

impl<T: Number> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Memory(numbers) => numbers,
            // SAFETY: `take` has checked that the numbers are inside the map, which begins on a page and in which arrays
            // begin on lines, so they are aligned; every bit pattern is a valid number.
            Storage::File { map, start, len } => unsafe {
                std::slice::from_raw_parts(map.as_ptr().add(*start).cast(), *len)
            },
        }
    }
}
