//! Concepts: phrases of content words between function words, names and punctuation.

use std::ops::Range;

use crate::lexicon::Marks;
use crate::reading::{Line, Reading};
use crate::text::{Gap, Shape, Word};

const LONGEST_PHRASE: usize = 4;

/// Every phrase of a line that could be a concept, nested ones included, outside of the names.
pub fn phrases(line: &Line<'_>, reading: &Reading<'_>, names: &[Range<usize>]) -> Vec<Range<usize>> {
    let words = &line.words;
    let mut phrases = Vec::new();
    let mut names = names.iter().peekable();
    let mut at = 0;
    while at < words.len() {
        while names.next_if(|name| name.end <= at).is_some() {}
        let limit = names.peek().map_or(words.len(), |name| name.start);
        let length = run_length(&words[at..limit.max(at)], reading);
        add_phrases(words, at..at + length, &mut phrases);
        at = match names.peek() {
            Some(name) if at + length >= name.start => name.end,
            _ => at + length.max(1),
        };
    }
    phrases
}

/// How many words from here on belong together.
fn run_length(words: &[Word<'_>], reading: &Reading<'_>) -> usize {
    let breaks = |(index, word): (usize, &Word<'_>)| {
        index > 0 && word.gap != Gap::Space || !is_content(word) || reading.is_stop(word)
    };
    words.iter().enumerate().position(breaks).unwrap_or(words.len())
}

fn is_content(word: &Word<'_>) -> bool {
    let letters = word.lower.chars().filter(|c| c.is_alphabetic()).count();
    let enough = if word.shape == Shape::Other { 2 } else { 3 };
    let is_adverb = word.lower.len() > 4 && word.lower.ends_with("ly") && word.shape == Shape::Lower;
    letters >= enough && !is_adverb && !word.marks.any(Marks::DATE.or(Marks::HONORIFIC))
}

fn add_phrases(words: &[Word<'_>], run: Range<usize>, phrases: &mut Vec<Range<usize>>) {
    for start in run.clone() {
        if !may_open(&words[start]) {
            continue;
        }
        for end in start + 1..=run.end.min(start + LONGEST_PHRASE) {
            // Nothing reaches over a possessive: "the pump's seal" names two things.
            if end > start + 1 && words[end - 2].possessive {
                break;
            }
            if may_end(&words[end - 1]) && is_telling(&words[start..end]) {
                phrases.push(start..end);
            }
        }
    }
}

fn may_open(word: &Word<'_>) -> bool {
    !word.marks.any(Marks::WEAK)
}

fn may_end(word: &Word<'_>) -> bool {
    let is_participle = word.lower.len() > 4 && word.lower.ends_with("ed") && !word.lower.ends_with("eed");
    !word.marks.any(Marks::WEAK.or(Marks::DEMONYM)) && !is_participle
}

/// At least one word that is not general; a lone one must not look like a verb form either.
fn is_telling(words: &[Word<'_>]) -> bool {
    let general = Marks::PLAIN.or(Marks::DEMONYM).or(Marks::ROLE);
    let tells = words.iter().any(|word| !word.marks.any(general));
    tells && (words.len() > 1 || words[0].lower.chars().count() > 3)
}
