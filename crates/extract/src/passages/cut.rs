//! Splits blocks into pieces, and runs of pieces into parts of about the same size.

use std::ops::Range;
use words::sentences;

use super::units::{Unit, units};
use crate::fence::FENCE;
use crate::{Block, Form};

/// A sentence, a line with what belongs to it, or a part of one that is too long.
#[derive(Clone)]
pub(super) struct Piece<'d> {
    pub block: &'d Block,
    /// In bytes of the block's text.
    pub range: Range<usize>,
    /// In characters of the document's text.
    pub offset: usize,
    pub tokens: usize,
    pub end: End,
    /// Whether it starts or ends inside code, away from the fences.
    pub in_code: InCode,
}

/// How well a passage may end after a piece.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    OfBlock,
    WithinBlock,
    /// The end of a block that announces the next one: "Do this:".
    BeforeAnnounced,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InCode {
    pub at_start: bool,
    pub at_end: bool,
}

/// Counts the tokens of a text.
type Measure<'m> = &'m dyn Fn(&str) -> usize;

/// Returns the pieces of a block, each of at most `most` tokens.
pub(super) fn pieces<'d>(block: &'d Block, most: usize, measure: Measure) -> Vec<Piece<'d>> {
    let text = block.text.as_str();
    let mut found = Vec::new();
    match block.form {
        Form::Prose => {
            halve_all(text, sentences(text), most, measure, &mut |range, tokens| {
                found.push((range, tokens, InCode::default()));
            });
        }
        Form::Lines => LineCutter { text, most, measure, found: &mut found }.cut(&lines(text), 0),
    }
    let (mut offset, mut counted_to) = (block.offset, 0);
    let mut pieces = Vec::with_capacity(found.len());
    for (range, tokens, in_code) in found {
        offset += block.text[counted_to..range.start].chars().count();
        counted_to = range.start;
        pieces.push(Piece { block, range, offset, tokens, end: End::WithinBlock, in_code });
    }
    if let Some(last) = pieces.last_mut() {
        last.end = if text.ends_with(':') { End::BeforeAnnounced } else { End::OfBlock };
    }
    pieces
}

/// How often units are split into the units below their first line.
const DEEPEST: usize = 16;

/// Splits lines into units, and a unit that is too long into smaller ones.
struct LineCutter<'c> {
    text: &'c str,
    most: usize,
    measure: Measure<'c>,
    found: &'c mut Vec<(Range<usize>, usize, InCode)>,
}

impl LineCutter<'_> {
    fn cut(&mut self, lines: &[Range<usize>], depth: usize) {
        for unit in units(self.text, lines) {
            let inner = &lines[unit.lines.clone()];
            let (Some(first), Some(last)) = (inner.first(), inner.last()) else { continue };
            let whole = first.start..last.end;
            match fitting(&self.text[whole.clone()], self.most, self.measure) {
                Some(tokens) => self.found.push((whole, tokens, InCode::default())),
                None if unit.is_fenced && inner.len() > 2 => self.cut_code(&unit, lines),
                None if inner.len() == 1 || depth == DEEPEST => {
                    inner.iter().for_each(|line| self.cut_line(line, self.most, InCode::default()));
                }
                None => {
                    self.cut_line(first, self.most, InCode::default());
                    self.cut(&inner[1..], depth + 1);
                }
            }
        }
    }

    /// Splits code between its lines. The fences stay with the first and the last.
    fn cut_code(&mut self, unit: &Unit, lines: &[Range<usize>]) {
        let fences = 2 * (self.measure)(FENCE);
        if self.most < 4 * fences {
            return lines[unit.lines.clone()]
                .iter()
                .for_each(|line| self.cut_line(line, self.most, InCode::default()));
        }
        let lines = &lines[unit.lines.clone()];
        let last = lines.len() - 2;
        for at in 1..=last {
            let start = if at == 1 { lines[0].start } else { lines[at].start };
            let end = if at == last { lines[at + 1].end } else { lines[at].end };
            let in_code = InCode { at_start: at > 1, at_end: at < last };
            self.cut_line(&(start..end), self.most - fences, in_code);
        }
    }

    /// Splits a line between sentences if it is too long.
    fn cut_line(&mut self, line: &Range<usize>, most: usize, in_code: InCode) {
        let whole = &self.text[line.clone()];
        if let Some(tokens) = fitting(whole, most, self.measure) {
            return self.found.push((line.clone(), tokens, in_code));
        }
        let sentences = sentences(whole).into_iter();
        let sentences = sentences.map(|part| line.start + part.start..line.start + part.end).collect();
        let found = &mut *self.found;
        halve_all(self.text, sentences, most, self.measure, &mut |range, tokens| {
            found.push((range, tokens, in_code))
        });
    }
}

