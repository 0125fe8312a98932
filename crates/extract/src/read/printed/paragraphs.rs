//! Joins lines into paragraphs, and finds the headings among them.

use std::collections::BTreeMap;

use super::layout::Line;
use super::page::Page;
use super::tables;
use crate::clean;

pub(super) struct Paragraph {
    pub text: String,
    pub page: u32,
    /// The heading level, if it is a heading.
    pub level: Option<u8>,
    /// Whether it is rows of a table, which are not joined.
    pub is_table: bool,
}

pub(super) fn paragraphs(pages: &[Page]) -> Vec<Paragraph> {
    let sizes = Sizes::of(pages);
    let mut paragraphs = Vec::new();
    let mut open: Vec<&Line> = Vec::new();
    let mut opened_on = 0;
    for page in pages {
        let leading = leading(&page.lines);
        for (at, line) in page.lines.iter().enumerate() {
            if open.last().is_some_and(|last| match at {
                0 => begins_after_break(last, line),
                _ if sizes.is_wrapped_heading(last, line) => false,
                _ => begins(last, line, open.len(), leading),
            }) {
                paragraphs.push(sizes.paragraph(&open, opened_on));
                open.clear();
            }
            if open.is_empty() {
                opened_on = page.number;
            }
            open.push(line);
        }
    }
    if !open.is_empty() {
        paragraphs.push(sizes.paragraph(&open, opened_on));
    }
    paragraphs
}

/// Returns the usual distance between the lines of a page.
fn leading(lines: &[Line]) -> f64 {
    let steps = lines.windows(2).map(|pair| pair[0].bottom - pair[1].y);
    let mut steps: Vec<f64> = steps.filter(|step| *step > 1.0).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(0.0)
}

/// Returns whether a line begins a paragraph after `last`, the last of `lines` lines.
fn begins(last: &Line, line: &Line, lines: usize, leading: f64) -> bool {
    if last.table != line.table || line.table > 0 {
        return last.table != line.table;
    }
    let size = last.size.max(line.size);
    let step = last.bottom - line.y;
    if step < -0.5 * size || (step > 8.0 * size && last.column != line.column) {
        return begins_after_break(last, line);
    }
    if differ(last, line) {
        return true;
    }
    if line.is_row {
        return step > 2.5 * leading;
    }
    // Lines of one sentence may be set apart, but not a page away.
    let is_long = last.right - last.x > 0.5 * (last.column.1 - last.column.0);
    if is_long && !ends_sentence(last) && line.text.starts_with(char::is_lowercase) && step < 3.0 * size {
        return false;
    }
    let is_far = step > (1.3 * leading).max(1.2 * size);
    let is_at_edge = last.x < last.column.0 + size;
    let is_indented = line.x > last.x + 0.8 * size && is_at_edge && (lines > 1 || ends_sentence(last));
    is_far || is_indented || (ends_sentence(last) && !is_full(last))
}

/// The same for the first line of a column or a page, where a sentence may continue.
fn begins_after_break(last: &Line, line: &Line) -> bool {
    let goes_on = is_full(last) || line.text.starts_with(char::is_lowercase);
    differ(last, line) || line.is_row || ends_sentence(last) || !goes_on
}

fn differ(last: &Line, line: &Line) -> bool {
    let size = last.size.max(line.size);
    last.is_row != line.is_row
        || (last.size - line.size).abs() > 0.12 * size
        || (!line.is_row && begins_item(&line.text))
}

fn ends_sentence(line: &Line) -> bool {
    line.text.trim_end().ends_with(['.', '!', '?', ':', '”', '"', '。', ')'])
}

fn is_full(line: &Line) -> bool {
    line.right > line.column.1 - 0.12 * (line.column.1 - line.column.0)
}

pub(super) const BULLETS: [char; 12] = ['•', '▪', '‣', '◦', '●', '○', '■', '–', '*', '\u{f0b7}', '➢', '✓'];

/// Returns whether a text begins with the mark of a list item.
pub(super) fn begins_item(text: &str) -> bool {
    let text = text.trim_start();
    let mark = text.split(' ').next().unwrap_or_default();
    let number = mark.strip_suffix(['.', ')']).unwrap_or("x").trim_start_matches('(');
    mark.starts_with(BULLETS)
        || (mark.starts_with('[') && mark.ends_with(']') && mark.len() <= 6)
        || (!number.is_empty() && number.len() <= 2 && number.chars().all(|c| c.is_ascii_digit()))
}

