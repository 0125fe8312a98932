//! The items of a list and the rows of a table in plain text, each on one line.

use crate::clean;

/// Returns the mark of a list item with which a line begins: "- ", "* ", "12. ", "a) ".
pub(super) fn mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (mark, _) = line.split_once([' ', '\t'])?;
    let is_sign = ["-", "*", "•", "+", "o", "–", "·", ">", "|"].contains(&mark);
    let number = mark.trim_start_matches('(').strip_suffix(['.', ')']);
    let is_number = number.is_some_and(|number| {
        number.len() <= 3
            && (number.parse::<u16>().is_ok() || (number.len() == 1 && number.contains(char::is_alphabetic)))
    });
    (is_sign || is_number).then_some(mark)
}

/// Splits a paragraph into the lines before its list, and the items with their wrapped lines joined. Returns none if
/// a line of the list is neither an item nor deeper than one.
pub(super) fn items<'p, 't>(lines: &'p [&'t str]) -> Option<(&'p [&'t str], String)> {
    let start = lines.iter().position(|line| is_item(line))?;
    let (before, list) = lines.split_at(start);
    let mut items: Vec<(usize, Vec<&str>)> = Vec::new();
    for line in list {
        match items.last_mut() {
            _ if is_item(line) => items.push((indentation(line), vec![line])),
            Some((indent, item)) if indentation(line) > *indent => item.push(line),
            _ => return None,
        }
    }
    let least = items.iter().map(|(indent, _)| *indent).min().unwrap_or(0);
    let joined = items.iter().map(|(indent, lines)| {
        format!("{}{}", " ".repeat((indent - least).min(16)), clean::unwrap(lines.iter().copied()))
    });
    (items.len() > 1).then(|| (before, joined.collect::<Vec<_>>().join("\n")))
}

fn is_item(line: &str) -> bool {
    mark(line).is_some_and(|mark| mark != "|" && mark != ">")
}

/// Joins the lines of a row, of which the later ones are indented.
pub(super) fn joined_rows(lines: &[&str]) -> String {
    let mut rows: Vec<String> = Vec::new();
    for line in lines {
        let words = clean::prose(line);
        match rows.last_mut() {
            Some(row) if line.starts_with([' ', '\t']) => {
                row.push(' ');
                row.push_str(&words);
            }
            _ => rows.push(
                line.split('\t')
                    .map(clean::prose)
                    .filter(|cell| !cell.is_empty())
                    .collect::<Vec<_>>()
                    .join(" | "),
            ),
        }
    }
    rows.join("\n")
}

/// Returns the lines without the indentation that all of them have.
pub(super) fn outdented(lines: &[&str]) -> String {
    let least = lines.iter().map(|line| indentation(line)).min().unwrap_or(0);
    lines.iter().map(|line| &line[least..]).collect::<Vec<_>>().join("\n")
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}
