//! Pages as they are printed, of PDFs and of scans: characters with their positions become lines in reading order, and lines
//! become paragraphs, lists and tables.

mod contents;
mod glyph;
mod layout;
mod page;
mod paragraphs;
mod running;
mod tables;

use crate::ExtractError;
use crate::clean;
use crate::document::Builder;
pub(super) use glyph::Glyph;
pub(super) use layout::{CELL_GAP, Cell, Line, lines, lines_of_runs};
pub(super) use page::Page;
use paragraphs::{BULLETS, Paragraph, begins_item};

/// Adds the text of pages to a document, without running heads and tables of contents.
pub(super) fn write(mut pages: Vec<Page>, builder: &mut Builder) -> Result<(), ExtractError> {
    running::remove(&mut pages);
    contents::remove(&mut pages);
    for page in &mut pages {
        tables::join_stretched(&mut page.lines);
        tables::join_wrapped(&mut page.lines);
    }
    let paragraphs = paragraphs::paragraphs(&pages);
    let is_same_list =
        |one: &Paragraph, next: &Paragraph| one.page == next.page && is_item(one) && is_item(next);
    paragraphs.chunk_by(is_same_list).try_for_each(|group| match group {
        [first, ..] if is_item(first) => {
            builder.page(first.page);
            builder.lines(&group.iter().map(item).collect::<Vec<_>>().join("\n"))
        }
        _ => group.iter().try_for_each(|paragraph| put(paragraph, builder)),
    })
}

fn is_item(paragraph: &Paragraph) -> bool {
    paragraph.level.is_none() && !paragraph.is_table && begins_item(&paragraph.text)
}

/// Returns an item with the mark that items have in every format.
fn item(paragraph: &Paragraph) -> String {
    let text = clean::prose(&paragraph.text);
    match text.strip_prefix(BULLETS) {
        Some(rest) => format!("- {}", rest.trim_start()),
        None => text,
    }
}

fn put(paragraph: &Paragraph, builder: &mut Builder) -> Result<(), ExtractError> {
    builder.page(paragraph.page);
    match paragraph.level {
        Some(level) => builder.heading(level, &paragraph.text),
        None if paragraph.is_table => builder.lines(&paragraph.text),
        None => builder.prose(&paragraph.text),
    }
}
