//! Splits a text into words in lower case, and into runs of letters that are written without spaces.

use std::borrow::Cow;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Longest word in bytes; a longer run of letters is split.
pub const LONGEST: usize = 64;

/// A part of a text that is searched for, in NFKC.
pub enum Piece<'a> {
    /// A run of letters and digits.
    Word(&'a str),
    /// A run of Chinese, Japanese or Korean letters: several words without spaces, or with endings of many forms.
    Ideographs(&'a str),
}

/// Calls `found` with each piece of the text, in order.
pub fn for_each_piece(text: &str, mut found: impl FnMut(Piece<'_>)) {
    let (mut word, mut run) = (String::new(), String::new());
    for letter in normalised(text).chars() {
        let is_ideograph = is_ideograph(letter);
        // A mark belongs to the letter before it.
        let is_in_word = !is_ideograph && (letter.is_alphanumeric() || is_mark(letter));
        if !word.is_empty() && (!is_in_word || word.len() >= LONGEST) {
            found(Piece::Word(&word));
            word.clear();
        }
        if !run.is_empty() && !is_ideograph {
            found(Piece::Ideographs(&run));
            run.clear();
        }
        if is_ideograph {
            run.push(letter);
        } else if letter.is_ascii_alphanumeric() {
            word.push(letter.to_ascii_lowercase());
        } else if is_in_word && !(word.is_empty() && is_mark(letter)) {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        found(Piece::Word(&word));
    }
    if !run.is_empty() {
        found(Piece::Ideographs(&run));
    }
}

fn normalised(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().collect())
}

fn is_mark(letter: char) -> bool {
    !letter.is_ascii() && is_combining_mark(letter)
}

/// Returns whether a letter is Chinese, Japanese or Korean.
pub fn is_ideograph(letter: char) -> bool {
    let is_in_block = matches!(
        u32::from(letter),
        0x2E80..=0x31FF | 0x3400..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF
    );
    is_in_block && letter.is_alphanumeric()
}
