//! Splits text before byte-level merges: hand-written versions of the patterns that the models were trained with.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::ModelError;

/// A family of patterns, by its name in GGUF files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Splitter {
    Gpt2,
    /// Like GPT-2, after every digit was split off.
    SmolLm,
    Llama3,
    /// Like Llama 3, with every digit by itself.
    Qwen2,
    /// For files that do not name one: GPT-2 after punctuation, then numbers in groups of three digits.
    Default,
}

/// Returns the length of the first part of a non-empty text, at least one character.
type FirstPart = fn(&str) -> usize;

impl Splitter {
    pub fn named(name: Option<&str>) -> Result<Self, ModelError> {
        match name {
            None | Some("default") => Ok(Self::Default),
            Some("gpt-2") => Ok(Self::Gpt2),
            Some("smollm") => Ok(Self::SmolLm),
            Some("llama-bpe" | "llama3" | "llama-v3") => Ok(Self::Llama3),
            Some("qwen2") => Ok(Self::Qwen2),
            Some(other) => Err(ModelError::unsupported(format!(
                "`tokenizer.ggml.pre` is `{other}`: one of default, gpt-2, llama-bpe, qwen2, smollm"
            ))),
        }
    }

    pub fn split<'a>(self, text: &'a str, mut take: impl FnMut(&'a str)) {
        let patterns: &[FirstPart] = match self {
            Self::Gpt2 => &[gpt2],
            Self::SmolLm => &[single_digits, gpt2],
            Self::Llama3 => &[llama3],
            Self::Qwen2 => &[qwen2],
            Self::Default => &[punctuation, gpt2, numbers, three_digits],
        };
        split_by(patterns, text, &mut take);
    }
}

/// Applies the patterns in order, each to the parts that the one before it left.
fn split_by<'a>(patterns: &[FirstPart], text: &'a str, take: &mut dyn FnMut(&'a str)) {
    let Some((pattern, others)) = patterns.split_first() else { return take(text) };
    let mut rest = text;
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(pattern(rest));
        split_by(others, part, take);
        rest = behind;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Number,
    Space,
    Other,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Number,
        space if space.is_whitespace() => Class::Space,
        ascii if ascii.is_ascii() => Class::Other,
        other => match other.general_category_group() {
            GeneralCategoryGroup::Letter => Class::Letter,
            GeneralCategoryGroup::Number => Class::Number,
            _ => Class::Other,
        },
    }
}

/// Returns the length of the characters at the start of the text that pass.
fn run(text: &str, passes: impl Fn(char) -> bool) -> usize {
    text.find(|character| !passes(character)).unwrap_or(text.len())
}

