//! Reads files into passages: detects what a file is, reads its text with headings, pages and offsets, and splits it
//! into passages for the encoder. Knows no service, no database and no network.
//!
//! `extract` reads a file in this process. `Extractor` is for untrusted files: it reads them in child processes that run
//! `work`, so that no file can crash the program or keep it busy. It unpacks archives in the same way, into files that
//! are then read one by one. `passages` splits the document.
//! The readers, one for each kind of file, are under `read`.

mod archive;
mod clean;
mod decode;
mod detect;
mod document;
mod error;
mod extractor;
mod fence;
mod gzip;
mod limits;
mod outline;
mod passages;
mod programs;
mod read;
mod ready;
mod tool;
mod worker;
mod zip_names;

pub use archive::{ArchiveLimits, Member, SkipReason, Skipped, Unpacked, unpack};
pub use detect::detect;
pub use document::{Block, Document, Form, Kind};
pub use error::{Excess, ExtractError};
pub use extractor::Extractor;
pub use limits::{Limits, Ocr};
pub use outline::{HeadingStart, Outline, PageStart};
pub use passages::{Passage, passages};
pub use programs::NeedsProgram;
pub use read::{Progress, extract};
pub use worker::work;
