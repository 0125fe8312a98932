//! The readers, one for each kind of file. All of them fill a `Builder`.

mod code;
pub(crate) mod csv;
mod docx;
pub(crate) mod eml;
mod epub;
mod html;
pub(crate) mod json;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
mod markdown;
pub(crate) mod notebook;
mod ocr;
mod odf;
mod office;
mod package;
mod pdf;
mod plain;
mod pptx;
mod printed;
mod rst;
mod rtf;
pub(crate) mod subtitles;
pub(crate) mod table;
pub(crate) mod tex;
mod xlsx;
mod xml;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use crate::document::Builder;
use crate::{Document, ExtractError, Kind, Limits, decode, detect, gzip};

/// How many pages of a file were recognised, of those that must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub done: usize,
    pub of: usize,
}

/// Reads a file in this process. See `Extractor` for untrusted files.
pub fn extract(name: &str, bytes: &[u8], limits: &Limits) -> Result<Document, ExtractError> {
    extract_with_progress(name, bytes, limits, &mut |_| {})
}

/// Does the same, and says which page it is at before each page whose text is recognised, which takes seconds.
pub(crate) fn extract_with_progress(
    name: &str,
    bytes: &[u8],
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<Document, ExtractError> {
    let kind = detect(name, bytes)?;
    // Third-party parsers panic on some damaged files.
    let read = catch_unwind(AssertUnwindSafe(|| read(kind, bytes, limits, progress)));
    read.unwrap_or_else(|_| Err(ExtractError::damaged(kind, "its parser gave up")))
}

fn read(
    kind: Kind,
    bytes: &[u8],
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<Document, ExtractError> {
    if kind == Kind::Archive {
        return Err(ExtractError::PackedFiles);
    }
    let mut builder = Builder::new(kind, limits);
    let bytes = &*gzip::unpacked(kind, bytes, limits)?;
    match kind {
        Kind::Text => plain::read(&text(bytes)?, &mut builder)?,
        Kind::Rst => rst::read(&text(bytes)?, &mut builder)?,
        Kind::Markdown => markdown::read(&text(bytes)?, &mut builder)?,
        Kind::Csv => csv::read(&text(bytes)?, &mut builder, limits)?,
        Kind::Json => json::read(&text(bytes)?, &mut builder)?,
        Kind::Code => code::read(&text(bytes)?, &mut builder)?,
        Kind::Html => html::read_page(bytes, &mut builder)?,
        Kind::Pdf => pdf::read(bytes, &mut builder, limits, progress)?,
        Kind::Docx => docx::read(bytes, &mut builder, limits)?,
        Kind::Pptx => pptx::read(bytes, &mut builder, limits)?,
        Kind::Xlsx => xlsx::read(bytes, &mut builder, limits)?,
        Kind::Odt | Kind::Ods | Kind::Odp => odf::read(bytes, &mut builder, limits)?,
        Kind::Doc | Kind::Xls | Kind::Ppt => office::read(bytes, &mut builder, limits)?,
        Kind::Rtf => rtf::read(bytes, &mut builder)?,
        Kind::Epub => epub::read(bytes, &mut builder, limits)?,
        Kind::Notebook => notebook::read(&text(bytes)?, &mut builder)?,
        Kind::ManPage => man::read(&text(bytes)?, &mut builder)?,
        Kind::Tex => tex::read(&text(bytes)?, &mut builder)?,
        Kind::Log => log::read(&text(bytes)?, &mut builder)?,
        Kind::Subtitles => subtitles::read(&text(bytes)?, &mut builder)?,
        Kind::Eml => eml::read(bytes, &mut builder)?,
        Kind::Picture => ocr::read_picture(bytes, &mut builder, limits, progress)?,
        Kind::Archive => {}
    }
    builder.finish()
}

fn text(bytes: &[u8]) -> Result<String, ExtractError> {
    decode::text(bytes, None).ok_or_else(|| ExtractError::Unsupported("a binary file".to_owned()))
}
