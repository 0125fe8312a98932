//! Splits blocks into pieces, and runs of pieces into parts of about the same size.

use std::ops::Range;
use words::sentences;

use crate::{Block, Form};

/// A sentence or a line, or a part of one that is too long.
#[derive(Clone)]
pub(super) struct Piece<'d> {
    pub block: &'d Block,
    /// In bytes of the block's text.
    pub range: Range<usize>,
    /// In characters of the document's text.
    pub offset: usize,
    pub tokens: usize,
    pub ends_block: bool,
}

/// Counts the tokens of a text.
type Measure<'m> = &'m dyn Fn(&str) -> usize;

/// Returns the pieces of a block, each of at most `most` tokens.
pub(super) fn pieces<'d>(block: &'d Block, most: usize, measure: Measure) -> Vec<Piece<'d>> {
    let text = block.text.as_str();
    let mut ranges = Vec::new();
    match block.form {
        Form::Prose => halve_all(text, sentences(text), most, measure, &mut ranges),
        Form::Lines => {
            for line in lines(text) {
                match fitting(&text[line.clone()], most, measure) {
                    Some(tokens) => ranges.push((line, tokens)),
                    None => {
                        let sentences = sentences(&text[line.clone()]).into_iter();
                        let sentences = sentences.map(|part| line.start + part.start..line.start + part.end);
                        halve_all(text, sentences.collect(), most, measure, &mut ranges);
                    }
                }
            }
        }
    }
    let (mut offset, mut counted_to) = (block.offset, 0);
    let mut pieces = Vec::with_capacity(ranges.len());
    for (range, tokens) in ranges {
        offset += block.text[counted_to..range.start].chars().count();
        counted_to = range.start;
        pieces.push(Piece { block, range, offset, tokens, ends_block: false });
    }
    if let Some(last) = pieces.last_mut() {
        last.ends_block = true;
    }
    pieces
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
    ranges: &mut Vec<(Range<usize>, usize)>,
) {
    for span in spans {
        let whole = &text[span.clone()];
        if let Some(tokens) = fitting(whole, most, measure) {
            ranges.push((span, tokens));
        } else if whole.chars().nth(1).is_none() {
            ranges.push((span, most));
        } else {
            let middle = span.start + middle(whole);
            let left_end = span.start + text[span.start..middle].trim_end().len();
            let right_start = span.end - text[middle..span.end].trim_start().len();
            halve_all(text, vec![span.start..left_end, right_start..span.end], most, measure, ranges);
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
        let within_block = if piece.ends_block { 0 } else { most / 5 };
        let cost = tokens.abs_diff(target) + within_block;
        if cost <= best_cost {
            best_cost = cost;
            best = (index + 1, tokens);
        }
    }
    best
}