/// Longer ones are text in large type.
const LONGEST_HEADING: usize = 150;

/// Further sizes of headings count as the last.
const MOST_SIZES: usize = 6;

/// The font sizes of a document: that of its text, and the larger ones of its headings.
struct Sizes {
    body: f64,
    /// From the largest, in half points.
    headings: Vec<u32>,
}

impl Sizes {
    fn of(pages: &[Page]) -> Self {
        let mut characters: BTreeMap<u32, usize> = BTreeMap::new();
        for line in pages.iter().flat_map(|page| &page.lines) {
            *characters.entry(half_points(line.size)).or_default() += line.text.len();
        }
        let body = characters.iter().max_by_key(|(_, count)| **count).map_or(0, |(size, _)| *size);
        let headings = characters.into_keys().rev().filter(|size| f64::from(*size) > 1.12 * f64::from(body));
        Self { body: f64::from(body) / 2.0, headings: headings.collect() }
    }

    /// Returns whether a line continues the heading before it: both are large, and one is right below the other.
    fn is_wrapped_heading(&self, last: &Line, line: &Line) -> bool {
        let is_large = half_points(line.size) > (2.0 * 1.12 * self.body) as u32;
        let is_same = half_points(line.size) == half_points(last.size) && !line.is_row && !last.is_row;
        let step = last.y - line.y;
        let is_below = step > 0.5 * line.size && step < 1.6 * line.size;
        is_large && is_same && is_below && section_depth(&line.text).is_none() && !begins_item(&line.text)
    }

    fn paragraph(&self, lines: &[&Line], page: u32) -> Paragraph {
        let is_table = lines.iter().all(|line| line.is_row) && lines.len() > 1;
        if is_table {
            return Paragraph { text: tables::text(lines), page, level: None, is_table };
        }
        let text = clean::unwrap(lines.iter().map(|line| line.text.as_str()));
        let level = self.level(lines, &text);
        Paragraph { text, page, level, is_table }
    }

    fn level(&self, lines: &[&Line], text: &str) -> Option<u8> {
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        if lines.len() > 4
            || text.len() > LONGEST_HEADING
            || letters < 3
            || lines.iter().any(|line| line.is_row)
        {
            return None;
        }
        let ends_open = text.ends_with([',', ';', '-', '–', '(']);
        if ends_open || text.starts_with(|c: char| c.is_lowercase() || c == ',' || c == ')') {
            return None;
        }
        let size = lines.first()?.size;
        if let Some(rank) = self.headings.iter().position(|heading| *heading == half_points(size)) {
            return Some(rank.min(MOST_SIZES - 1) as u8 + 1);
        }
        let [line] = lines else { return None };
        let is_short = line.right < line.column.1 - 0.1 * (line.column.1 - line.column.0);
        let deeper = self.headings.len().min(MOST_SIZES) as u8;
        section_depth(text).filter(|_| is_short && size > 0.9 * self.body).map(|depth| deeper + depth)
    }
}

fn half_points(size: f64) -> u32 {
    (size * 2.0).round().clamp(0.0, 10_000.0) as u32
}

/// Returns the depth of a numbered section title: "3.2 Boundary layers" has depth 2.
fn section_depth(text: &str) -> Option<u8> {
    const NAMED: [&str; 8] = [
        "abstract",
        "introduction",
        "conclusion",
        "conclusions",
        "references",
        "bibliography",
        "acknowledgements",
        "acknowledgments",
    ];
    let text = text.trim();
    if NAMED.contains(&text.to_lowercase().as_str()) {
        return Some(1);
    }
    let (number, title) = text.split_once(' ')?;
    let parts: Vec<&str> = number.trim_end_matches('.').split('.').collect();
    let is_number =
        parts.len() <= 4 && parts.iter().all(|part| part.len() <= 2 && part.parse::<u8>().is_ok());
    let is_title = title.trim().starts_with(char::is_uppercase) && !title.ends_with(['.', ',', ';', ':']);
    (is_number && is_title && text.len() <= 80).then_some(parts.len() as u8)
}
