//! Concepts: phrases of content words between function words, names and punctuation.

use std::ops::Range;

use ::words::Language;

use crate::lexicon::WordClasses;
use crate::parsed_text::{Line, ParsedText, TextPart};
use crate::text::{Gap, Shape, Word};
use crate::units::{is_measure, is_unit};

pub const MAX_PHRASE_WORDS: usize = 4;

/// Returns every phrase of a line that could be a concept, also nested ones. A name of one word may start a phrase
/// ("Lyme disease"); otherwise phrases are between names.
pub fn phrases(line: &Line<'_>, parsed: &ParsedText<'_>, names: &[Range<usize>]) -> Vec<Range<usize>> {
    // Where nouns have capitals, words without them are none.
    if line.capitalizes_nouns() {
        return Vec::new();
    }
    let scan = Scan { words: &line.words, parsed, part: line.part, language: line.language };
    let mut phrases = Vec::new();
    let mut after_name = 0;
    for name in names {
        scan.between(after_name..name.start, &mut phrases);
        after_name = name.end;
        if name.len() == 1 {
            scan.opened_by(name.start, &mut phrases);
        }
    }
    scan.between(after_name..line.words.len(), &mut phrases);
    phrases
}

struct Scan<'s, 'a> {
    words: &'s [Word<'a>],
    parsed: &'s ParsedText<'a>,
    part: TextPart,
    language: Language,
}

impl Scan<'_, '_> {
    fn between(&self, range: Range<usize>, phrases: &mut Vec<Range<usize>>) {
        let mut at = range.start;
        while at < range.end {
            let length = self.run_length(at..range.end);
            self.add_phrases(at..at + length, phrases);
            at += length.max(1);
            if length > 0 && at + 1 < range.end {
                self.add_joined(at, phrases);
            }
        }
    }

    /// Returns how many words from the start of the range belong together.
    fn run_length(&self, range: Range<usize>) -> usize {
        let belongs = |index: &usize| {
            let word = &self.words[*index];
            let follows = *index == range.start || word.gap == Gap::Space;
            let is_function = word.is_stop || self.parsed.is_verb(word);
            follows && is_content(word) && !is_function
        };
        range.clone().take_while(belongs).count()
    }

    fn add_phrases(&self, run: Range<usize>, phrases: &mut Vec<Range<usize>>) {
        for start in run.clone() {
            for end in start + 1..=run.end.min(start + MAX_PHRASE_WORDS) {
                // A phrase ends at a possessive: "the pump's seal" is two entities.
                if end > start + 1 && self.words[end - 2].possessive {
                    break;
                }
                if self.may_end(end) && is_specific(&self.words[start..end]) && self.is_noun(start..end) {
                    phrases.push(start..end);
                }
            }
        }
    }

    /// Adds phrases like "angle of attack"; `of` is the index of the middle word.
    fn add_joined(&self, of: usize, phrases: &mut Vec<Range<usize>>) {
        let (first, last) = (&self.words[of - 1], &self.words[of + 1]);
        let is_joined = self.words[of].lower == "of" && self.words[of].gap == Gap::Space && !first.possessive;
        let is_specific =
            |word: &Word<'_>| word.shape == Shape::Lower && !word.classes.any(WordClasses::PLAIN);
        let continues = self.run_length(of + 1..(of + 3).min(self.words.len())) == 1;
        if is_joined && is_specific(first) && is_specific(last) && last.gap == Gap::Space && continues {
            phrases.push(of - 1..of + 2);
        }
    }

    /// Adds phrases that start with a name, if it is used like a noun and not as the subject of a verb.
    fn opened_by(&self, name: usize, phrases: &mut Vec<Range<usize>>) {
        let opener = &self.words[name];
        let is_led = name > 0 && opener.gap == Gap::Space && self.words[name - 1].shape == Shape::Lower;
        let is_noun =
            is_led || opener.shape == Shape::Upper || opener.starts_sentence() || self.part != TextPart::Body;
        let next = self.words.get(name + 1);
        if opener.possessive
            || !is_noun
            || next.is_none_or(|next| next.gap != Gap::Space || next.is_capitalized())
        {
            return;
        }
        let is_plain = |index: usize| self.words[index].classes.any(WordClasses::PLAIN);
        let length = self.run_length(name + 1..self.words.len());
        for end in name + 2..=(name + 1 + length).min(name + MAX_PHRASE_WORDS) {
            let last = &self.words[end - 1].lower;
            let ends_like_verb =
                last.ends_with('s') && (!is_led || is_plain(end - 1)) || last.ends_with("ing");
            if self.may_end(end) && !ends_like_verb {
                phrases.push(name..end);
            }
        }
    }

    /// Only English has lists of verbs and adjectives: in other languages a single word must follow an article or the
    /// like.
    fn is_noun(&self, phrase: Range<usize>) -> bool {
        let is_led = phrase.start > 0 && self.words[phrase.start - 1].is_stop;
        phrase.len() > 1 || is_led || self.language == Language::English
    }

    fn may_end(&self, end: usize) -> bool {
        let word = &self.words[end - 1];
        let is_participle =
            word.lower.len() > 4 && word.lower.ends_with("ed") && !word.lower.ends_with("eed");
        let takes_object = self.words.get(end).is_some_and(|next| {
            next.gap == Gap::Space && next.classes.any(WordClasses::DETERMINES) && word.lower.ends_with('s')
        });
        !(word.classes.any(WordClasses::DEMONYM) || is_participle || takes_object)
    }
}

fn is_content(word: &Word<'_>) -> bool {
    let letters = word.lower.chars().filter(|c| c.is_alphabetic()).count();
    let enough = if word.shape == Shape::Other { 2 } else { 3 };
    // A run of a script without spaces that includes grammatical endings.
    let is_unspaced =
        word.shape == Shape::Other && word.text.contains(|c| ('\u{3041}'..='\u{309f}').contains(&c));
    let is_adverb = word.lower.len() > 4 && word.lower.ends_with("ly") && word.shape == Shape::Lower;
    letters >= enough
        && !is_adverb
        && !is_unspaced
        && !is_unit(word.text)
        && !is_measure(word.text)
        && !matches!(word.shape, Shape::Number | Shape::Identifier)
        && !word
            .classes
            .any(WordClasses::WEAK.or(WordClasses::DATE).or(WordClasses::HONORIFIC).or(WordClasses::ARTICLE))
}

/// Returns whether at least one word is specific.
fn is_specific(words: &[Word<'_>]) -> bool {
    let general = WordClasses::PLAIN.or(WordClasses::DEMONYM).or(WordClasses::ROLE).or(WordClasses::RANK);
    let is_specific = words.iter().any(|word| !word.classes.any(general));
    is_specific && (words.len() > 1 || words[0].lower.chars().count() > 2)
}
