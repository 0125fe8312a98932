//! A cursor over the start of a GGUF file, which is read from disk as far as the cursor moves.

use std::ops::Range;

use super::source::Source;
use crate::ModelError;

/// The largest vocabularies in use take about 20 MB; a much larger header is not that of a model.
const MAX_HEADER: usize = 256 << 20;
const READ_AHEAD: usize = 1 << 20;

pub struct Header<'a> {
    source: &'a Source,
    bytes: Vec<u8>,
    position: usize,
}

impl<'a> Header<'a> {
    pub fn new(source: &'a Source) -> Self {
        Self { source, bytes: Vec::new(), position: 0 }
    }

    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns everything that the cursor has passed, and nothing after it.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.position);
        self.bytes.shrink_to_fit();
        self.bytes
    }

    pub fn u32(&mut self) -> Result<u32, ModelError> {
        self.take(4).map(|bytes| bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    pub fn u64(&mut self) -> Result<u64, ModelError> {
        self.take(8).map(|bytes| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub fn take(&mut self, len: usize) -> Result<&[u8], ModelError> {
        let range = self.skip(len as u64)?;
        Ok(&self.bytes[range])
    }

    /// Reads a length and then that many bytes, which must be UTF-8.
    pub fn text(&mut self, what: &str) -> Result<&str, ModelError> {
        let range = self.skip_text()?;
        let text = std::str::from_utf8(&self.bytes[range]);
        text.map_err(|_| ModelError::malformed(format!("a {what} is not UTF-8")))
    }

    /// Returns the range of a text's bytes in [`Self::into_bytes`], without its length.
    pub fn skip_text(&mut self) -> Result<Range<usize>, ModelError> {
        let len = self.u64()?;
        self.skip(len)
    }

    pub fn skip(&mut self, len: u64) -> Result<Range<usize>, ModelError> {
        let start = self.position;
        let limit = self.source.len().min(MAX_HEADER as u64);
        let end = (start as u64).checked_add(len).filter(|end| *end <= limit);
        let Some(end) = end.map(|end| end as usize) else {
            return Err(ModelError::malformed(format!(
                "the header asks for {len} bytes at {start}, of {limit} that it may have"
            )));
        };
        if end > self.bytes.len() {
            let read_to = (end + READ_AHEAD).min(limit as usize);
            let held = self.bytes.len();
            self.source.append(held as u64, read_to - held, &mut self.bytes)?;
        }
        self.position = end;
        Ok(start..end)
    }
}
