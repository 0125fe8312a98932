//! Tables of contents and running heads, which are no text.

use std::collections::{BTreeMap, BTreeSet};

/// Returns whether a line is an entry of a table of contents: dots lead from its title to its page.
pub(crate) fn is_leader(line: &str) -> bool {
    let line =
        line.trim_end().trim_end_matches(|c: char| c.is_ascii_digit() || "ivxlcIVXLC".contains(c)).trim_end();
    let dots = line
        .chars()
        .rev()
        .take_while(|c| matches!(c, '.' | ' ' | '·' | '…' | '_'))
        .filter(|c| *c != ' ')
        .count();
    dots >= 4 || line.ends_with('…') || line.contains(". . . .") || line.contains(".....")
}

/// Returns whether a paragraph consists of entries of a table of contents.
pub(super) fn is_contents(paragraph: &[&str]) -> bool {
    let leaders = paragraph.iter().filter(|line| is_leader(line)).count();
    let titles = paragraph.iter().filter(|line| is_numbered_title(line)).count();
    (leaders >= 2 && leaders * 2 >= paragraph.len()) || (titles >= 8 && titles * 10 >= paragraph.len() * 7)
}

/// Returns whether a line is "1.2. Title", which is a heading elsewhere in the text.
fn is_numbered_title(line: &str) -> bool {
    let (number, title) = line.trim().split_once(' ').unwrap_or_default();
    let mut parts = number.trim_end_matches('.').split('.');
    parts.clone().count() > 1
        && parts.all(|part| part.parse::<u16>().is_ok())
        && title.starts_with(|c: char| c.is_alphabetic() || c == '"')
        && !title.ends_with(['.', ';', ','])
}

/// Returns the paragraphs that repeat at the edges of pages: a line with a number far away from its text.
pub(super) fn running_heads(paragraphs: &[Vec<&str>]) -> BTreeSet<usize> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, paragraph) in paragraphs.iter().enumerate() {
        if let [line] = paragraph.as_slice()
            && let Some(text) = beside_number(line).or_else(|| in_two_parts(line))
        {
            places.entry(text.to_owned()).or_default().push(at);
        }
    }
    places.into_values().filter(|places| places.len() >= 3).flatten().collect()
}

/// Returns a line whose two parts are at the two edges of the page.
fn in_two_parts(line: &str) -> Option<&str> {
    let line = line.trim();
    line.contains("          ").then_some(line)
}

/// Returns the text of a line that begins or ends with a number, at least three spaces away.
fn beside_number(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_number =
        |text: &str| !text.is_empty() && text.len() <= 5 && text.chars().all(|c| c.is_ascii_digit());
    let (before, after) = (line.rsplit_once("   "), line.split_once("   "));
    let ends = before.filter(|(_, number)| is_number(number.trim())).map(|(text, _)| text.trim());
    let begins = after.filter(|(number, _)| is_number(number.trim())).map(|(_, text)| text.trim());
    ends.or(begins)
}
