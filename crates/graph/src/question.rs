//! The names in a question. It may be written in lower case or with every word capitalised, so capitals are ignored:
//! every run of words is a candidate, and the keys of the documents decide.

use std::collections::HashSet;

use ::words::Language;

use crate::key::key;
use crate::lexicon::WordClasses;
use crate::text::{Word, words};

const MOST_WORDS: usize = 64;
const LONGEST_NAME: usize = 9;

/// Returns the keys that a question may name, the longest first. Most of them are in no document.
pub fn names_in(text: &str) -> Vec<String> {
    let mut words = words(text);
    words.truncate(MOST_WORDS);
    let language = Language::of(text).unwrap_or_default();
    let mut keys: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for length in (1..=LONGEST_NAME.min(words.len())).rev() {
        for run in words.windows(length).filter(|run| may_name(run, language)) {
            let key = key(run.iter().map(|word| word.text));
            if !key.is_empty() && seen.insert(key.clone()) {
                keys.push(key);
            }
        }
    }
    keys
}

fn may_name(run: &[Word<'_>], language: Language) -> bool {
    let crosses_sentences = run[1..].iter().any(Word::starts_sentence);
    let says = run.iter().any(|word| !word.is_stop_in(language));
    let opens_with_article = run[0].is_article();
    let general = WordClasses::WEAK.or(WordClasses::PLAIN);
    let is_general = run.len() == 1 && run[0].classes.any(general) && !run[0].is_capitalized();
    says && !crosses_sentences && !opens_with_article && !is_general
}
