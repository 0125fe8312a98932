//! Where in the text each token comes from. The tokenizer reports what it does with each character; [`Ranges`] remembers
//! it, and [`NoRanges`] costs nothing where only the tokens are wanted.

use super::normalizer::is_accent;
use std::ops::Range;

/// What is told of the words and tokens, in the order of the text. A word's bytes are those after the normalizer.
pub trait Places {
    /// The word goes on with `count` ASCII letters from `at` on, of which it keeps the first `kept` bytes.
    fn letters(&mut self, at: usize, count: usize, kept: usize);
    /// The parts that follow come from this character.
    fn character(&mut self, character: char, at: usize);
    /// The character adds a part to the word, of which so many bytes are kept.
    fn part(&mut self, kept: usize);
    /// The character adds nothing.
    fn nothing(&mut self);
    /// The next bytes of the word are a token.
    fn piece(&mut self, bytes: usize);
    /// The word ends. If it is not known, it is a single token instead of its pieces.
    fn end(&mut self, known: bool);
    /// A token that is written literally.
    fn token(&mut self, range: Range<usize>);
}

pub struct NoRanges;

impl Places for NoRanges {
    #[inline(always)]
    fn letters(&mut self, _: usize, _: usize, _: usize) {}

    #[inline(always)]
    fn character(&mut self, _: char, _: usize) {}

    #[inline(always)]
    fn part(&mut self, _: usize) {}

    #[inline(always)]
    fn nothing(&mut self) {}

    #[inline(always)]
    fn piece(&mut self, _: usize) {}

    #[inline(always)]
    fn end(&mut self, _: bool) {}

    #[inline(always)]
    fn token(&mut self, _: Range<usize>) {}
}

/// The range of each token so far, and of the word that is being read.
#[derive(Default)]
pub struct Ranges {
    tokens: Vec<Range<usize>>,
    word: Option<Word>,
    character: char,
    source: Range<usize>,
}

struct Word {
    range: Range<usize>,
    /// For each byte that is kept, the range of the character that it comes from.
    bytes: Vec<Range<usize>>,
    /// How many of the bytes are in pieces.
    cut: usize,
    /// How many tokens there were before the word.
    first_token: usize,
}

impl Ranges {
    pub fn into_tokens(self) -> Vec<Range<usize>> {
        self.tokens
    }

    fn word(&mut self, start: usize) -> &mut Word {
        let first_token = self.tokens.len();
        self.word.get_or_insert_with(|| Word { range: start..start, bytes: Vec::new(), cut: 0, first_token })
    }
}

impl Places for Ranges {
    fn letters(&mut self, at: usize, count: usize, kept: usize) {
        if count > 0 {
            let word = self.word(at);
            word.range.end = at + count;
            word.bytes.extend((at..at + kept).map(|letter| letter..letter + 1));
        }
    }

    fn character(&mut self, character: char, at: usize) {
        self.character = character;
        self.source = at..at + character.len_utf8();
    }

    fn part(&mut self, kept: usize) {
        let source = self.source.clone();
        let word = self.word(source.start);
        word.range.end = source.end;
        word.bytes.extend(std::iter::repeat_n(source, kept));
    }

    /// An accent that is dropped belongs to the letter before it: without it, the letter would be another.
    fn nothing(&mut self) {
        if !is_accent(self.character) {
            return;
        }
        let Range { start, end } = self.source;
        let last = match &mut self.word {
            Some(word) if word.range.end == start => {
                word.range.end = end;
                word.bytes.last_mut()
            }
            Some(_) => None,
            None => self.tokens.last_mut(),
        };
        if let Some(last) = last.filter(|last| last.end == start) {
            last.end = end;
        }
    }

    fn piece(&mut self, bytes: usize) {
        let Some(word) = &mut self.word else { return };
        let piece = &word.bytes[word.cut..word.cut + bytes];
        word.cut += bytes;
        if let (Some(first), Some(last)) = (piece.first(), piece.last()) {
            self.tokens.push(first.start..last.end);
        }
    }

    fn end(&mut self, known: bool) {
        if let Some(word) = self.word.take()
            && !known
        {
            self.tokens.truncate(word.first_token);
            self.tokens.push(word.range);
        }
    }

    fn token(&mut self, range: Range<usize>) {
        self.tokens.push(range);
    }
}
