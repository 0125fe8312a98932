//! Detects the kind of files that hold others: ZIP and tar archives, OpenDocument files, Office files from before 2007.

use memchr::memmem;

use crate::zip_names::ZipNames;
use crate::{ExtractError, Kind};

pub(super) fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar")
}

/// Detects the kind of a ZIP archive by the part that each kind of document must have.
pub(super) fn zip_archive(bytes: &[u8]) -> Result<Kind, ExtractError> {
    if let Some(kind) = open_document(&bytes[..bytes.len().min(256)]) {
        return kind;
    }
    let Some(names) = ZipNames::of(bytes) else { return Ok(damaged_archive(bytes)) };
    let (mut has_content, mut has_manifest) = (false, false);
    for name in names {
        if let Some(kind) = kind_with_part(name) {
            return Ok(kind);
        }
        has_content |= name == b"content.xml";
        has_manifest |= name == b"META-INF/manifest.xml";
    }
    match has_content && has_manifest {
        // Packed by a program that did not put the name of the kind first.
        true => open_document(bytes).unwrap_or(Ok(Kind::Odt)),
        false => Ok(Kind::Archive),
    }
}

fn kind_with_part(name: &[u8]) -> Option<Kind> {
    const CONTAINER: &[u8] = b"META-INF/container.xml";
    let folder = name.strip_suffix(CONTAINER);
    match name {
        _ if name.starts_with(b"word/document") && name.ends_with(b".xml") => Some(Kind::Docx),
        b"ppt/presentation.xml" => Some(Kind::Pptx),
        _ if name.starts_with(b"xl/workbook") => Some(Kind::Xlsx),
        // Some books are in a folder of their own.
        _ if folder.is_some_and(|folder| folder.iter().filter(|byte| **byte == b'/').count() <= 1) => {
            Some(Kind::Epub)
        }
        _ => None,
    }
}

/// Guesses the kind of an archive without a directory, so that the error names it. Names of parts are not compressed.
fn damaged_archive(bytes: &[u8]) -> Kind {
    let marks: [(&[u8], Kind); 4] = [
        (b"word/document", Kind::Docx),
        (b"ppt/presentation.xml", Kind::Pptx),
        (b"xl/workbook", Kind::Xlsx),
        (b"META-INF/container.xml", Kind::Epub),
    ];
    let found = marks.into_iter().find(|(mark, _)| memmem::find(bytes, mark).is_some());
    found.map_or(Kind::Archive, |(_, kind)| kind)
}

/// Returns the kind of an OpenDocument file, whose start names it. A single XML file names it in its first element.
fn open_document(start: &[u8]) -> Option<Result<Kind, ExtractError>> {
    const MARK: &[u8] = b"application/vnd.oasis.opendocument.";
    let kind = &start[memmem::find(start, MARK)? + MARK.len()..];
    let kinds: [(&[u8], Kind); 4] = [
        (b"text", Kind::Odt),
        (b"spreadsheet", Kind::Ods),
        (b"presentation", Kind::Odp),
        // Its pages have the same parts as slides.
        (b"graphics", Kind::Odp),
    ];
    let known = kinds.into_iter().find(|(name, _)| kind.starts_with(name));
    let other = || ExtractError::Unsupported("an OpenDocument formula, chart or database".to_owned());
    Some(known.map(|(_, kind)| kind).ok_or_else(other))
}

/// Returns the kind of an OpenDocument file that is a single XML file, if it is one.
pub(super) fn flat_open_document(bytes: &[u8]) -> Option<Result<Kind, ExtractError>> {
    let head = &bytes[..bytes.len().min(1024)];
    let is_xml = head.trim_ascii_start().starts_with(b"<");
    let is_flat = is_xml && memmem::find(head, b"<office:document").is_some();
    let start = &bytes[..bytes.len().min(8192)];
    is_flat.then(|| open_document(start).unwrap_or(Ok(Kind::Odt)))
}

/// Tells Office files from before 2007 by the streams inside, and later ones with a password by theirs.
pub(super) fn compound_file(extension: &str, bytes: &[u8]) -> Result<Kind, ExtractError> {
    let has = |stream: &str| {
        let name: Vec<u8> = stream.encode_utf16().flat_map(u16::to_le_bytes).collect();
        memmem::find(bytes, &name).is_some()
    };
    if has("EncryptedPackage") {
        return Err(ExtractError::Encrypted(match extension {
            "pptx" => Kind::Pptx,
            "xlsx" => Kind::Xlsx,
            _ => Kind::Docx,
        }));
    }
    // A document may have sheets inside, and a presentation may have both.
    let kinds = [
        ("PowerPoint Document", Kind::Ppt),
        ("WordDocument", Kind::Doc),
        ("Workbook", Kind::Xls),
        ("Book", Kind::Xls),
    ];
    let found = kinds.into_iter().find(|(stream, _)| has(stream)).map(|(_, kind)| kind);
    found.ok_or_else(|| ExtractError::Unsupported("a file of an old program".to_owned()))
}
