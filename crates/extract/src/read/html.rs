//! HTML: the content of a page without its navigation, and the chapters of books.

mod elements;
mod flow;
mod grid;
mod part;
mod region;

use encoding_rs::Encoding;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use super::plain;
use crate::document::Builder;
use crate::{ExtractError, decode};
use flow::{Flow, FlowSink};
use part::{Part, PartKind};
use region::Region;

pub(super) fn read_page(bytes: &[u8], builder: &mut Builder) -> Result<(), ExtractError> {
    let text = decode::text(bytes, declared_encoding(bytes));
    let text = text.ok_or_else(|| ExtractError::damaged(builder.kind(), "it is not text"))?;
    read_text(&text, builder)
}

pub(super) fn read_text(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let flow = flow(text);
    let parts = content(flow.parts);
    let title = match parts.iter().find(|part| part.kind == PartKind::Heading(1)) {
        // "Heading - Site" is the heading with the site's name after it.
        Some(heading) if flow.title.trim().starts_with(heading.text.trim()) => heading.text.clone(),
        _ => flow.title,
    };
    builder.title(&title);
    builder.author(&flow.author);
    parts.iter().try_for_each(|part| put(part, 0, builder))
}

/// Reads a piece of HTML inside another text.
pub(super) fn read_fragment(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let parts = flow(text).parts;
    parts.iter().filter(|part| part.region < Region::Hidden).try_for_each(|part| put(part, 0, builder))
}

/// Reads a chapter of a book: all of it is content, and its headings go below those of the book.
pub(super) fn read_chapter(
    bytes: &[u8],
    name: Option<&str>,
    builder: &mut Builder,
) -> Result<(), ExtractError> {
    let Some(text) = decode::text(bytes, declared_encoding(bytes)) else { return Ok(()) };
    let flow = flow(&text);
    let parts: Vec<Part> = flow.parts.into_iter().filter(|part| part.region < Region::Hidden).collect();
    let begins_with_heading = parts.first().is_some_and(|part| matches!(part.kind, PartKind::Heading(_)));
    match name {
        Some(name) if !begins_with_heading => builder.heading(1, name)?,
        // Text before the first heading does not belong to the previous chapter.
        _ => builder.leave(1)?,
    }
    let deeper = u8::from(name.is_some() && !begins_with_heading);
    parts.iter().try_for_each(|part| put(part, deeper, builder))
}

fn put(part: &Part, deeper: u8, builder: &mut Builder) -> Result<(), ExtractError> {
    match part.kind {
        PartKind::Heading(level) => builder.heading(level + deeper, &part.text),
        PartKind::Prose => builder.prose(&part.text),
        PartKind::Lines => builder.lines(&part.text),
        PartKind::Code if reads_as_prose(&part.text) => plain::read(&part.text, builder),
        PartKind::Code => builder.code(&part.language, &part.text),
    }
}

/// Returns whether preformatted text is not code but wrapped prose, as in a letter or an old standard.
fn reads_as_prose(text: &str) -> bool {
    let is_prose = |line: &&str| {
        line.split_whitespace().count() >= 7
            && !line.contains(['{', '}', ';', '=', '<', '>', '$', '|', '\\', '#'])
    };
    let all: usize = text.lines().map(|line| line.trim().len()).sum();
    let prose: usize = text.lines().filter(is_prose).map(|line| line.trim().len()).sum();
    text.lines().count() >= 8 && prose * 10 >= all * 7
}

fn flow(text: &str) -> Flow {
    let tokenizer = Tokenizer::new(FlowSink::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(text));
    // Scripts are not run: the tokenizer only pauses at their ends.
    while !input.is_empty() {
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    tokenizer.sink.finish()
}

/// Returns the content of a page: its main part if it has one, else all but navigation and the like, else everything.
fn content(parts: Vec<Part>) -> Vec<Part> {
    let size = |wanted: Region| {
        let those = parts.iter().filter(|part| part.region == wanted && !part.is_menu());
        those.map(|part| part.text.len()).sum::<usize>()
    };
    let (main, body, aside) = (size(Region::Main), size(Region::Body), size(Region::Aside));
    let farthest = if main >= 250 || main > body {
        Region::Main
    } else if main + body > 0 {
        Region::Body
    } else {
        Region::Aside
    };
    let menus_too = main + body + aside == 0;
    parts.into_iter().filter(|part| part.region <= farthest && (menus_too || !part.is_menu())).collect()
}

/// Returns the encoding that `<meta charset>` or an XML declaration near the start names.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]).to_ascii_lowercase();
    let label = head.split_once("charset=").or_else(|| head.split_once("encoding="))?.1;
    let label = label.trim_start_matches(['"', '\'']);
    let end =
        label.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).unwrap_or(label.len());
    Encoding::for_label(&label.as_bytes()[..end])
}

#[cfg(test)]
mod tests;
