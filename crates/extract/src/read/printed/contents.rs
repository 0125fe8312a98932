//! Removes tables of contents: entries whose dots or wide gaps lead to a page number.

use super::layout::Line;
use super::page::Page;
use crate::read::plain::is_leader;

/// What a table of contents is called.
const NAMES: [&str; 16] = [
    "contents",
    "table of contents",
    "list of figures",
    "list of tables",
    "list of examples",
    "inhalt",
    "inhaltsverzeichnis",
    "abbildungsverzeichnis",
    "tabellenverzeichnis",
    "table des matières",
    "sommaire",
    "índice",
    "contenido",
    "indice",
    "sumário",
    "inhoudsopgave",
];

pub(super) fn remove(pages: &mut [Page]) {
    let mut goes_on = false;
    for page in pages.iter_mut() {
        let leaders = page.lines.iter().filter(|line| is_led(line)).count();
        let numbered = page.lines.iter().filter(|line| page_number(&line.text).is_some()).count();
        let is_named = page.lines.iter().any(is_name);
        let is_listed = numbered >= 4 && numbered * 10 >= page.lines.len() * 6 && rises(&page.lines);
        let is_contents = leaders >= 3 || ((is_named || goes_on) && is_listed);
        if is_contents {
            remove_entries(page);
        }
        page.lines.retain(|line| !(is_led(line) || is_contents && is_name(line)));
        goes_on = is_contents;
    }
}

/// Removes everything from the first entry to the last: titles that are wrapped have no number in their first line.
fn remove_entries(page: &mut Page) {
    let is_entry = |line: &Line| is_led(line) || page_number(&line.text).is_some();
    let (first, last) = (page.lines.iter().position(is_entry), page.lines.iter().rposition(is_entry));
    if let (Some(first), Some(last)) = (first, last) {
        page.lines.drain(first..=last);
    }
}

/// Returns whether dots lead from a title to its page.
fn is_led(line: &Line) -> bool {
    let text = line.text.replace('|', " ");
    let ends_with_page = text.trim_end().ends_with(|c: char| c.is_ascii_digit() || "ivxlc".contains(c));
    let is_rest = !text.contains(|c: char| c.is_alphabetic()) && is_leader(&text);
    is_rest || (ends_with_page && is_leader(&text))
}

fn is_name(line: &Line) -> bool {
    let name = line.text.trim().to_lowercase();
    NAMES.contains(&name.trim_end_matches(|c: char| !c.is_alphabetic()))
}

/// Returns the number at the end of a line that also has a title.
fn page_number(text: &str) -> Option<u32> {
    let (title, number) = text.trim_end().rsplit_once([' ', '|'])?;
    let has_title = title.chars().filter(|c| c.is_alphabetic()).count() >= 2;
    number.parse().ok().filter(|number| has_title && *number < 10_000)
}

/// Returns whether the numbers at the ends of the lines rise, as pages do.
fn rises(lines: &[Line]) -> bool {
    let numbers: Vec<u32> = lines.iter().filter_map(|line| page_number(&line.text)).collect();
    let falls = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count();
    falls * 10 <= numbers.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines that are left of pages given as text.
    fn left(pages: &[&str]) -> Vec<String> {
        let line = |(at, text): (usize, &str)| Line {
            text: text.to_owned(),
            x: 0.0,
            right: 100.0,
            y: 700.0 - 12.0 * at as f64,
            bottom: 700.0 - 12.0 * at as f64,
            size: 10.0,
            column: (0.0, 100.0),
            is_row: text.contains('|'),
            cells: Vec::new(),
            table: 0,
        };
        let page = |(number, text): (u32, &&str)| Page {
            number,
            lines: text.lines().enumerate().map(line).collect(),
        };
        let mut pages: Vec<Page> = (1..).zip(pages).map(page).collect();
        remove(&mut pages);
        pages.into_iter().flat_map(|page| page.lines).map(|line| line.text).collect()
    }

    #[test]
    fn entries_with_dots_are_removed_also_if_they_are_wrapped() {
        let contents = "Contents\n1 Oil | 1\n1.1 Thick oil . . . . . . | 1\n1.2 What to do if the oil is\ntoo thin . . . . . . 2\n\
                        2 Water ....... 3\n2.1 Cold\n. . . . . . . 4";
        let rest = "3 Heat ........ 9\nThe pump turns ... and stops.\nHeat is lost in 3";
        assert_eq!(left(&[contents, rest]), ["The pump turns ... and stops.", "Heat is lost in 3"]);
    }

    #[test]
    fn entries_without_dots_are_known_by_the_name_above_them_and_by_rising_pages() {
        let contents = "Contents\n1 Oil | 13\n2 Water | 19\n3 Heat | 25\n4 Seals | 31";
        assert_eq!(left(&[contents]), [""; 0]);
        let table = contents.replace("Contents", "Masses");
        assert_eq!(left(&[&table]).len(), 5);
    }
}
