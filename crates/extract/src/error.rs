//! Why a file could not be read, in sentences for the user who uploaded it.

use serde::{Deserialize, Serialize};

use crate::Kind;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ExtractError {
    #[error("the file is empty")]
    Empty,

    #[error("the {0} holds no text that can be read")]
    NoText(Kind),

    #[error("the {0} is encrypted: remove its password and upload it again")]
    Encrypted(Kind),

    /// Holds what the file seems to be.
    #[error(
        "{0} cannot be read. Files of these kinds can: text, Markdown, reStructuredText, HTML, PDF, Word (.docx, .doc), PowerPoint (.pptx, .ppt), Excel \
         (.xlsx, .xls), OpenDocument (.odt, .ods, .odp), RTF, CSV, JSON, EPUB, pictures (PNG, JPEG, TIFF, WebP), mail (.eml), TeX, manual pages, notebooks (.ipynb), subtitles (.srt, .vtt), source code, \
         archives of them (.zip, .tar, .tar.gz)"
    )]
    Unsupported(String),

    /// Not caused by the file: the same file can be read when the package is there.
    #[error("the {kind} cannot be read yet: have `{package}` installed on the server, which {purpose}")]
    NotInstalled { kind: Kind, package: String, purpose: String },

    #[error("an archive is not one document: its files are read one by one")]
    PackedFiles,

    #[error("the {kind} is damaged: {reason}")]
    Damaged { kind: Kind, reason: String },

    #[error("the {kind} has more than {limit} {what}: split it and upload the parts{}", .what.advice())]
    TooLarge { kind: Kind, what: Excess, limit: u64 },

    #[error("the file was not read within {seconds} seconds: split it and upload the parts")]
    TooSlow { seconds: u64 },

    #[error(
        "the file takes more than {mebibytes} MiB of memory to read: split it and upload the parts, or have \
         EXTRACT_MEMORY_MIB raised"
    )]
    TooMuchMemory { mebibytes: u64 },

    #[error("the file made its reader crash: it is damaged, or takes too much memory")]
    Crashed,

    /// Not caused by the file: the same file may be read later.
    #[error("the reader of files cannot be started: {0}")]
    Worker(String),
}

impl ExtractError {
    /// Returns whether the same bytes would fail again.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Self::Worker(_))
    }

    pub(crate) fn damaged(kind: Kind, reason: impl ToString) -> Self {
        Self::Damaged { kind, reason: reason.to_string() }
    }

    pub(crate) fn too_large(kind: Kind, what: Excess, limit: usize) -> Self {
        Self::TooLarge { kind, what, limit: limit as u64 }
    }
}

/// What a file has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Excess {
    Characters,
    RepeatedHeadings,
    Paragraphs,
    Pages,
    ScannedPages,
    Slides,
    Cells,
    FilesInside,
    BytesUnpacked,
    BytesInStream,
}

impl std::fmt::Display for Excess {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Characters => "characters of text",
            Self::RepeatedHeadings => "characters of repeated headings",
            Self::Paragraphs => "paragraphs",
            Self::Pages => "pages",
            Self::ScannedPages => "scanned pages",
            Self::Slides => "slides",
            Self::Cells => "cells",
            Self::FilesInside => "files inside",
            Self::BytesUnpacked => "bytes when unpacked",
            Self::BytesInStream => "bytes in one stream when unpacked",
        })
    }
}

impl Excess {
    /// Returns what an administrator can do about it.
    fn advice(self) -> String {
        let setting = match self {
            Self::Characters | Self::RepeatedHeadings => "MAX_TEXT_CHARACTERS",
            Self::Pages | Self::Slides => "MAX_PAGES",
            Self::ScannedPages => "MAX_OCR_PAGES",
            Self::Cells => "MAX_CELLS",
            Self::Paragraphs | Self::FilesInside | Self::BytesUnpacked | Self::BytesInStream => {
                return String::new();
            }
        };
        format!(", or have {setting} raised")
    }
}
