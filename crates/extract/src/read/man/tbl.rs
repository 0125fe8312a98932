//! Tables of a page: options, a format, and rows with cells between tabs.

use super::escapes::{Strings, plain};
use super::lines::Lines;
use crate::read::table::Table;

/// Reads to the end of the table and returns its rows as lines.
pub(super) fn read(lines: &mut Lines, strings: &Strings) -> String {
    let mut tab = '\t';
    while let Some(line) = lines.next() {
        if let Some((_, rest)) = line.split_once("tab(") {
            tab = rest.chars().next().unwrap_or(tab);
        }
        if line.starts_with(".TE") {
            return String::new();
        }
        // The format ends with a full stop.
        if line.trim_end().ends_with('.') {
            break;
        }
    }
    let mut table = Table::default();
    while let Some(line) = lines.next() {
        if line.starts_with(".TE") {
            break;
        }
        if line.starts_with(".T&") {
            while lines.next().is_some_and(|line| !line.trim_end().ends_with('.')) {}
            continue;
        }
        if line.starts_with(['.', '\'']) || ["_", "="].contains(&line.trim()) {
            continue;
        }
        table.row(row(line, tab, lines, strings));
    }
    table.into_text()
}

/// Returns the cells of a row. A cell between `T{` and `T}` is text of several lines.
fn row(line: &str, tab: char, lines: &mut Lines, strings: &Strings) -> Vec<String> {
    let mut cells: Vec<String> = Vec::new();
    let mut rest = line.to_owned();
    loop {
        let mut parts: Vec<&str> = rest.split(tab).collect();
        let is_open = parts.last().is_some_and(|last| last.trim() == "T{");
        if is_open {
            parts.pop();
        }
        cells.extend(parts.iter().map(|cell| plain(cell, strings)));
        if !is_open {
            return cells;
        }
        let mut text = String::new();
        rest = loop {
            match lines.next() {
                Some(line) if line.starts_with("T}") => {
                    break line[2..].strip_prefix(tab).unwrap_or_default().to_owned();
                }
                Some(line) if line.starts_with(['.', '\'']) => {
                    let words = line.split_once(' ').map_or("", |(_, words)| words);
                    text.push_str(&plain(words, strings));
                }
                Some(line) => text.push_str(&plain(line, strings)),
                None => break String::new(),
            }
            text.push(' ');
        };
        cells.push(text);
        if rest.is_empty() {
            return cells;
        }
    }
}
