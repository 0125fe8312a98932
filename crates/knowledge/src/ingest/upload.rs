//! An upload before it is accepted: its bytes are kept, its name is cleaned, its metadata is checked.

use crate::media_type::HEAD;
use crate::records::Metadata;
use aws_lc_rs::digest;
use base::hex;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

const IN_MEMORY: usize = 256 * 1024;
const PIECE: usize = 256 * 1024;
const LONGEST_FILENAME: usize = 150;
const MOST_METADATA: usize = 100;
const LONGEST_METADATA: usize = 64 * 1024;
/// In characters. The title is stored with every passage.
pub const LONGEST_TITLE: usize = 300;

#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    #[error("the file is larger than {}", size(*.0))]
    TooLarge(u64),
    #[error("{0}")]
    Invalid(String),
    #[error("keeping the upload: {0}")]
    Io(#[from] std::io::Error),
}

/// Returns a number of bytes as a person says it: `100 MB`.
fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KB", bytes >> 10),
        mebibytes => format!("{mebibytes} MB"),
    }
}

pub struct Upload {
    pub filename: String,
    pub spool: Spool,
}

/// The bytes of an uploaded file: in memory if they are few, or else in an unnamed file that ends with the process.
pub struct Spool {
    kept: Kept,
    size: u64,
    limit: u64,
    /// The first bytes, which tell what it is.
    head: Vec<u8>,
    hash: digest::Context,
    finished_hash: String,
}

enum Kept {
    Memory(Vec<u8>),
    File(std::fs::File),
}

impl Spool {
    pub fn new(limit: u64) -> Self {
        let hash = digest::Context::new(&digest::SHA256);
        let (kept, head) = (Kept::Memory(Vec::new()), Vec::new());
        Self { kept, size: 0, limit, head, hash, finished_hash: String::new() }
    }

    /// Adds bytes. Blocks for a moment if the file is large.
    pub fn push(&mut self, piece: &[u8], folder: &Path) -> Result<(), UploadError> {
        self.size += piece.len() as u64;
        if self.size > self.limit {
            return Err(UploadError::TooLarge(self.limit));
        }
        self.hash.update(piece);
        self.head.extend(piece.iter().take(HEAD - self.head.len()));
        match &mut self.kept {
            Kept::Memory(bytes) if bytes.len() + piece.len() <= IN_MEMORY => bytes.extend_from_slice(piece),
            Kept::Memory(bytes) => {
                let mut file = tempfile::tempfile_in(folder)?;
                file.write_all(bytes)?;
                file.write_all(piece)?;
                self.kept = Kept::File(file);
            }
            Kept::File(file) => file.write_all(piece)?,
        }
        Ok(())
    }

    pub fn finish(mut self) -> Self {
        self.finished_hash = hex(self.hash.clone().finish().as_ref());
        self
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the SHA-256 of a finished spool, in hex.
    pub fn hash(&self) -> &str {
        &self.finished_hash
    }

    pub fn into_stream(self) -> std::io::Result<BoxStream<'static, std::io::Result<Bytes>>> {
        match self.kept {
            Kept::Memory(bytes) => Ok(stream::iter([Ok(Bytes::from(bytes))]).boxed()),
            Kept::File(mut file) => {
                file.seek(SeekFrom::Start(0))?;
                let pieces = stream::unfold(Some(file), |file| async {
                    let reading = tokio::task::spawn_blocking(move || read_piece(file?)).await;
                    reading.unwrap_or_else(|_| Some((Err(std::io::ErrorKind::Other.into()), None)))
                });
                Ok(pieces.boxed())
            }
        }
    }
}

type Piece = (std::io::Result<Bytes>, Option<std::fs::File>);

fn read_piece(mut file: std::fs::File) -> Option<Piece> {
    let mut piece = vec![0; PIECE];
    match file.read(&mut piece) {
        Ok(0) => None,
        Ok(read) => {
            piece.truncate(read);
            Some((Ok(piece.into()), Some(file)))
        }
        Err(error) => Some((Err(error), None)),
    }
}

/// Returns the last part of the path that a browser may have sent, as a part of an object's key.
pub fn clean_filename(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    let visible: String = last.chars().filter(|character| !character.is_control()).collect();
    let name = visible.trim();
    if matches!(name, "" | "." | "..") {
        return "file".to_owned();
    }
    shorten(name, LONGEST_FILENAME)
}