fn run_of(text: &str, wanted: Class) -> usize {
    run(text, |character| class(character) == wanted)
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
fn gpt2(text: &str) -> usize {
    if let Some(len) = contraction(text, |a, b| a == b) {
        return len;
    }
    let space = usize::from(text.starts_with(' '));
    match text[space..].chars().next().map(class) {
        Some(class) if class != Class::Space => space + run_of(&text[space..], class),
        _ => spaces(text),
    }
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*`
/// `|\s*[\r\n]+|\s+(?!\S)|\s+`
fn llama3(text: &str) -> usize {
    with_numbers_of(3, text)
}

/// The same with `\p{N}` in place of `\p{N}{1,3}`.
fn qwen2(text: &str) -> usize {
    with_numbers_of(1, text)
}

fn with_numbers_of(digits: usize, text: &str) -> usize {
    if let Some(len) = contraction(text, |a, b| a.eq_ignore_ascii_case(b)) {
        return len;
    }
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return 0 };
    let first_class = class(first);
    if first_class == Class::Number {
        return text
            .chars()
            .take(digits)
            .take_while(|next| class(*next) == Class::Number)
            .map(char::len_utf8)
            .sum();
    }
    let letters_from = match first_class {
        Class::Letter => 0,
        _ if matches!(first, '\r' | '\n') => text.len(),
        _ => first.len_utf8(),
    };
    let letters = run_of(&text[letters_from..], Class::Letter);
    if letters > 0 {
        return letters_from + letters;
    }
    let space = usize::from(first == ' ');
    let others = run_of(&text[space..], Class::Other);
    if others > 0 {
        let end = space + others;
        return end + run(&text[end..], |next| matches!(next, '\r' | '\n'));
    }
    let white = &text[..run_of(text, Class::Space)];
    match white.rfind(['\r', '\n']) {
        Some(last_newline) => last_newline + 1,
        None => spaces(text),
    }
}

fn contraction(text: &str, same: impl Fn(&[u8], &[u8]) -> bool) -> Option<usize> {
    let letters = text.as_bytes().strip_prefix(b"'")?;
    let endings: [&[u8]; 7] = [b"s", b"t", b"re", b"ve", b"m", b"ll", b"d"];
    let found =
        endings.iter().find(|ending| letters.get(..ending.len()).is_some_and(|start| same(start, ending)));
    found.map(|ending| ending.len() + 1)
}

/// Matches `\s+(?!\S)|\s+`: white space, but its last character only if nothing follows or if it is the only one.
fn spaces(text: &str) -> usize {
    let white = &text[..run_of(text, Class::Space)];
    let before_last = white.char_indices().next_back().map_or(0, |(at, _)| at);
    if white.len() == text.len() || before_last == 0 { white.len() } else { before_last }
}

fn single_digits(text: &str) -> usize {
    match run(text, |character| class(character) != Class::Number) {
        0 => text.chars().next().map_or(0, char::len_utf8),
        others => others,
    }
}

fn numbers(text: &str) -> usize {
    alternate(text, |character| class(character) == Class::Number)
}

fn punctuation(text: &str) -> usize {
    alternate(text, |character| {
        matches!(character, '$' | '+' | '<' | '=' | '>' | '^' | '~' | '|')
            || character.general_category_group() == GeneralCategoryGroup::Punctuation
    })
}

/// Returns the length of a run of characters that pass, or that do not.
fn alternate(text: &str, passes: impl Fn(char) -> bool) -> usize {
    let first_passes = text.chars().next().is_some_and(&passes);
    run(text, |character| passes(character) == first_passes)
}

/// Matches `[0-9][0-9][0-9]`, or the text before it.
fn three_digits(text: &str) -> usize {
    let threes = text.as_bytes().windows(3).position(|three| three.iter().all(u8::is_ascii_digit));
    match threes {
        Some(0) => 3,
        Some(at) => at,
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(splitter: Splitter, text: &str, expected: &[&str]) {
        let mut parts = Vec::new();
        splitter.split(text, |part| parts.push(part));
        assert_eq!(parts, expected, "{splitter:?}");
    }

    #[test]
    fn gpt2_joins_one_space_to_what_follows() {
        check(
            Splitter::Gpt2,
            "I'll  say: 'S\n\n x1 ",
            &["I", "'ll", " ", " say", ":", " '", "S", "\n\n", " x", "1", " "],
        );
        check(Splitter::Gpt2, "a\n\nb", &["a", "\n", "\n", "b"]);
    }

    #[test]
    fn smollm_cuts_every_digit() {
        check(Splitter::SmolLm, "in  2024.", &["in", "  ", "2", "0", "2", "4", "."]);
    }

    #[test]
    fn llama3_takes_numbers_by_threes_and_newlines_with_what_stands_before() {
        check(
            Splitter::Llama3,
            "I'LL pay 12345!\n\n ok",
            &["I", "'LL", " pay", " ", "123", "45", "!\n\n", " ok"],
        );
        check(Splitter::Llama3, "a \n \n  b", &["a", " \n \n", " ", " b"]);
        check(Splitter::Llama3, "(né)", &["(né", ")"]);
    }

    #[test]
    fn qwen2_takes_every_digit_apart() {
        check(Splitter::Qwen2, "I'll pay 123!\n ok", &["I", "'ll", " pay", " ", "1", "2", "3", "!\n", " ok"]);
    }

    #[test]
    fn default_takes_punctuation_and_digits_apart() {
        check(Splitter::Default, "x=12345 y", &["x", "=", "123", "45", " y"]);
    }
}
