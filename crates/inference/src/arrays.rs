//! Files of arrays: written once, then mapped. The system reads their pages when they are used, and may take the memory
//! back; nothing is copied.
//!
//! A file is a sequence of arrays, each with its length before it and on a cache line of its own, in the byte order of
//! the processor.

#![expect(unsafe_code, reason = "maps a file, and views its bytes as numbers of any width")]

use crate::kernel::Aligned;
use memmap2::Mmap;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::sync::Arc;

pub use crate::kernel::Number;

const LINE: usize = 64;

#[derive(Debug, thiserror::Error)]
#[error("the file of arrays is damaged")]
pub struct Damaged;

pub struct ArrayWriter<W: Write>(W);

impl<W: Write> ArrayWriter<W> {
    pub fn new(to: W) -> Self {
        Self(to)
    }

    /// Writes one array.
    pub fn put<T: Number>(&mut self, numbers: &[T]) -> io::Result<()> {
        self.put_parts(numbers.len(), [numbers])
    }

    /// Writes one array whose numbers come in parts, `len` together.
    pub fn put_parts<T: Number, P: AsRef<[T]>>(
        &mut self,
        len: usize,
        parts: impl IntoIterator<Item = P>,
    ) -> io::Result<()> {
        let mut line = [0; LINE];
        line[..8].copy_from_slice(&(len as u64).to_le_bytes());
        self.0.write_all(&line)?;
        let mut written = 0;
        for part in parts {
            let numbers = part.as_ref();
            // SAFETY: a number is made of initialized bytes, and the slice has this many of them.
            let bytes =
                unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size_of_val(numbers)) };
            self.0.write_all(bytes)?;
            written += bytes.len();
        }
        if written != len * size_of::<T>() {
            return Err(io::Error::other("an array has another length than was announced"));
        }
        self.0.write_all(&[0; LINE][..written.next_multiple_of(LINE) - written])
    }

    pub fn into_inner(self) -> W {
        self.0
    }
}

/// Reads a file's arrays in the order in which they were written.
pub struct ArrayReader {
    map: Arc<Mmap>,
    at: usize,
}

impl ArrayReader {
    /// Maps a file, which must never be changed in place. It may be removed: its arrays stay.
    pub fn open(file: &File) -> io::Result<Self> {
        // SAFETY: the program never changes such a file once it is written. Another program that truncated it would end
        // this process, as it would by truncating the program's own file.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self { map: Arc::new(map), at: 0 })
    }

    /// Returns the next array.
    pub fn take<T: Number>(&mut self) -> Result<Array<T>, Damaged> {
        let count = self.map.get(self.at..).and_then(<[u8]>::first_chunk).ok_or(Damaged)?;
        let len = usize::try_from(u64::from_le_bytes(*count)).map_err(|_| Damaged)?;
        let start = self.at.checked_add(LINE).ok_or(Damaged)?;
        let bytes = len.checked_mul(size_of::<T>()).ok_or(Damaged)?;
        let end = start.checked_add(bytes).filter(|end| *end <= self.map.len()).ok_or(Damaged)?;
        self.at = end.next_multiple_of(LINE);
        Ok(Array(Storage::File { map: self.map.clone(), start, len }))
    }

    /// Returns the next array, which must have this length.
    pub fn take_exactly<T: Number>(&mut self, len: usize) -> Result<Array<T>, Damaged> {
        self.take().and_then(|array| if array.len() == len { Ok(array) } else { Err(Damaged) })
    }
}

/// Numbers in memory or in a mapped file. They begin on a cache line.
pub struct Array<T: Number>(Storage<T>);

enum Storage<T: Number> {
    Memory(Aligned<T>),
    /// `start` is in bytes, `len` in numbers.
    File {
        map: Arc<Mmap>,
        start: usize,
        len: usize,
    },
}

impl<T: Number> Default for Array<T> {
    fn default() -> Self {
        Aligned::zeroed(0).into()
    }
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
