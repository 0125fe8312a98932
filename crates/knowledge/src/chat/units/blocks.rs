//! Tells the lines of a text apart: paragraphs, entries of lists, rows, comments and code.

use std::ops::Range;

/// In characters. A shorter line ends on purpose, not because it was full.
const FULL_LINE: usize = 50;
/// In characters. A longer line was not broken to fit: what stands right above or below it is a heading.
const LONGEST_WRAPPED: usize = 120;
/// In characters. A longer line with a colon is a sentence, not a setting.
const LONGEST_SETTING: usize = 100;
const MOST_KEY_WORDS: usize = 3;
const FENCE: &str = "```";

#[derive(Debug)]
pub enum Block {
    /// Lines of a paragraph.
    Text(Range<usize>),
    Entry {
        range: Range<usize>,
    },
    Row {
        range: Range<usize>,
        indent: usize,
        after_blank: bool,
    },
    Comment(Range<usize>),
    Code(Range<usize>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Entry,
    Row,
    Comment,
    Code,
}

impl Block {
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Text(range) | Self::Comment(range) | Self::Code(range) => range.clone(),
            Self::Entry { range } | Self::Row { range, .. } => range.clone(),
        }
    }

    fn new(kind: Kind, range: Range<usize>, indent: usize, after_blank: bool) -> Self {
        match kind {
            Kind::Text => Self::Text(range),
            Kind::Entry => Self::Entry { range },
            Kind::Row => Self::Row { range, indent, after_blank },
            Kind::Comment => Self::Comment(range),
            Kind::Code => Self::Code(range),
        }
    }

    fn set_end(&mut self, end: usize) {
        match self {
            Self::Text(range) | Self::Comment(range) | Self::Code(range) => range.end = end,
            Self::Entry { range } | Self::Row { range, .. } => range.end = end,
        }
    }
}

/// Joins the lines that belong together. Blank lines are in no block.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut start, mut last, mut after_blank, mut fenced) = (0, Kind::Text, true, false);
    // Whether the line before was full, and whether it was broken in the middle of a sentence.
    let (mut full, mut open) = (false, false);
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end();
        let range = start..start + line.len();
        start += whole.len();
        if fenced {
            if let Some(block) = blocks.last_mut() {
                block.set_end(range.end);
            }
            fenced = !line.trim_start().starts_with(FENCE);
            (last, full, open, after_blank) = (Kind::Row, false, false, false);
            continue;
        }
        if line.is_empty() {
            after_blank = true;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let range = range.start + indent..range.end;
        let line = line.trim_start();
        fenced = line.starts_with(FENCE);
        let kind = if fenced { Kind::Code } else { kind(line) };
        let goes_on = match kind {
            Kind::Text => {
                let continues =
                    open && goes_on(line) && (!after_blank || line.ends_with('.') || is_full(line));
                continues || last == Kind::Text && full && !after_blank && !is_long(line)
            }
            Kind::Comment | Kind::Code => last == kind && !after_blank && !fenced,
            Kind::Entry | Kind::Row => false,
        };
        match blocks.last_mut() {
            Some(block) if goes_on => block.set_end(range.end),
            _ => {
                blocks.push(Block::new(kind, range, indent, after_blank));
                last = kind;
            }
        }
        full = is_full(line) && !is_long(line);
        open = is_full(line) && matches!(last, Kind::Text | Kind::Entry) && is_broken(line);
        after_blank = false;
    }
    blocks
}

fn kind(line: &str) -> Kind {
    if is_comment(line) {
        Kind::Comment
    } else if is_entry(line) {
        Kind::Entry
    } else if is_row(line) {
        Kind::Row
    } else if is_code(line) {
        Kind::Code
    } else {
        Kind::Text
    }
}

pub fn is_comment(line: &str) -> bool {
    line.starts_with("# ") || line.starts_with("// ") || line == "#" || line.starts_with("-- ")
}

/// Returns whether a line begins with the mark of a list or its number.
fn is_entry(line: &str) -> bool {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let number = first.trim_start_matches('(').strip_suffix(['.', ')']);
    let is_number = number.is_some_and(|number| {
        !number.is_empty() && number.len() <= 2 && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    !rest.trim().is_empty() && (matches!(first, "-" | "*" | "•" | "–") || is_number)
}

fn is_row(line: &str) -> bool {
    has_columns(line)
        || line.contains(" | ")
        || line.contains('\t')
        || is_setting(line)
        || line.split("; ").filter(|cell| has_name(cell)).count() > 1
}

/// Returns whether a cell of a row has the name of its column.
fn has_name(cell: &str) -> bool {
    cell.split_once(": ").is_some_and(|(name, _)| name.split(' ').count() <= MOST_KEY_WORDS)
}

/// Returns whether a line is a key with its value, or several.
fn is_setting(line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else { return false };
    let is_key =
        !key.is_empty() && key.split(' ').count() <= MOST_KEY_WORDS && !key.contains(['.', ',', '(', '"']);
    let is_value = value.is_empty() && key.split(' ').count() == 1
        || value.starts_with(' ')
            && (value.contains("; ")
                || line.chars().count() <= LONGEST_SETTING && !value.ends_with(['.', ':', '?']));
    is_key && is_value
}

fn is_code(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    let is_assignment = line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '));
    let has_signs = line.contains(['(', '=', '[', '.', '"', '&', '*']) || !line.contains(' ');
    let is_statement = line.ends_with(['{', '}']) || line.ends_with(';') && has_signs || line.ends_with("):");
    let is_command =
        first == "$" || line.contains(" -") && first.chars().all(|c| c.is_lowercase() || c == '-');
    (is_assignment || is_statement || is_command && !line.ends_with('.'))
        && line.chars().count() <= LONGEST_SETTING
}

fn is_full(line: &str) -> bool {
    line.chars().count() >= FULL_LINE
}

fn is_long(line: &str) -> bool {
    line.chars().count() > LONGEST_WRAPPED
}

/// Returns whether a line ends in the middle of a sentence.
fn is_broken(line: &str) -> bool {
    !line.ends_with(['.', ':', '!', '?', ';', '|']) && !has_columns(line)
}

/// Returns whether a line can continue the one before.
fn goes_on(line: &str) -> bool {
    let is_labelled = line.split(' ').take(2).any(|word| word.ends_with(':'));
    line.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '(' | '"' | '`'))
        && !is_labelled
        && !has_columns(line)
}

pub fn has_columns(line: &str) -> bool {
    line.trim_start().contains("   ")
}
