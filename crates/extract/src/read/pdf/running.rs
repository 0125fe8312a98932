//! Removes running heads, running feet and page numbers: lines that repeat at the edges of pages.

use std::collections::BTreeMap;

use super::layout::Line;
use super::pages::Page;

/// Lines at the top and at the bottom that are compared.
const EDGE: usize = 2;

pub(super) fn remove(pages: &mut [Page]) {
    if pages.len() < 2 {
        return;
    }
    let mut seen: BTreeMap<(String, i64), usize> = BTreeMap::new();
    for page in pages.iter() {
        for line in edges(page) {
            *seen.entry(signature(&page.lines[line])).or_default() += 1;
        }
    }
    let often = (pages.len() / 3).max(2);
    for page in pages.iter_mut() {
        for line in edges(page) {
            let line = &mut page.lines[line];
            if is_page_number(&line.text) || seen.get(&signature(line)).is_some_and(|count| *count >= often) {
                line.text.clear();
            }
        }
        page.lines.retain(|line| !line.text.is_empty());
    }
}

/// Returns the highest and the lowest lines of a page.
fn edges(page: &Page) -> Vec<usize> {
    let mut by_height: Vec<usize> = (0..page.lines.len()).collect();
    by_height.sort_by(|one, other| page.lines[*other].y.total_cmp(&page.lines[*one].y));
    let inner = EDGE..by_height.len().saturating_sub(EDGE).max(EDGE);
    by_height.into_iter().enumerate().filter(|(at, _)| !inner.contains(at)).map(|(_, line)| line).collect()
}

/// Returns what repeats from page to page: the text without its numbers, and its height.
fn signature(line: &Line) -> (String, i64) {
    (shape(&line.text), line.y.round() as i64)
}

/// Returns the text with every number replaced by the same sign.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    shape
}

fn is_page_number(text: &str) -> bool {
    let shape = shape(text).to_lowercase();
    let shape = shape.trim_matches(|c: char| c.is_whitespace() || "-–—.[]".contains(c));
    let is_roman = !shape.is_empty() && shape.len() <= 5 && shape.chars().all(|c| "ivxl".contains(c));
    is_roman
        || matches!(
            shape,
            "#" | "page #" | "page # of #" | "# of #" | "# / #" | "#/#" | "# | page" | "seite #"
        )
}