fn lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end().len();
        if start < end {
            found.push(start..end);
        }
        start += line.len();
    }
    found
}

/// Tokens are never longer than this on average, so a longer text is too long without counting.
const BYTES_OF_A_TOKEN: usize = 64;

/// Returns the number of tokens if it is at most `most`.
fn fitting(text: &str, most: usize, measure: Measure) -> Option<usize> {
    let may_fit = text.len() <= most.saturating_mul(BYTES_OF_A_TOKEN);
    may_fit.then(|| measure(text)).filter(|tokens| *tokens <= most)
}

/// Halves spans that are too long until they fit.
fn halve_all(
    text: &str,
    spans: Vec<Range<usize>>,
    most: usize,
    measure: Measure,
    add: &mut dyn FnMut(Range<usize>, usize),
) {
    for span in spans {
        let whole = &text[span.clone()];
        if let Some(tokens) = fitting(whole, most, measure) {
            add(span, tokens);
        } else if whole.chars().nth(1).is_none() {
            add(span, most);
        } else {
            let middle = span.start + middle(whole);
            let left_end = span.start + text[span.start..middle].trim_end().len();
            let right_start = span.end - text[middle..span.end].trim_start().len();
            halve_all(text, vec![span.start..left_end, right_start..span.end], most, measure, add);
        }
    }
}

/// Returns where to split in the middle third: after a comma or the like, else between words, else between
/// characters. Never at an end.
fn middle(text: &str) -> usize {
    let half = text.floor_char_boundary(text.len() / 2);
    let (start, end) =
        (text.floor_char_boundary(text.len() / 3), text.floor_char_boundary(text.len() * 2 / 3));
    let nearest = |wanted: &dyn Fn(usize, char) -> bool| {
        let is_wanted = |(at, c): &(usize, char)| wanted(*at, *c);
        let before = text[start..half].char_indices().rev().map(|(at, c)| (start + at, c)).find(is_wanted);
        let after = text[half..end].char_indices().map(|(at, c)| (half + at, c)).find(is_wanted);
        let found = before.into_iter().chain(after).map(|(at, c)| at + c.len_utf8());
        found.min_by_key(|at| at.abs_diff(half))
    };
    let ends_clause = |at: usize, c: char| {
        matches!(c, '、' | '，') || (c.is_whitespace() && text[..at].ends_with([',', ';', ':']))
    };
    let first = text.chars().next().map_or(0, char::len_utf8);
    nearest(&ends_clause).or_else(|| nearest(&|_, c| c.is_whitespace())).unwrap_or(half).max(first)
}

/// Splits a run of pieces into parts of at most `most` tokens, as few as possible and of about the same size.
pub(super) fn parts(pieces: &[Piece], most: usize) -> Vec<Range<usize>> {
    let mut left: usize = pieces.iter().map(|piece| piece.tokens).sum();
    let mut parts = Vec::new();
    let mut start = 0;
    while start < pieces.len() {
        let target = left.div_ceil(left.div_ceil(most.max(1)).max(1));
        let (end, tokens) = best_end(pieces, start, target, most);
        parts.push(start..end);
        start = end;
        left -= tokens;
    }
    parts
}

/// Returns where the part from `start` ends, and its tokens: near the target, and preferably at the end of a block.
fn best_end(pieces: &[Piece], start: usize, target: usize, most: usize) -> (usize, usize) {
    let mut best = (start + 1, pieces[start].tokens);
    let mut best_cost = usize::MAX;
    let mut tokens = 0;
    for (index, piece) in pieces.iter().enumerate().skip(start) {
        tokens += piece.tokens;
        if tokens > most && index > start {
            break;
        }
        let bad_end = match piece.end {
            End::OfBlock => 0,
            End::WithinBlock => most / 5,
            End::BeforeAnnounced => most / 3,
        };
        let cost = tokens.abs_diff(target) + bad_end;
        if cost <= best_cost {
            best_cost = cost;
            best = (index + 1, tokens);
        }
    }
    best
}
