//! CSV and similar formats: finds the delimiter, respects quotes.

use super::table::Table;
use crate::document::Builder;
use crate::{Excess, ExtractError, Limits};

const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

pub(super) fn read(text: &str, builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let text = text.trim_start_matches('\u{feff}');
    let delimiter = delimiter(text).unwrap_or(',');
    let mut table = Table::default();
    let mut cells = 0;
    for row in (Rows { text, delimiter }) {
        cells += row.len();
        if cells > limits.cells {
            return Err(ExtractError::too_large(builder.kind(), Excess::Cells, limits.cells));
        }
        table.row(row);
        if builder.is_full_with(table.text()) {
            break;
        }
    }
    builder.lines(&table.into_text())
}

/// Returns whether a text is a table, for a file whose name does not say: at least three rows, all of the same width.
pub(crate) fn looks_like(head: &str) -> bool {
    head.lines().count() >= 3 && delimiter(head).is_some()
}

/// Returns the delimiter that gives the first rows the same number of cells, more than one.
fn delimiter(text: &str) -> Option<char> {
    let start = &text[..text.floor_char_boundary(16 * 1024)];
    let scored = DELIMITERS.map(|delimiter| {
        let mut widths: Vec<usize> = Rows { text: start, delimiter }.take(21).map(|row| row.len()).collect();
        if widths.len() > 2 {
            widths.pop(); // The last row may be incomplete.
        }
        let width = widths.first().copied().unwrap_or(0);
        let same = widths.iter().filter(|other| **other == width).count();
        let is_steady = width > 1 && same * 10 >= widths.len() * 9;
        (if is_steady { width } else { 0 }, delimiter)
    });
    let best = scored.into_iter().rev().max_by_key(|(width, _)| *width)?;
    (best.0 > 1).then_some(best.1)
}

struct Rows<'a> {
    text: &'a str,
    delimiter: char,
}

impl Iterator for Rows<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        if self.text.is_empty() {
            return None;
        }
        let mut row = Vec::new();
        let mut cell = String::new();
        let mut quoted = false;
        let mut chars = self.text.char_indices().peekable();
        let mut end = self.text.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    cell.push('"');
                    chars.next();
                }
                '"' if quoted => quoted = false,
                '"' if cell.trim().is_empty() => {
                    cell.clear();
                    quoted = true;
                }
                '\n' if !quoted => {
                    end = at + 1;
                    break;
                }
                _ if c == self.delimiter && !quoted => row.push(std::mem::take(&mut cell)),
                _ => cell.push(c),
            }
        }
        row.push(cell);
        self.text = &self.text[end..];
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn check(text: &str, expected: &str) {
        let mut builder = Builder::new(Kind::Csv, &Limits::default());
        read(text, &mut builder, &Limits::default()).unwrap();
        assert_eq!(builder.finish().unwrap().text(), expected);
    }

    #[test]
    fn quotes_hold_delimiters_newlines_and_quotes() {
        check("name,said\r\n\"Ann, B.\",\"one\ntwo \"\"x\"\"\"\r\n", "name: Ann, B.; said: one two \"x\"");
    }

    #[test]
    fn delimiters_are_found() {
        check("name;price\nsalt;1,50\npepper;2,75\n", "name: salt; price: 1,50\nname: pepper; price: 2,75");
        check("name\tprice\nsalt\t1,50\n", "name: salt; price: 1,50");
    }
}
