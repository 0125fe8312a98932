//! Running heads, running feet and page numbers: what stands at the edges of page after page.

use std::collections::BTreeMap;

use super::glyphs::Page;

/// Lines at the top and at the bottom that are looked at.
const EDGE: usize = 2;

pub(super) fn remove(pages: &mut [Page]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for page in pages.iter() {
        let mut on_page: Vec<String> =
            edges(page).into_iter().map(|at| shape(&page.lines[at].text)).collect();
        on_page.sort();
        on_page.dedup();
        for shape in on_page {
            *seen.entry(shape).or_default() += 1;
        }
    }
    let often = (pages.len() / 3).max(3);
    let is_several = pages.len() > 1;
    for page in pages.iter_mut() {
        let gone: Vec<usize> = edges(page)
            .into_iter()
            .filter(|at| {
                let text = &page.lines[*at].text;
                seen.get(&shape(text)).is_some_and(|count| *count >= often)
                    || (is_several && is_page_number(text))
            })
            .collect();
        let mut at = 0;
        page.lines.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
    }
}

/// The highest and the lowest lines, whatever order they are read in.
fn edges(page: &Page) -> Vec<usize> {
    let mut by_height: Vec<usize> = (0..page.lines.len()).collect();
    by_height.sort_by(|one, other| page.lines[*other].y.total_cmp(&page.lines[*one].y));
    let bottom = by_height.len().saturating_sub(EDGE).max(EDGE.min(by_height.len()));
    let top = by_height.iter().take(EDGE);
    top.chain(&by_height[bottom..]).copied().collect()
}

/// The text with every number made the same.
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
    let shape =
        shape.trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '–' | '—' | '.' | '[' | ']'));
    let is_roman = !shape.is_empty() && shape.len() <= 5 && shape.chars().all(|c| "ivxl".contains(c));
    is_roman
        || matches!(
            shape,
            "#" | "page #" | "page # of #" | "# of #" | "# / #" | "#/#" | "# | page" | "seite #"
        )
}
