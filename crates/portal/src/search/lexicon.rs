//! The words of all entries, each once: a question is compared with each word once, and not once for every entry that has
//! the word.

use super::FIELDS;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use words::{Language, for_each_stem, ideographs, tokens};

/// A word keeps its number, also if no entry has it any more, until the process ends.
#[derive(Default)]
pub struct Lexicon {
    known: HashMap<Box<str>, Range<u32>>,
    terms: Vec<Term>,
}

/// A word of the text with one of its stems.
pub(super) struct Term {
    pub stem: Box<str>,
    /// As it is in the text, in lower case.
    pub word: Box<str>,
    pub stem_letters: u32,
    pub letters: u32,
}

/// The words of an entry by their numbers, with their weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms(Box<[(u32, f32)]>);

impl Term {
    pub fn new(stem: &str, word: &str) -> Self {
        Self { stem: stem.into(), word: word.into(), stem_letters: letters(stem), letters: letters(word) }
    }
}

impl Lexicon {
    /// Reads the texts of an entry, by the names of their fields.
    pub fn read(&mut self, texts: &[(&'static str, Cow<str>)]) -> Terms {
        let mut terms: Vec<(u32, f32)> = Vec::new();
        for (name, text) in texts {
            let weight = FIELDS.iter().find(|(own, _)| own == name).map_or(0.0, |(_, weight)| *weight);
            for (_, word) in tokens(&text.to_lowercase()) {
                terms.extend(self.numbers(word).map(|number| (number, weight)));
            }
        }
        terms.sort_by_key(|(number, _)| *number);
        terms.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        Terms(terms.into())
    }

    /// Returns a number for each stem of a word.
    fn numbers(&mut self, word: &str) -> Range<u32> {
        if let Some(numbers) = self.known.get(word) {
            return numbers.clone();
        }
        let first = self.terms.len() as u32;
        for_each_stem(word, Language::English, |stem| self.terms.push(Term::new(stem, word)));
        self.terms.extend(ideographs(word).map(|(_, letter)| Term::new(letter, word)));
        let numbers = first..self.terms.len() as u32;
        self.known.insert(word.into(), numbers.clone());
        numbers
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }
}

impl Terms {
    /// Returns how well the entry matches a word of the question; `alike` has that word's similarity to each word of the
    /// lexicon.
    pub(super) fn worth(&self, alike: &[f32]) -> f32 {
        self.0.iter().fold(0.0f32, |best, (number, weight)| {
            best.max(weight * alike.get(*number as usize).copied().unwrap_or_default())
        })
    }
}

/// Returns a bit for each letter that occurs: words that differ by one letter differ in at most two bits.
pub(super) fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |letters, byte| letters | 1 << (byte & 31))
}
