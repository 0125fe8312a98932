//! BERT's normalizer and pre-tokenizer for one character: cleans it, strips accents, lowers its case, and decides
//! whether it is part of a word or a word by itself.

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::config::NormalizerOptions;

/// What one character of the text adds to the words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    Nothing,
    Break,
    /// A further character of the current word.
    Part(char),
    /// A word of its own.
    Alone(char),
    /// More than one step: see [`StepTable::each`].
    Several,
}

/// The steps of all characters below [`LOOKED_UP`] (the alphabets) in a table; those of others are computed.
#[derive(Debug)]
pub struct StepTable {
    options: Options,
    steps: Vec<Step>,
}

const LOOKED_UP: u32 = 0x3000;

impl StepTable {
    pub fn new(options: NormalizerOptions) -> Self {
        let options = Options {
            clean: options.clean_text,
            separate_chinese: options.handle_chinese_chars,
            strip_accents: options.strips_accents(),
            lowercase: options.lowercase,
        };
        let steps = (0..LOOKED_UP).filter_map(char::from_u32).map(|c| options.single_step(c)).collect();
        Self { options, steps }
    }

    #[inline]
    pub fn get(&self, character: char) -> Step {
        match self.steps.get(character as usize) {
            Some(step) => *step,
            None => self.options.single_step(character),
        }
    }

    pub fn each(&self, character: char, take: impl FnMut(Step)) {
        self.options.each_step(character, take);
    }
}

#[derive(Debug)]
struct Options {
    clean: bool,
    separate_chinese: bool,
    strip_accents: bool,
    lowercase: bool,
}

impl Options {
    fn single_step(&self, character: char) -> Step {
        let mut found = Step::Nothing;
        self.each_step(character, |step| found = if found == Step::Nothing { step } else { Step::Several });
        found
    }

    fn each_step(&self, character: char, mut take: impl FnMut(Step)) {
        if self.clean && is_cleaned_away(character) {
            return;
        }
        let chinese = self.separate_chinese && is_chinese(character);
        let mut classify = |character: char| {
            take(match character {
                space if space.is_whitespace() => Step::Break,
                alone if chinese || is_punctuation(alone) => Step::Alone(alone),
                part => Step::Part(part),
            });
        };
        let mut lower = |character: char| match self.lowercase {
            true => character.to_lowercase().for_each(&mut classify),
            false => classify(character),
        };
        if !self.strip_accents {
            return lower(character);
        }
        // Canonical order is not needed: it moves only accents, which are dropped here.
        decompose_canonical(character, |part| {
            if !is_accent(part) {
                lower(part);
            }
        });
    }
}

fn is_cleaned_away(character: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse};
    match character {
        '\t' | '\n' | '\r' => false,
        '\0' | '\u{fffd}' => true,
        other => matches!(other.general_category(), Control | Format | PrivateUse) && !is_newer(other),
    }
}

fn is_punctuation(character: char) -> bool {
    match character {
        ascii if ascii.is_ascii() => ascii.is_ascii_punctuation(),
        '\u{166d}' | '\u{111c9}' => true,
        other => other.general_category_group() == GeneralCategoryGroup::Punctuation && !is_newer(other),
    }
}

pub fn is_accent(character: char) -> bool {
    match character {
        ascii if ascii.is_ascii() => false,
        '\u{1734}' | '\u{1171e}' => true,
        '\u{111c9}' => false,
        other => other.general_category() == GeneralCategory::NonspacingMark && !is_newer(other),
    }
}

/// Returns whether a character is newer than Unicode 8. Models of this kind were trained with that version, in which
/// newer ones were letters. The four characters listed above were of another kind then.
fn is_newer(character: char) -> bool {
    let code = character as u32;
    let range = AFTER_UNICODE_8.partition_point(|range| range.1 < code);
    AFTER_UNICODE_8.get(range).is_some_and(|range| range.0 <= code)
}

/// Only ranges for which it makes a difference; characters of Unicode 8 inside them are letters in both.
#[rustfmt::skip]
const AFTER_UNICODE_8: [(u32, u32); 43] = [
    (0x5c8, 0x5c9), (0x61d, 0x61d), (0x7fd, 0x7fd), (0x890, 0x8e2), (0x9fd, 0x9fe), (0xa76, 0xa76),
    (0xafa, 0xaff), (0xb53, 0xb55), (0xc04, 0xc3c), (0xc77, 0xc77), (0xc84, 0xc84), (0xd00, 0xd00),
    (0xd3b, 0xd3c), (0xd81, 0xd81), (0xeba, 0xeba), (0xece, 0xece), (0x180f, 0x1886), (0x1abf, 0x1af0),
    (0x1b4e, 0x1b4f), (0x1b7d, 0x1b7f), (0x1df6, 0x1dfb), (0x2e43, 0x2e63), (0xa82c, 0xa82c),
    (0xa8c5, 0xa8c5), (0xa8ff, 0xa8ff), (0xa9bd, 0xa9bd), (0x10d24, 0x10f89), (0x11070, 0x11074),
    (0x110c2, 0x110cd), (0x111cf, 0x111cf), (0x1123e, 0x11241), (0x1133b, 0x1133b), (0x113bb, 0x1145e),
    (0x11660, 0x1166c), (0x116b9, 0x116b9), (0x1182f, 0x11fff), (0x12ff1, 0x1612f), (0x16d6d, 0x16f4f),
    (0x16fe2, 0x16fe4), (0x1cf00, 0x1d128), (0x1d25b, 0x1d25c), (0x1e000, 0x1e6f5), (0x1e944, 0x1e95f),
];

fn is_chinese(character: char) -> bool {
    matches!(character as u32,
        0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0x20000..=0x2a6df
        | 0x2a700..=0x2b81f
        | 0x2b920..=0x2ceaf
        | 0x2f800..=0x2fa1f)
}
