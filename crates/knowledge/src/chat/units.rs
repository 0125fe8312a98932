//! Splits a text into parts that can be understood alone.

use std::ops::Range;

/// Fewer words are a title, not a sentence.
const SHORTEST: usize = 4;
/// The most bytes that are quoted.
const LONGEST: usize = 1200;
/// In characters. A shorter line ends on purpose, not because it was full.
const FULL_LINE: usize = 50;

/// Returns the sentences of paragraphs, the rows of tables and the entries of lists. A title is joined with what follows,
/// and a sentence about "it" with the one before.
pub fn units(text: &str) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut after_title = false;
    for block in blocks(text) {
        for range in words::sentences(&text[block.clone()]) {
            let range = block.start + range.start..block.start + range.end;
            match units.last_mut() {
                Some(last) if after_title || refers_back(&text[range.clone()]) && last.end > block.start => {
                    last.end = range.end;
                }
                _ => units.push(range.clone()),
            }
            after_title = is_title(&text[range]);
        }
    }
    units.into_iter().flat_map(|range| pieces(text, range)).collect()
}

/// Splits a part that is too long to be quoted, between words.
fn pieces(text: &str, mut range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    while range.len() > LONGEST {
        let end = text.floor_char_boundary(range.start + LONGEST);
        let kept = text[range.start..end].rsplit_once(char::is_whitespace);
        let kept = kept.map_or(end, |(kept, _)| range.start + kept.len());
        // A space at the very beginning would leave nothing.
        let end = if kept > range.start { kept } else { end };
        pieces.push(range.start..end);
        range.start = end;
    }
    pieces.push(range);
    pieces
}

/// Joins lines that belong together: a paragraph may have several, a row of a table or an entry of a list has one.
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

/// Returns whether a line was broken because it was full.
fn is_broken(line: &str) -> bool {
    line.chars().count() >= FULL_LINE && !line.ends_with(['.', ':', '!', '?', ';', '|']) && !has_columns(line)
}

/// Returns whether a line can continue the one before.
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

/// Returns whether it is a part of a drawing made of characters.
pub fn is_drawing(text: &str) -> bool {
    text.contains(|c: char| ('\u{2500}'..='\u{257f}').contains(&c))
        || has_columns(text) && text.ends_with(',')
}

/// Returns whether a sentence needs the one before to be understood.
fn refers_back(sentence: &str) -> bool {
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
    fn sentences_are_separate_unless_they_refer_to_the_one_before() {
        check("The pump is blue. Seals are grey.", &["The pump is blue.", "Seals are grey."]);
        check("The pump is blue. It was built in Turin.", &["The pump is blue. It was built in Turin."]);
        check("", &[]);
    }

    #[test]
    fn a_title_is_joined_with_what_follows() {
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
    fn an_endless_sentence_is_split_between_words() {
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
