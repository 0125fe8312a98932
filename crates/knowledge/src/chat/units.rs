//! A text in parts that can be read alone.

use std::ops::Range;

/// Fewer words are a title, not a sentence.
const SHORTEST: usize = 4;
/// Bytes of what can be quoted.
const LONGEST: usize = 1200;
/// A shorter line was not broken for want of room.
const FULL_LINE: usize = 50;

/// The sentences of its paragraphs, the rows of its tables and the entries of its lists. A title goes with what follows
/// it, and a sentence about "it" with the one before.
pub fn units(text: &str) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut after_title = false;
    for block in blocks(text) {
        for range in words::sentences(&text[block.clone()]) {
            let range = block.start + range.start..block.start + range.end;
            match units.last_mut() {
                Some(last) if after_title || leans_back(&text[range.clone()]) && last.end > block.start => {
                    last.end = range.end;
                }
                _ => units.push(range.clone()),
            }
            after_title = is_title(&text[range]);
        }
    }
    units.into_iter().flat_map(|range| pieces(text, range)).collect()
}

/// What is too long to be quoted falls into pieces between its words.
fn pieces(text: &str, mut range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    while range.len() > LONGEST {
        let end = text.floor_char_boundary(range.start + LONGEST);
        let kept = text[range.start..end].rsplit_once(char::is_whitespace);
        let kept = kept.map_or(end, |(kept, _)| range.start + kept.len());
        // A blank at the very beginning would leave nothing.
        let end = if kept > range.start { kept } else { end };
        pieces.push(range.start..end);
        range.start = end;
    }
    pieces.push(range);
    pieces
}

/// Lines that belong together: a paragraph may be broken into lines, a table's row or a list's entry is one line.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let line = line.trim_end();
        match blocks.last_mut() {
            Some(last) if open && goes_on(line) => last.end = range.end,
            _ => blocks.push(range),
        }
        open = is_broken(line);
    }
    blocks
}

/// Whether a line was broken because it was full.
fn is_broken(line: &str) -> bool {
    line.chars().count() >= FULL_LINE && !line.ends_with(['.', ':', '!', '?', ';', '|']) && !has_columns(line)
}

/// Whether a line can be the rest of the one before.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    let is_labelled = line.split(' ').take(2).any(|word| word.ends_with(':'));
    line.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '(' | '"' | '`'))
        && !is_labelled
        && !has_columns(line)
}

fn has_columns(line: &str) -> bool {
    line.trim_start().contains("   ")
}

pub fn is_title(text: &str) -> bool {
    text.split_whitespace().count() < SHORTEST && !text.trim_end().ends_with(['.', ':', ';', ','])
}

/// Whether it is a part of a picture made of letters.
pub fn is_drawing(text: &str) -> bool {
    text.contains(|c: char| ('\u{2500}'..='\u{257f}').contains(&c))
        || has_columns(text) && text.ends_with(',')
}

/// Whether a sentence says what it is about only in the one before.
fn leans_back(sentence: &str) -> bool {
    let first = sentence.split_whitespace().next().unwrap_or_default();
    ["It", "They", "He", "She", "This", "These", "Its", "Their"].contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = units(text).into_iter().map(|range| text[range].trim()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sentences_stand_alone_unless_they_lean_on_the_one_before() {
        check("The pump is blue. Seals are grey.", &["The pump is blue.", "Seals are grey."]);
        check("The pump is blue. It was built in Turin.", &["The pump is blue. It was built in Turin."]);
        check("", &[]);
    }

    #[test]
    fn a_title_goes_with_what_follows_it() {
        check("Seals\nReplace them every year.", &["Seals\nReplace them every year."]);
        check("lp\n  Printers belong to this group.", &["lp\n  Printers belong to this group."]);
    }

    #[test]
    fn rows_and_entries_are_parts_but_broken_lines_are_not() {
        let table = "variable: IDLE_TIMEOUT; default: 75s; meaning: How long it may stay open\n\
            variable: JWT_TTL; default: 1h; meaning: How long a token is valid";
        check(table, &table.lines().collect::<Vec<_>>());
        let commands = "stoa serve           everything in one process, as it is\nstoa check           reach all of them";
        check(commands, &commands.lines().collect::<Vec<_>>());
        let broken =
            "A paragraph that was written with lines of some eighty letters\nis one sentence all the same.";
        check(broken, &[broken]);
    }

    #[test]
    fn pictures_are_known_by_their_lines() {
        assert!(is_drawing("strict framing,             request id,"));
        assert!(is_drawing("a ─ b"));
        assert!(!is_drawing("stoa completions SHELL     completions for bash, zsh, fish"));
    }

    #[test]
    fn what_has_no_end_is_cut_between_words() {
        let endless = "wörter ohne ende ".repeat(1000);
        let found = units(&endless);
        assert!(found.len() > 10 && found.iter().all(|range| range.len() <= LONGEST));
        assert_eq!(found.iter().map(|range| &endless[range.clone()]).collect::<String>(), endless.trim_end());
        for blank in ["", "\u{a0}", "\u{3000}", " "] {
            let text = format!("ö{blank}").repeat(5000);
            let found = units(&text);
            assert!(found.iter().all(|range| range.len() <= LONGEST && text.get(range.clone()).is_some()));
        }
    }
}
