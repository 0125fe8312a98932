//! The words of all entries, each once: a question is compared with a word once, and not once for every entry that has
//! it.

use super::{FIELDS, plain};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::ops::Range;
use words::{for_each_stem, tokens};

/// A word keeps its number, also when the last entry that had it is gone: the next start forgets those.
#[derive(Default)]
pub struct Lexicon {
    known: HashMap<Box<str>, Range<u32>>,
    terms: Vec<Term>,
}

/// A word of the text with one of its stems.
pub(super) struct Term {
    pub stem: Box<str>,
    /// As it stands in the text, in lower case.
    pub word: Box<str>,
    pub stem_letters: u32,
    pub letters: u32,
}

/// The words of an entry by their numbers, with what they are worth there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms(Box<[(u32, f32)]>);

impl Term {
    pub fn new(stem: &str, word: &str) -> Self {
        Self { stem: stem.into(), word: word.into(), stem_letters: letters(stem), letters: letters(word) }
    }
}

impl Lexicon {
    pub fn read(&mut self, value: &Map<String, Value>) -> Terms {
        let mut terms: Vec<(u32, f32)> = Vec::new();
        for (name, weight) in FIELDS {
            let text = value.get(name).map(plain).unwrap_or_default().to_lowercase();
            for (_, word) in tokens(&text) {
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

    /// One for each stem of a word.
    fn numbers(&mut self, word: &str) -> Range<u32> {
        if let Some(numbers) = self.known.get(word) {
            return numbers.clone();
        }
        let first = self.terms.len() as u32;
        for_each_stem(word, |stem| self.terms.push(Term::new(stem, word)));
        let numbers = first..self.terms.len() as u32;
        self.known.insert(word.into(), numbers.clone());
        numbers
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }
}

impl Terms {
    /// How well a word of the question is met, which is as much alike to the words of the lexicon as `alike` says.
    pub(super) fn worth(&self, alike: &[f32]) -> f32 {
        self.0.iter().fold(0.0f32, |best, (number, weight)| {
            best.max(weight * alike.get(*number as usize).copied().unwrap_or_default())
        })
    }
}

/// One bit for each letter that occurs: words that differ by a letter differ in two of them at most.
pub(super) fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |letters, byte| letters | 1 << (byte & 31))
}
