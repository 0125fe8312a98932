//! The encoder's tokenizer: BERT's WordPiece from a `tokenizer.json`. It reads the text once, without a string per
//! word, and stops when there are enough tokens.

mod config;
mod normalizer;
mod pieces;
mod ranges;

use super::special::SpecialTokens;
use crate::ModelError;
use config::Config;
use normalizer::{Step, StepTable};
use pieces::Pieces;
use ranges::{NoRanges, Places, Ranges};
use std::ops::Range;

/// A vocabulary of words and word parts, and the rules to split text into them.
#[derive(Debug)]
pub struct WordPiece {
    steps: StepTable,
    /// What an ASCII byte adds to a word if that is a single byte, else 0.
    ascii: [u8; 256],
    beginnings: Pieces,
    continuations: Pieces,
    added: SpecialTokens,
    unknown: u32,
    max_word_chars: usize,
    before: Vec<u32>,
    after: Vec<u32>,
    len: usize,
}

impl WordPiece {
    pub fn from_json(bytes: &[u8]) -> Result<Self, ModelError> {
        Self::new(Config::from_json(bytes)?)
    }

    /// Takes the vocabulary of an uncased BERT, a piece per line in the order of their ids.
    pub fn from_vocabulary(pieces: &[u8]) -> Result<Self, ModelError> {
        Self::new(Config::from_vocabulary(pieces)?)
    }

    fn new(config: Config) -> Result<Self, ModelError> {
        let Config { normalizer, added, template, model } = config;
        let prefix = model.prefix();
        let (continuing, beginning): (Vec<_>, Vec<_>) = model
            .vocab
            .iter()
            .partition(|(token, _)| token.len() > prefix.len() && token.starts_with(prefix));
        let steps = StepTable::new(normalizer);
        let highest = model.vocab.values().chain(added.values()).max().copied();
        let added = SpecialTokens::new(added.iter().map(|(token, id)| (token.as_str(), *id)));

        Ok(Self {
            ascii: simple_bytes(&steps, &added),
            steps,
            // A word may also begin with the characters of the prefix.
            beginnings: Pieces::new(beginning.into_iter().chain(continuing.clone()), 0),
            continuations: Pieces::new(continuing.into_iter(), prefix.len()),
            unknown: model.unknown()?,
            max_word_chars: model.max_input_chars_per_word,
            len: highest.map_or(0, |id| id as usize + 1),
            added,
            before: template.before,
            after: template.after,
        })
    }

    /// Returns the tokens of a text between `[CLS]` and `[SEP]`, at most `max_tokens` in all.
    pub fn encode(&self, text: &str, max_tokens: usize) -> Vec<u32> {
        self.encode_with(text, max_tokens, &mut NoRanges)
    }

    /// Returns the same tokens, and where in the text those between `[CLS]` and `[SEP]` come from: the ranges of their
    /// bytes, in order and on boundaries of characters. Tokens of one character have the same range.
    pub fn encode_with_ranges(&self, text: &str, max_tokens: usize) -> (Vec<u32>, Vec<Range<usize>>) {
        let mut places = Ranges::default();
        let tokens = self.encode_with(text, max_tokens, &mut places);
        let mut ranges = places.into_tokens();
        ranges.truncate(tokens.len().saturating_sub(self.markers()));
        (tokens, ranges)
    }

    fn encode_with(&self, text: &str, max_tokens: usize, places: &mut impl Places) -> Vec<u32> {
        let mut tokens = self.before.clone();
        let limit = max_tokens.saturating_sub(self.after.len());
        self.walk(text, limit, &mut tokens, places);
        tokens.truncate(limit);
        tokens.extend(&self.after);
        tokens.truncate(max_tokens);
        tokens
    }

    /// Returns how many tokens a text has, without those that [`Self::encode`] adds.
    pub fn count(&self, text: &str) -> usize {
        let mut tokens = Vec::new();
        self.walk(text, usize::MAX, &mut tokens, &mut NoRanges);
        tokens.len()
    }

