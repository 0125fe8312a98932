//! What of a passage is text to be read for names: code, names of columns and keys of settings are not.

use std::collections::{HashMap, HashSet};

use crate::Passage;

/// A piece of text without line breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub text: &'a str,
    pub opens: Opens,
}

impl<'a> Part<'a> {
    pub fn sentence(text: &'a str) -> Self {
        Part { text, opens: Opens::Sentence }
    }
}

/// What begins with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opens {
    Sentence,
    /// A row of a table, whose first word may be a name like those of the other cells.
    Row,
    Cell,
    /// Nothing: it continues the line before.
    Line,
}

/// Longer ones are no names of columns.
const MAX_LABEL_CHARS: usize = 60;
/// Rows that must have a label, so that a sentence with colons and semicolons is no table.
const MIN_ROWS: usize = 2;

/// Returns the text of each passage.
pub fn layout<'a>(passages: &[Passage<'a>]) -> Vec<Vec<Part<'a>>> {
    let labels = labels(passages);
    let mut block = None;
    passages
        .iter()
        .map(|passage| match passage.is_code {
            true => comments(passage.text, &mut block),
            false => text(passage.text, &labels),
        })
        .collect()
}

/// Returns the names of columns: rows of tables are written as "Name: P-204; Speed: 3000".
fn labels<'a>(passages: &[Passage<'a>]) -> HashSet<&'a str> {
    let mut rows: HashMap<&str, usize> = HashMap::new();
    for line in passages.iter().filter(|passage| !passage.is_code).flat_map(|passage| passage.text.lines()) {
        let found: Vec<&str> = line.split("; ").filter_map(label).collect();
        if found.len() > 1 {
            found.into_iter().for_each(|label| *rows.entry(label).or_default() += 1);
        }
    }
    rows.into_iter().filter(|(_, count)| *count >= MIN_ROWS).map(|(label, _)| label).collect()
}

fn label(cell: &str) -> Option<&str> {
    let (label, _) = cell.split_once(": ")?;
    (label.contains(char::is_alphabetic) && label.chars().count() <= MAX_LABEL_CHARS).then_some(label)
}

/// Returns the lines that are not code.
fn text<'a>(passage: &'a str, labels: &HashSet<&str>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut fence: Option<usize> = None;
    for line in passage.lines() {
        let ticks = line.trim_start().bytes().take_while(|b| *b == b'`').count();
        match fence {
            Some(open) => {
                fence = Some(open).filter(|_| ticks < open || !line.trim().bytes().all(|b| b == b'`'))
            }
            None if ticks >= 3 && !line.trim_start()[ticks..].contains('`') => fence = Some(ticks),
            None => add_line(line, labels, &mut parts),
        }
    }
    parts
}

fn add_line<'a>(line: &'a str, labels: &HashSet<&str>, parts: &mut Vec<Part<'a>>) {
    let is_cell = |cell: &str| label(cell).is_some_and(|label| labels.contains(label));
    if !line.split("; ").any(is_cell) {
        return parts.push(Part::sentence(without_key(line)));
    }
    for (at, cell) in line.split("; ").enumerate() {
        let text = if is_cell(cell) { cell.split_once(": ").map_or(cell, |(_, value)| value) } else { cell };
        parts.push(Part { text, opens: if at == 0 { Opens::Row } else { Opens::Cell } });
    }
}

/// Returns a line without the key of a setting: "max_age: 60", "server.port: 80".
fn without_key(line: &str) -> &str {
    match line.split_once(": ") {
        Some((key, value)) if key.starts_with(char::is_lowercase) && !key.contains(char::is_whitespace) => {
            value
        }
        _ => line,
    }
}

/// What opens and closes a comment of several lines.
const BLOCKS: [(&str, &str); 4] = [("/*", "*/"), ("\"\"\"", "\"\"\""), ("'''", "'''"), ("<!--", "-->")];
/// What opens a comment up to the end of the line.
const MARKS: [&str; 5] = ["//", "#", "--", ";", "%"];

/// Returns the comments of source code. `block` is the end of the comment that is open.
fn comments<'a>(code: &'a str, block: &mut Option<&'static str>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    let mut opens = Opens::Sentence;
    for line in code.lines() {
        let text = comment(line.trim(), block).map(str::trim).filter(|text| !text.is_empty());
        if let Some(text) = text {
            parts.push(Part { text, opens });
        }
        opens = if text.is_some() { Opens::Line } else { Opens::Sentence };
    }
    parts
}

fn comment<'a>(line: &'a str, block: &mut Option<&'static str>) -> Option<&'a str> {
    if let Some(end) = *block {
        let closing = line.find(end);
        *block = Some(end).filter(|_| closing.is_none());
        return Some(line[..closing.unwrap_or(line.len())].trim_start_matches('*'));
    }
    for (start, end) in BLOCKS {
        let Some(inside) = line.strip_prefix(start) else { continue };
        let closing = inside.find(end);
        *block = Some(end).filter(|_| closing.is_none());
        return Some(inside[..closing.unwrap_or(inside.len())].trim_start_matches('*'));
    }
    let text = MARKS.iter().find_map(|mark| {
        let rest = line.strip_prefix(mark)?;
        Some(rest.trim_start_matches(['/', '!', '#', '-', ';', '%']))
    });
    text.filter(|text| text.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_code: bool, expected: &[&str]) {
        let parts = layout(&[Passage { text, headings: &[], is_code }]);
        let texts: Vec<&str> =
            parts[0].iter().map(|part| part.text).filter(|text| !text.is_empty()).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn names_of_columns_and_keys_are_no_text() {
        check("Name: P-204; Speed: 30\nName: P-9; Speed: 12", false, &["P-204", "30", "P-9", "12"]);
        check("server.port: 80\nNote: it is old", false, &["80", "Note: it is old"]);
        check("Anna: 3; Ben: 4; both came", false, &["Anna: 3; Ben: 4; both came"]);
    }

    #[test]
    fn code_between_fences_is_no_text() {
        check("Run:\n```sh\nls\n```\nDone.", false, &["Run:", "Done."]);
        check("````\n```\nls\n```\n````\nDone.", false, &["Done."]);
        check("```\nls", false, &[]);
        check("```a``` b", false, &["```a``` b"]);
    }

    #[test]
    fn of_source_code_the_comments_are_text() {
        let code =
            "\"\"\"Counts sheep.\n\nBy Anna Berg.\n\"\"\"\nimport os  # no\n# One\n#include <b>\nx = '''a'''";
        check(code, true, &["Counts sheep.", "By Anna Berg.", "One"]);
        check(
            "/**\n * Opens it.\n */\nfn open() {} // now\n/// Shuts it.",
            true,
            &["Opens it.", "Shuts it."],
        );
    }
}
