//! Splits text into sentences.

use std::ops::Range;

/// Returns the byte ranges of the sentences in order, without the white space between them.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !is_terminator(c) {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((next, c)) = chars.next_if(|(_, c)| is_terminator(*c) || is_closer(*c)) {
            end = next + c.len_utf8();
        }
        if ends_sentence(text, start, at, c, end) {
            push(&mut found, text, start..end);
            start = end;
        }
    }
    push(&mut found, text, start..text.len());
    found
}

fn push(found: &mut Vec<Range<usize>>, text: &str, range: Range<usize>) {
    let sentence = &text[range.clone()];
    let start = range.end - sentence.trim_start().len();
    let end = start + sentence.trim().len();
    if start < end {
        found.push(start..end);
    }
}

fn is_terminator(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…') || is_wide_terminator(c)
}

/// Returns whether the character ends a sentence without a space after it.
fn is_wide_terminator(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '।' | '॥')
}

fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '”' | '’' | '»' | '」' | '』' | '）')
}

/// Returns whether the sentence from `start` ends with the terminator `c` at `at`, followed by closers up to `end`.
fn ends_sentence(text: &str, start: usize, at: usize, c: char, end: usize) -> bool {
    if is_wide_terminator(c) {
        return true;
    }
    let rest = &text[end..];
    let Some(next) = rest.trim_start().chars().next() else { return true };
    if !rest.starts_with(char::is_whitespace) {
        return false;
    }
    let before = &text[start..at];
    // "… the layer . it is": a full stop with a space on both sides ends a sentence.
    if before.ends_with(char::is_whitespace) {
        return true;
    }
    !next.is_lowercase() && (c != '.' || !is_abbreviation(before))
}

/// Returns whether a full stop after this text belongs to an abbreviation, an initial or an item number.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“')).next();
    let word = word.unwrap_or_default();
    let letters = word.chars().count();
    let is_initial = letters == 1 && word.chars().all(char::is_alphabetic);
    let is_number_of_item = before.trim_start() == word && word.chars().all(|c| c.is_ascii_digit());
    let has_dots_inside = word.contains('.') && word.chars().all(|c| c == '.' || c.is_alphabetic());
    is_initial
        || is_number_of_item
        || (has_dots_inside && letters <= 7)
        || (letters <= 6 && ABBREVIATIONS.contains(&word.to_lowercase().as_str()))
}

const ABBREVIATIONS: [&str; 49] = [
    "al", "approx", "art", "bzw", "ca", "cf", "ch", "col", "corp", "dept", "dr", "ed", "eds", "eq", "eqs",
    "est", "etc", "fig", "figs", "gen", "gov", "inc", "jr", "lt", "ltd", "max", "min", "mr", "mrs", "ms",
    "mt", "nr", "no", "nos", "op", "p", "pp", "prof", "ref", "refs", "resp", "rev", "sec", "sr", "st", "tab",
    "vgl", "vol", "vs",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sentences_end_at_terminators() {
        check("One. Two!  Three? \"Four.\" Five", &["One.", "Two!", "Three?", "\"Four.\"", "Five"]);
        check("no mark at all", &["no mark at all"]);
        check("", &[]);
        check("it grows . the layer is thin .", &["it grows .", "the layer is thin ."]);
        check("今日は。明日も！はい", &["今日は。", "明日も！", "はい"]);
    }

    #[test]
    fn abbreviations_and_numbers_do_not_end_a_sentence() {
        check(
            "See Fig. 3 of Dr. J. Smith et al. (2001). Then go.",
            &["See Fig. 3 of Dr. J. Smith et al. (2001).", "Then go."],
        );
        check("Use e.g. Oil at 3.5 bar. 1. First", &["Use e.g. Oil at 3.5 bar.", "1. First"]);
        check("the U.S. Navy vs. Yahoo! and more", &["the U.S. Navy vs. Yahoo! and more"]);
    }
}