    /// Returns how many tokens [`Self::encode`] adds to those of the text.
    pub fn markers(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// Returns how many rows a model's token embedding must have: one more than the highest token.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends whole words until there are at least `limit` tokens.
    fn walk(&self, text: &str, limit: usize, tokens: &mut Vec<u32>, places: &mut impl Places) {
        let mut word = Word::default();
        let mut rest = text;
        while tokens.len() < limit {
            let letters = self.simple_parts(rest);
            let kept = word.push_ascii(letters, &self.ascii, self.max_word_chars);
            places.letters(text.len() - rest.len(), letters.len(), kept);
            rest = &rest[letters.len()..];

            let Some(character) = rest.chars().next() else { break };
            let at = text.len() - rest.len();
            if self.added.may_begin_with(rest.as_bytes()[0])
                && let Some((len, id)) = self.added.at(rest)
            {
                self.end(&mut word, tokens, places);
                tokens.push(id);
                places.token(at..at + len);
                rest = &rest[len..];
                continue;
            }
            places.character(character, at);
            match self.steps.get(character) {
                Step::Several => {
                    self.steps.each(character, |step| self.take(step, &mut word, tokens, places));
                }
                step => self.take(step, &mut word, tokens, places),
            }
            rest = &rest[character.len_utf8()..];
        }
        self.end(&mut word, tokens, places);
    }

    /// Returns the ASCII letters and digits at the start of the text, which are most of most texts and need no
    /// lookup.
    fn simple_parts<'a>(&self, text: &'a str) -> &'a [u8] {
        let bytes = text.as_bytes();
        let end = bytes.iter().position(|byte| self.ascii[usize::from(*byte)] == 0);
        &bytes[..end.unwrap_or(bytes.len())]
    }

    fn take(&self, step: Step, word: &mut Word, tokens: &mut Vec<u32>, places: &mut impl Places) {
        match step {
            Step::Part(character) => places.part(word.push(character, self.max_word_chars)),
            Step::Nothing => places.nothing(),
            Step::Several => {}
            Step::Break => self.end(word, tokens, places),
            Step::Alone(character) => {
                self.end(word, tokens, places);
                places.part(word.push(character, self.max_word_chars));
                self.end(word, tokens, places);
            }
        }
    }

    /// Takes the longest piece, then the longest continuation of it, and so on. If a part of a word is in no piece,
    /// the whole word is unknown.
    fn end(&self, word: &mut Word, tokens: &mut Vec<u32>, places: &mut impl Places) {
        if word.chars == 0 {
            return;
        }
        let first_token = tokens.len();
        let known = word.chars <= self.max_word_chars && self.cut(&word.bytes, tokens, places);
        if !known {
            tokens.truncate(first_token);
            tokens.push(self.unknown);
        }
        places.end(known);
        word.chars = 0;
        word.bytes.clear();
    }

    fn cut(&self, word: &[u8], tokens: &mut Vec<u32>, places: &mut impl Places) -> bool {
        let mut pieces = &self.beginnings;
        let mut rest = word;
        while !rest.is_empty() {
            let Some((len, id)) = pieces.longest_prefix(rest) else { return false };
            tokens.push(id);
            places.piece(len);
            rest = &rest[len..];
            pieces = &self.continuations;
        }
        true
    }
}

#[derive(Default)]
struct Word {
    bytes: Vec<u8>,
    chars: usize,
}

impl Word {
    /// Keeps only the length of a word that is too long. Returns how many bytes it keeps.
    fn push(&mut self, character: char, max_chars: usize) -> usize {
        let before = self.bytes.len();
        if self.chars < max_chars {
            self.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.chars += 1;
        self.bytes.len() - before
    }

    fn push_ascii(&mut self, letters: &[u8], meaning: &[u8; 256], max_chars: usize) -> usize {
        let room = max_chars.saturating_sub(self.chars).min(letters.len());
        self.bytes.extend(letters[..room].iter().map(|byte| meaning[usize::from(*byte)]));
        self.chars += letters.len();
        room
    }
}

fn simple_bytes(steps: &StepTable, added: &SpecialTokens) -> [u8; 256] {
    std::array::from_fn(|byte| match steps.get(char::from(byte as u8)) {
        Step::Part(part) if byte < 128 && part.is_ascii() && !added.may_begin_with(byte as u8) => part as u8,
        _ => 0,
    })
}
