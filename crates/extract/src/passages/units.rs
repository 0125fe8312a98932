//! Groups the lines of a list, a table, a log or code into units that stay together in one passage if they fit: a line
//! with the deeper indented lines below it, or code between two fences.

use std::ops::Range;

use crate::fence;

/// Consecutive lines that belong together, as a range of the lines.
pub(super) struct Unit {
    pub lines: Range<usize>,
    /// Whether the first line opens a fence.
    pub is_fenced: bool,
}

pub(super) fn units(text: &str, lines: &[Range<usize>]) -> Vec<Unit> {
    let indent = |line: &Range<usize>| indentation(&text[line.clone()]);
    let least = lines.iter().map(indent).min().unwrap_or(0);
    let mut units: Vec<Unit> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &text[lines[at].clone()];
        let continues = indent(&lines[at]) > least || closes_bracket(line);
        let fence = fence::length(line);
        let end = match fence {
            Some(length) => fence_end(text, lines, at, length),
            None => at + 1,
        };
        match units.last_mut() {
            Some(unit) if continues && !unit.is_fenced => unit.lines.end = end,
            _ => units.push(Unit { lines: at..end, is_fenced: fence.is_some() }),
        }
        at = end;
    }
    units
}

/// Returns the index after the line that closes the fence at `open`, or after the last line.
fn fence_end(text: &str, lines: &[Range<usize>], open: usize, length: usize) -> usize {
    let inside = lines.iter().enumerate().skip(open + 1);
    let mut closing = inside.filter(|(_, line)| fence::closes(&text[(*line).clone()], length));
    closing.next().map_or(lines.len(), |(at, _)| at + 1)
}

/// A tab counts as far as to the next multiple of eight.
fn indentation(line: &str) -> usize {
    let blank = line.chars().take_while(|c| c.is_whitespace());
    blank.fold(0, |column, c| if c == '\t' { column / 8 * 8 + 8 } else { column + 1 })
}

/// Returns whether the line ends what an earlier one began: "}" in code.
fn closes_bracket(line: &str) -> bool {
    line.starts_with(['}', ')', ']']) || line == "end"
}
