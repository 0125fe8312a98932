//! Plain text: paragraphs between blank lines, with wrapped lines joined; numbered and underlined headings; lists, rows,
//! records and drawn tables as lines.

mod contents;
mod grid;
mod headings;
mod items;
mod records;

pub(crate) use contents::is_leader;

use crate::ExtractError;
use crate::clean;
use crate::document::Builder;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let mut paragraphs = paragraphs(text);
    for paragraph in &mut paragraphs {
        if let Some(bare) = without_comment_signs(paragraph) {
            *paragraph = bare;
        }
    }
    let running = contents::running_heads(&paragraphs);
    let mut headings = headings::Headings::default();
    let records = records::Records::of(&paragraphs);
    for (at, paragraph) in paragraphs.iter().enumerate() {
        if running.contains(&at) || contents::is_contents(paragraph) {
            continue;
        }
        if let Some(record) = records.record(paragraph) {
            builder.lines(&record)?;
            continue;
        }
        match headings.heading(paragraph, paragraphs.get(at + 1).map(Vec::as_slice)) {
            Some((level, title)) => {
                builder.heading(level, title)?;
                emit(&paragraph[headings::lines_of(paragraph)..], builder)?;
            }
            None => emit(paragraph, builder)?,
        }
    }
    Ok(())
}

/// Reads a text without headings in which a line break is no more than a blank, except in lists and tables.
pub(super) fn read_body(text: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let is_prose = |lines: &Paragraph| {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let is_text = |line: &&str| {
            let own = line.trim();
            let gap = own.find("  ").is_some_and(|gap| !own[..gap].ends_with(['.', '!', '?', ':']));
            let is_option = own.starts_with('-') && !own.starts_with("- ");
            indent(line) == indent(lines[0]) && !gap && !is_option && !own.starts_with(['|', ':', '>'])
        };
        items::items(lines).is_none() && lines.iter().all(is_text)
    };
    paragraphs(text).iter().try_for_each(|paragraph| match grid::table(paragraph) {
        None if is_prose(paragraph) => builder.prose(&clean::unwrap(paragraph.iter().copied())),
        _ => emit(paragraph, builder),
    })
}

type Paragraph<'t> = Vec<&'t str>;

/// Splits a text at blank lines, at the ends of pages and at lines of signs alone.
fn paragraphs(text: &str) -> Vec<Paragraph<'_>> {
    let mut paragraphs = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for line in text.split(['\n', '\u{c}']).map(|line| line.trim_end_matches('\r')) {
        let is_end = line.trim_matches(['#', '>', ' ']).trim().is_empty()
            || (is_rule(line) && !headings::underlines(open.as_slice(), line));
        match is_end {
            true if open.is_empty() => {}
            true => paragraphs.push(std::mem::take(&mut open)),
            false => open.push(line),
        }
    }
    paragraphs.push(open);
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Returns whether a line only separates: "//", "----", "* * *". The lines of a drawn table do not.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 2
        && !line.contains(char::is_alphanumeric)
        && !line.starts_with(['+', '|'])
        && !line.contains(['{', '}', '(', ')'])
        && line.chars().all(|c| c.is_ascii_punctuation() || c == ' ')
}

fn emit(paragraph: &[&str], builder: &mut Builder) -> Result<(), ExtractError> {
    if let Some(table) = grid::table(paragraph) {
        return builder.lines(&table);
    }
    match paragraph {
        [] => Ok(()),
        [line] => builder.prose(line),
        lines if is_quoted(lines) => emit_quoted(lines, builder),
        lines if is_rows(lines) => builder.lines(&items::joined_rows(lines)),
        lines if is_wrapped(lines) => builder.prose(&clean::unwrap(lines.iter().copied())),
        lines => match items::items(lines) {
            Some((before, items)) => {
                builder.prose(&clean::unwrap(before.iter().copied()))?;
                builder.lines(&items)
            }
            None => builder.lines(&items::outdented(lines)),
        },
    }
}

/// Returns the lines of a comment without their signs, if all lines are such.
fn without_comment_signs<'t>(paragraph: &[&'t str]) -> Option<Vec<&'t str>> {
    let bare = |line: &&'t str| {
        let bare = line.strip_prefix('#')?;
        let is_comment = bare.starts_with([' ', '\t', '#']);
        is_comment.then(|| bare.trim_matches('#')).map(|bare| bare.strip_prefix(' ').unwrap_or(bare))
    };
    paragraph.iter().map(bare).collect()
}

/// Returns whether all lines quote another message.
fn is_quoted(lines: &[&str]) -> bool {
    lines.iter().all(|line| line.trim_start().starts_with('>'))
}

/// Adds a paragraph of another message, with one sign for all of its lines.
fn emit_quoted(lines: &[&str], builder: &mut Builder) -> Result<(), ExtractError> {
    let bare: Vec<&str> = lines.iter().map(|line| line.trim_start_matches(['>', ' '])).collect();
    match is_wrapped(&bare) {
        true => builder.prose(&format!("> {}", clean::unwrap(bare))),
        false => builder.lines(&lines.join("\n")),
    }
}

/// Returns whether most lines are rows of a table: words with tabs between them, or that begin with a date or a
/// number and a tab.
fn is_rows(lines: &[&str]) -> bool {
    let has_tab = |line: &&&str| line.trim().contains('\t');
    let first = lines.iter().filter(|line| !line.starts_with([' ', '\t']));
    let tabbed = first.clone().filter(has_tab).count();
    tabbed >= 2 && tabbed * 10 >= first.count() * 7
}

/// Returns whether prose was wrapped at a width: nearly all lines but the last are almost as long as the longest.
fn is_wrapped(lines: &[&str]) -> bool {
    let lengths: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let (_, but_last) = lengths.split_last().unwrap_or((&0, &[]));
    let full = but_last.iter().filter(|length| **length * 10 >= longest * 7).count();
    let marked = lines.iter().skip(1).filter(|line| items::mark(line).is_some()).count();
    longest >= 40
        && full * 10 >= but_last.len() * 8
        && marked * 4 < lines.len()
        && items::mark(lines[0]).is_none_or(|_| marked == 0)
        && !has_signs_of_code(lines)
}

/// Returns whether most lines end or begin as in code or in commands.
fn has_signs_of_code(lines: &[&str]) -> bool {
    let is_code = |line: &&&str| {
        let line = line.trim();
        line.ends_with([';', '{', '}', '\\'])
            || line.starts_with(['$', '#', '<', '}'])
            || line.contains("://")
    };
    lines.iter().filter(is_code).count() * 2 > lines.len()
}

#[cfg(test)]
mod tests;
