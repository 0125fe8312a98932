//! PDF: takes characters with their positions from the parser, and puts the text in reading order, page by page.

mod filters;
mod fonts;
mod grids;
mod pages;
mod scans;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Dictionary, LoadOptions, Object};

use super::printed;
use crate::document::Builder;
use crate::{Excess, ExtractError, Kind, Limits, Progress};
use pages::Pages;

pub(super) fn read(
    bytes: &[u8],
    builder: &mut Builder,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ExtractError> {
    let mut document = open(bytes)?;
    fonts::prepare(&mut document);
    let pages = document.get_pages();
    if pages.len() > limits.pages {
        return Err(ExtractError::too_large(Kind::Pdf, Excess::Pages, limits.pages));
    }
    information(&document, builder);

    let mut reader = Pages::new(limits.characters);
    // If the parser cannot read one page, the pages after it are read one by one.
    if !caught(|| pdf_extract::output_doc(&document, &mut reader).is_ok()) {
        let last = reader.last_number();
        for number in pages.keys().copied().filter(|number| *number > last) {
            caught(|| pdf_extract::output_doc_page(&document, &mut reader, number).is_ok());
        }
    }
    if reader.is_over_limit() {
        return Err(ExtractError::too_large(Kind::Pdf, Excess::Characters, limits.characters));
    }
    let mut pages = reader.finish();
    scans::add(&document, bytes, &mut pages, limits, progress)?;
    printed::write(pages, builder)
}

fn open(bytes: &[u8]) -> Result<pdf_extract::Document, ExtractError> {
    use pdf_extract::Error;
    let options = LoadOptions::with_filter(filters::admit);
    let mut document = match pdf_extract::Document::load_mem_with_options(bytes, options) {
        Ok(document) => document,
        Err(Error::InvalidPassword | Error::Decryption(_)) => return Err(ExtractError::Encrypted(Kind::Pdf)),
        Err(error) => return Err(ExtractError::damaged(Kind::Pdf, error)),
    };
    // Many files only forbid printing, and open with an empty password.
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(ExtractError::Encrypted(Kind::Pdf));
    }
    if !filters::all_fit(&document) {
        return Err(ExtractError::too_large(Kind::Pdf, Excess::BytesInStream, filters::MOST));
    }
    Ok(document)
}

fn caught(read: impl FnOnce() -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or(false)
}

fn information(document: &pdf_extract::Document, builder: &mut Builder) {
    let information = document.trailer.get(b"Info").and_then(|object| document.dereference(object));
    let Ok((_, Object::Dictionary(information))) = information else { return };
    let text = |key: &[u8]| string(document, information, key).unwrap_or_default();
    let title = text(b"Title");
    if is_sensible_title(&title) {
        builder.title(&title);
    }
    let author = text(b"Author");
    if !author.starts_with('(') {
        builder.author(&author);
    }
}

fn string(document: &pdf_extract::Document, dictionary: &Dictionary, key: &[u8]) -> Option<String> {
    let (_, object) = document.dereference(dictionary.get(key).ok()?).ok()?;
    pdf_extract::decode_text_string(object).ok()
}

/// Returns whether the title is not a file name or another default.
fn is_sensible_title(title: &str) -> bool {
    let lower = title.trim().to_lowercase();
    let is_file =
        [".doc", ".docx", ".tex", ".dvi", ".qxd", ".indd", ".ppt", ".pptx", ".pdf", ".rtf", ".txt", ".html"]
            .iter()
            .any(|extension| lower.ends_with(extension));
    lower.chars().filter(|c| c.is_alphabetic()).count() >= 3
        && !is_file
        && !lower.starts_with("microsoft ")
        && !lower.starts_with("untitled")
        && lower != "about:blank"
        && !lower.starts_with('(')
        && !lower.starts_with("http")
}
