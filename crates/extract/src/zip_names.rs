//! The names in the directory of a ZIP archive. Nothing is unpacked, so it is safe and fast for any bytes.

use memchr::memmem;

/// Goes through the names of an archive, in the order of its directory.
pub(crate) struct ZipNames<'a> {
    /// The rest of the directory.
    directory: &'a [u8],
}

/// The fixed part of the record that ends an archive, and the longest comment after it.
const END: usize = 22;
const LONGEST_COMMENT: usize = 65_535;
/// The fixed part of a record of the directory.
const RECORD: usize = 46;

impl<'a> ZipNames<'a> {
    /// Returns `None` if the archive has no directory.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let tail = bytes.len().saturating_sub(END + LONGEST_COMMENT);
        let end = tail + memmem::rfind(&bytes[tail..], b"PK\x05\x06")?;
        let size = u32::from_le_bytes(bytes.get(end + 12..end + 16)?.try_into().ok()?) as usize;
        // A very large archive has further records between its directory and its end.
        let start = match end.checked_sub(size) {
            Some(start) if bytes[start..].starts_with(b"PK\x01\x02") => start,
            _ => u32::from_le_bytes(bytes.get(end + 16..end + 20)?.try_into().ok()?) as usize,
        };
        let directory = bytes.get(start..end)?;
        directory.starts_with(b"PK\x01\x02").then_some(Self { directory })
    }
}

impl<'a> Iterator for ZipNames<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let record = self.directory.get(..RECORD).filter(|record| record.starts_with(b"PK\x01\x02"))?;
        let length = |at: usize| usize::from(u16::from_le_bytes([record[at], record[at + 1]]));
        let (name, extra, comment) = (length(28), length(30), length(32));
        let found = self.directory.get(RECORD..RECORD + name)?;
        self.directory = self.directory.get(RECORD + name + extra + comment..).unwrap_or_default();
        Some(found)
    }
}
