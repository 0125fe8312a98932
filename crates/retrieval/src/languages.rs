//! The languages of the documents, each found from its passages.

use crate::passage::Passage;
use words::{Evidence, Language};

/// How many passages of a document are looked at, and how many bytes of each.
const PASSAGES: usize = 16;
const BYTES: usize = 512;
/// The stop words that it must have. Fewer may be in the names of an English text.
const LEAST_WORDS: usize = 5;

/// How many documents are in each language.
#[derive(Default)]
pub struct Languages([u32; Language::COUNT]);

impl Languages {
    pub fn add(&mut self, language: Language) {
        self.0[language as usize] += 1;
    }

    pub fn remove(&mut self, language: Language) {
        self.0[language as usize] -= 1;
    }

    /// Returns the languages in which there are documents.
    pub fn present(&self) -> Vec<Language> {
        Language::all().iter().copied().filter(|language| self.0[*language as usize] > 0).collect()
    }
}

/// Returns the language of a document; English if its words do not tell.
pub fn language_of(passages: &[Passage<'_>]) -> Language {
    let mut evidence = Evidence::default();
    for passage in passages.iter().step_by(passages.len().div_ceil(PASSAGES).max(1)) {
        evidence.add(&passage.text[..passage.text.floor_char_boundary(BYTES)]);
    }
    evidence.language(LEAST_WORDS).unwrap_or_default()
}
