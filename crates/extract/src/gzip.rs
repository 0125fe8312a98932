//! Files packed with gzip, as manual pages are installed.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::{Excess, ExtractError, Kind, Limits};

/// As many bytes as it takes to tell what the content is.
const START: u64 = 64 << 10;

/// Returns the start of the content, or `None` if the file is not packed.
pub(crate) fn start(bytes: &[u8]) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return None;
    }
    let mut start = Vec::new();
    // What comes before a fault is enough.
    let _ = MultiGzDecoder::new(bytes).take(START).read_to_end(&mut start);
    Some(start)
}

/// Returns the content of a packed file, and any other file as it is.
pub(crate) fn unpacked<'b>(
    kind: Kind,
    bytes: &'b [u8],
    limits: &Limits,
) -> Result<Cow<'b, [u8]>, ExtractError> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(Cow::Borrowed(bytes));
    }
    let most = limits.unpacked_from(bytes.len());
    let mut content = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(most as u64 + 1).read_to_end(&mut content);
    if content.len() > most {
        return Err(ExtractError::too_large(kind, Excess::BytesUnpacked, most));
    }
    match read {
        Err(error) if content.is_empty() => Err(ExtractError::damaged(kind, error)),
        _ => Ok(Cow::Owned(content)),
    }
}

/// Returns the name of the content: "gzip.1" for "gzip.1.gz".
pub(crate) fn inner_name(name: &str) -> &str {
    let end = name.len().saturating_sub(3);
    match name.get(end..) {
        Some(ending) if ending.eq_ignore_ascii_case(".gz") => &name[..end],
        _ => name,
    }
}