/// Shortens a name, but keeps the extension, which tells what the file is.
fn shorten(name: &str, longest: usize) -> String {
    if stored_len(name) <= longest {
        return name.to_owned();
    }
    let extension = name.rfind('.').map(|dot| &name[dot..]).filter(|extension| extension.len() <= 16);
    let extension = extension.unwrap_or_default();
    let mut kept = String::new();
    for character in name.chars() {
        kept.push(character);
        if stored_len(&kept) + stored_len(extension) > longest {
            kept.pop();
            break;
        }
    }
    kept + extension
}

/// Returns the length as part of an object's key, in which `%` and `#` take three bytes.
fn stored_len(name: &str) -> usize {
    name.len() + 2 * name.matches(['%', '#']).count()
}

/// Parses a JSON object whose values are strings, or other scalars that become strings.
pub fn parse_metadata(text: &str) -> Result<Metadata, UploadError> {
    let invalid = |message: String| Err(UploadError::Invalid(message));
    if text.trim().is_empty() {
        return Ok(Metadata::new());
    }
    if text.len() > LONGEST_METADATA {
        return invalid("`metadata` is longer than 64 KiB".to_owned());
    }
    let object = match kit::json::parse::<Value>(text.as_bytes()) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return invalid("`metadata` is not a JSON object".to_owned()),
        Err(fault) => return invalid(format!("`metadata` is not a JSON object: {fault}")),
    };
    if object.len() > MOST_METADATA {
        return invalid("`metadata` has more than 100 fields".to_owned());
    }
    let mut metadata = Metadata::new();
    for (name, value) in object {
        let value = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Null => String::new(),
            Value::Array(_) | Value::Object(_) => {
                return invalid(format!("`metadata.{name}` is nested: expected a string"));
            }
        };
        if value.contains('\0') || name.contains('\0') {
            return invalid(format!("`metadata.{}` has a NUL character", name.replace('\0', "")));
        }
        if name == "title" && value.chars().count() > LONGEST_TITLE {
            return invalid("`metadata.title` is longer than 300 characters".to_owned());
        }
        metadata.insert(name, value);
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filenames_lose_their_folders_and_stay_short() {
        for (sent, kept) in [
            ("report.pdf", "report.pdf"),
            ("C:\\Users\\ada\\report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("a\n\u{7f}b.txt", "ab.txt"),
            ("", "file"),
            ("..", "file"),
            ("/", "file"),
            ("履歴書.docx", "履歴書.docx"),
        ] {
            assert_eq!(clean_filename(sent), kept, "{sent:?}");
        }
        let long = clean_filename(&format!("{}.docx", "ä".repeat(200)));
        assert!(long.len() <= 150 && long.ends_with("ä.docx"), "{long}");
        let escaped = clean_filename(&format!("{}.pdf", "%D0%9F".repeat(40)));
        assert!(stored_len(&escaped) <= 150 && escaped.ends_with(".pdf"), "{escaped}");
    }

    #[test]
    fn metadata_becomes_strings_and_nesting_is_refused() {
        let metadata = parse_metadata(r#"{"a": "x", "n": 1.5, "b": true, "z": null}"#).unwrap();
        assert_eq!(serde_json::to_string(&metadata).unwrap(), r#"{"a":"x","b":"true","n":"1.5","z":""}"#);
        assert!(parse_metadata("").unwrap().is_empty());
        for bad in ["[]", "{", "3", r#"{"a": {}}"#, r#"{"a": ["x"]}"#] {
            assert!(matches!(parse_metadata(bad), Err(UploadError::Invalid(_))), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_spool_gives_back_what_it_took_from_memory_and_from_disk() {
        let folder = tempfile::tempdir().unwrap();
        for size in [0, 1000, IN_MEMORY + 5, 3 * IN_MEMORY] {
            let bytes: Vec<u8> = (0..size).map(|index| (index % 251) as u8).collect();
            let mut spool = Spool::new(u64::MAX);
            bytes.chunks(10_000).for_each(|piece| spool.push(piece, folder.path()).unwrap());
            let spool = spool.finish();
            assert_eq!(spool.hash(), hex(digest::digest(&digest::SHA256, &bytes).as_ref()));
            let pieces: Vec<Bytes> = spool.into_stream().unwrap().map(Result::unwrap).collect().await;
            assert_eq!(pieces.concat(), bytes);
        }
        let mut small = Spool::new(3);
        assert!(matches!(small.push(b"four", folder.path()), Err(UploadError::TooLarge(3))));
    }
}
