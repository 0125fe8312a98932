//! Removes running heads, running feet and page numbers: lines at the edges of pages that repeat, or that hold the
//! number of their page.

use std::collections::BTreeMap;

use super::layout::Line;
use super::page::Page;

/// Lines at the top and at the bottom that are compared.
const EDGE: usize = 2;
/// Pages apart at which the same line is still that of one chapter. Left and right pages alternate.
const NEAR: usize = 3;

pub(super) fn remove(pages: &mut [Page]) {
    if pages.len() < 2 {
        return;
    }
    let running = Running::of(pages);
    for (at, page) in pages.iter_mut().enumerate() {
        for line in edges(page) {
            let line = &mut page.lines[line];
            if running.is_running(line, at, page.number) {
                line.text.clear();
            }
        }
        page.lines.retain(|line| !line.text.is_empty());
    }
}

struct Running {
    /// How often a line stands at an edge, by its shape and height.
    shapes: BTreeMap<(String, i64), usize>,
    /// The pages on which a line stands at an edge, by its text and height.
    places: BTreeMap<(String, i64), Vec<usize>>,
    /// How far printed page numbers are from those of the file, if they are printed.
    shift: Option<i64>,
    pages: usize,
    /// The size of most lines. Larger ones are headings, also at the top of a page.
    usual_size: f64,
}

impl Running {
    fn of(pages: &[Page]) -> Self {
        let mut places: BTreeMap<(String, i64), Vec<usize>> = BTreeMap::new();
        let mut shapes: BTreeMap<(String, i64), usize> = BTreeMap::new();
        let mut shifts: BTreeMap<i64, usize> = BTreeMap::new();
        for (at, page) in pages.iter().enumerate() {
            for line in edges(page).into_iter().map(|line| &page.lines[line]) {
                *shapes.entry((shape(&line.text), height(line))).or_default() += 1;
                places.entry((without_number(&line.text), height(line))).or_default().push(at);
                for number in outer_numbers(&line.text) {
                    *shifts.entry(number - i64::from(page.number)).or_default() += 1;
                }
            }
        }
        let often = (pages.len() / 4).max(3);
        let shift = shifts.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count >= often);
        let mut sizes: Vec<f64> = pages.iter().flat_map(|page| &page.lines).map(|line| line.size).collect();
        sizes.sort_by(f64::total_cmp);
        let usual_size = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
        Self { shapes, places, shift: shift.map(|(shift, _)| shift), pages: pages.len(), usual_size }
    }

    fn is_running(&self, line: &Line, at: usize, number: u32) -> bool {
        if is_page_number(&line.text) {
            return true;
        }
        let often = (self.pages / 3).max(2);
        if self.shapes.get(&(shape(&line.text), height(line))).is_some_and(|count| *count >= often) {
            return true;
        }
        if line.size > 1.15 * self.usual_size {
            return false;
        }
        let text = without_number(&line.text);
        let has_words = text.chars().filter(|c| c.is_alphabetic()).count() >= 4;
        let places = self.places.get(&(text, height(line))).filter(|_| has_words);
        let places = places.map_or(&[][..], Vec::as_slice);
        let holds_number = self.shift.is_some_and(|shift| {
            outer_numbers(&line.text).into_iter().any(|printed| printed - i64::from(number) == shift)
        });
        let near = places.iter().filter(|other| **other != at && other.abs_diff(at) <= NEAR).count();
        (holds_number && is_short(&line.text)) || near >= 2 || (near == 1 && holds_number)
    }
}

/// Returns whether a line may be the name of a book, a chapter or a section.
fn is_short(text: &str) -> bool {
    text.chars().count() <= 100 && !text.trim_end().ends_with(['.', ',', ';', ':'])
}

/// Returns the highest and the lowest lines of a page.
fn edges(page: &Page) -> Vec<usize> {
    let mut by_height: Vec<usize> = (0..page.lines.len()).collect();
    by_height.sort_by(|one, other| page.lines[*other].y.total_cmp(&page.lines[*one].y));
    let inner = EDGE..by_height.len().saturating_sub(EDGE).max(EDGE);
    by_height.into_iter().enumerate().filter(|(at, _)| !inner.contains(at)).map(|(_, line)| line).collect()
}

/// Lines of the same height differ a little between left and right pages.
fn height(line: &Line) -> i64 {
    (line.y / 2.0).round() as i64
}

/// Returns the text without a number at its start and at its end.
fn without_number(text: &str) -> String {
    text.trim_matches(|c: char| c.is_ascii_digit() || c.is_whitespace() || "|-–.[]".contains(c)).to_owned()
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

/// Returns the numbers with which a line begins and ends, of which one may be that of the page.
fn outer_numbers(text: &str) -> Vec<i64> {
    let words = || text.split([' ', '|']).filter(|word| !word.is_empty());
    let number =
        |word: Option<&str>| word.and_then(|word| word.trim_matches(['-', '–', '.', '[', ']']).parse().ok());
    let mut numbers: Vec<i64> =
        [number(words().next()), number(words().next_back())].into_iter().flatten().collect();
    numbers.dedup();
    numbers
}

fn is_page_number(text: &str) -> bool {
    let shape = shape(text).to_lowercase();
    let shape = shape.trim_matches(|c: char| c.is_whitespace() || "-–—.[]".contains(c));
    let is_roman = !shape.is_empty() && shape.len() <= 5 && shape.chars().all(|c| "ivxl".contains(c));
    is_roman
        || matches!(
            shape,
            "#" | "page #"
                | "page # of #"
                | "# of #"
                | "# / #"
                | "#/#"
                | "# | page"
                | "seite #"
                | "seite # von #"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, y: f64) -> Line {
        Line {
            text: text.to_owned(),
            x: 0.0,
            right: 100.0,
            y,
            bottom: y,
            size: 10.0,
            column: (0.0, 100.0),
            is_row: false,
            cells: Vec::new(),
            table: 0,
        }
    }

    /// Removes from pages whose first line is the head; each also has text.
    fn heads_left(heads: &[&str]) -> Vec<String> {
        let mut pages: Vec<Page> = heads
            .iter()
            .zip(5..)
            .map(|(head, number)| {
                let words =
                    [("One", 600.0), ("two", 500.0), ("three", 400.0), ("four", 300.0), ("five", 200.0)];
                let text = words
                    .map(|(word, y)| line(&format!("{word} of page {}", "x".repeat(number as usize)), y));
                Page { number, lines: std::iter::once(line(head, 700.0)).chain(text).collect() }
            })
            .collect();
        remove(&mut pages);
        let heads = pages.iter().flat_map(|page| &page.lines).filter(|line| line.y == 700.0);
        heads.map(|line| line.text.clone()).collect()
    }

    #[test]
    fn heads_that_alternate_and_change_with_the_chapter_are_removed() {
        let heads = [
            "2 | Pump Manual",
            "1. Oil | 3",
            "4 | Pump Manual",
            "1. Oil | 5",
            "6 | Pump Manual",
            "2. Seals | 7",
        ];
        assert_eq!(heads_left(&heads), [""; 0]);
        let heads = [
            "Cold oil", "Cold oil", "Cold oil", "Seals", "Seals", "Seals", "Water", "Water", "Water",
            "Heating", "Heating", "Heating",
        ];
        assert_eq!(heads_left(&heads), [""; 0]);
    }

    #[test]
    fn first_lines_that_differ_are_text() {
        let heads =
            ["Oil is thick.", "Seals wear.", "In 1990 it broke.", "P-204 | 12", "Heat is lost.", "The end."];
        assert_eq!(heads_left(&heads), heads);
    }
}
