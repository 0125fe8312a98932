//! CSV and other delimited text: finds the delimiter, respects quotes, and keeps comments apart from rows.

use super::table::Table;
use crate::document::Builder;
use crate::{Excess, ExtractError, Limits};

const DELIMITERS: [char; 5] = [',', ';', '\t', '|', ':'];

pub(super) fn read(text: &str, builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let text = text.trim_start_matches('\u{feff}');
    let delimiter = delimiter(text, &DELIMITERS).unwrap_or(',');
    let (comments, mut rest) = leading_comments(text);
    let width = Rows { text: rest, delimiter }.next().map_or(0, |row| row.len());
    let mut table = Table::default();
    for comment in &comments {
        let cells: Vec<String> = comment.split(delimiter).map(str::to_owned).collect();
        match cells.len() == width && width > 1 {
            true => table = Table::with_header(cells),
            false => builder.prose(comment)?,
        }
    }
    let mut cells = 0;
    while !rest.is_empty() {
        if let Some((comment, after)) = comment(rest) {
            builder.lines(&table.take_text())?;
            builder.prose(comment)?;
            rest = after;
            continue;
        }
        let mut rows = Rows { text: rest, delimiter };
        let row = rows.next().unwrap_or_default();
        rest = rows.text;
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
    rows_of(head) >= 3 && delimiter(head, &DELIMITERS[..4]).is_some()
}

/// The same for a file that is called a text. Commas and colons also stand in sentences, so the rows must have no space
/// after them.
pub(crate) fn is_delimited_text(head: &str) -> bool {
    let rows = || head.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let is_tight = |delimiter: char| {
        let with_space = rows().filter(|line| line.contains(&format!("{delimiter} "))).count();
        let longest =
            rows().map(|line| line.split(delimiter).map(str::len).max().unwrap_or(0)).max().unwrap_or(0);
        with_space * 10 <= rows().count() && longest <= 80
    };
    rows_of(head) >= 3
        && match delimiter(head, &DELIMITERS) {
            Some(delimiter @ (',' | ':')) => rows_of(head) >= 5 && is_tight(delimiter),
            Some(_) => true,
            None => false,
        }
}

fn rows_of(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count()
}

/// Splits off the comments above the rows, without their signs.
fn leading_comments(mut text: &str) -> (Vec<&str>, &str) {
    let mut comments = Vec::new();
    while let Some((found, rest)) = comment(text.trim_start_matches(['\r', '\n'])) {
        comments.push(found);
        text = rest;
    }
    (comments, text.trim_start_matches(['\r', '\n']))
}

/// Splits off a line that begins with a number sign and a space, or is empty after it.
fn comment(text: &str) -> Option<(&str, &str)> {
    let after = text.strip_prefix('#')?;
    let (line, rest) = after.split_once('\n').unwrap_or((after, ""));
    let is_comment = line.trim().is_empty() || line.starts_with([' ', '\t', '#']);
    is_comment.then_some((line.trim_matches(['#', ' ', '\t', '\r']), rest))
}

/// Returns the delimiter that gives the first rows the same number of cells, more than one.
fn delimiter(text: &str, delimiters: &[char]) -> Option<char> {
    let start = &text[..text.floor_char_boundary(16 * 1024)];
    let rows = start.lines().filter(|line| !line.is_empty() && comment(line).is_none());
    let start = rows.collect::<Vec<_>>().join("\n");
    let scored = delimiters.iter().map(|&delimiter| {
        let mut widths: Vec<usize> = Rows { text: &start, delimiter }.take(21).map(|row| row.len()).collect();
        if widths.len() > 2 {
            widths.pop(); // The last row may be incomplete.
        }
        let width = widths.first().copied().unwrap_or(0);
        let same = widths.iter().filter(|other| **other == width).count();
        let is_steady = width > 1 && same * 10 >= widths.len() * 9;
        (if is_steady { width } else { 0 }, delimiter)
    });
    let best = scored.rev().max_by_key(|(width, _)| *width)?;
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

    #[test]
    fn comments_are_no_rows_and_may_name_the_columns() {
        check(
            "# Code : Country\n#\n\n# Zone 2\n\n20:Egypt\n212:Morocco\n\n# Zone 3\n\n30:Greece\n31:Netherlands\n",
            "Zone 2\n\nCode: 20; Country: Egypt\nCode: 212; Country: Morocco\n\nZone 3\n\nCode: 30; Country: Greece\n\
             Code: 31; Country: Netherlands",
        );
    }

    #[test]
    fn delimited_texts_are_told_from_prose() {
        for text in [
            "a\tb\n1\t2\n3\t4\n",
            "a;b;c\n1;2;3\n4;5;6\n",
            "a|b\n1|2\n3|4\n",
            &"May:Emerald:Lily\n".repeat(6),
        ] {
            assert!(is_delimited_text(text), "{text}");
        }
        let prose = "The pump turns, and it is hot.\nThe oil is thick, and it is old.\n".repeat(3);
        let pairs = "Name: pump\nSpeed: 3000\nOil: none\nHead: 12\nFlow: 3\n";
        assert!(!is_delimited_text(&prose) && !is_delimited_text(pairs));
    }
}
