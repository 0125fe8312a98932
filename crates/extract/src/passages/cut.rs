//! Cutting: blocks into pieces that are never cut again, and runs of pieces into parts of about the same size.

use std::ops::Range;

use crate::sentences::sentences;
use crate::{Block, Form};

/// A sentence or a line, or part of one that is too long.
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

/// The pieces of a block, each of at most `most` tokens as `measure` counts them.
pub(super) fn pieces<'d>(block: &'d Block, most: usize, measure: &dyn Fn(&str) -> usize) -> Vec<Piece<'d>> {
    let spans = match block.form {
        Form::Prose => sentences(&block.text),
        Form::Lines => lines(&block.text),
    };
    let mut ranges = Vec::with_capacity(spans.len());
    for span in spans {
        split(&block.text, span, most, measure, &mut ranges);
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

/// No token has more characters than this on average, so longer spans need not be counted to be too long.
const CHARACTERS_OF_A_TOKEN: usize = 64;

/// A span that is too long is taken apart: a long line into sentences, a long sentence into halves.
fn split(
    text: &str,
    span: Range<usize>,
    most: usize,
    measure: &dyn Fn(&str) -> usize,
    found: &mut Vec<(Range<usize>, usize)>,
) {
    let whole = &text[span.clone()];
    if whole.len() <= most.saturating_mul(CHARACTERS_OF_A_TOKEN) {
        let tokens = measure(whole);
        if tokens <= most || whole.chars().nth(1).is_none() {
            found.push((span, tokens));
            return;
        }
    }
    let sentences = sentences(whole);
    if sentences.len() > 1 {
        for sentence in sentences {
            split(text, span.start + sentence.start..span.start + sentence.end, most, measure, found);
        }
        return;
    }
    let middle = span.start + middle(whole);
    let left_end = span.start + text[span.start..middle].trim_end().len();
    let right_start = span.end - text[middle..span.end].trim_start().len();
    split(text, span.start..left_end, most, measure, found);
    split(text, right_start..span.end, most, measure, found);
}

/// The best place to cut near the middle: after a comma or the like, else between words, else between characters.
/// Never at an end.
fn middle(text: &str) -> usize {
    let half = text.len() / 2;
    let third = text.floor_char_boundary(text.len() / 3)..text.floor_char_boundary(text.len() * 2 / 3);
    let nearest = |candidates: &mut dyn Iterator<Item = usize>| candidates.min_by_key(|at| at.abs_diff(half));
    let inner = &text[third.clone()];
    let clauses = inner.match_indices([',', ';', ':', '、', '，']).map(|(at, mark)| at + mark.len());
    let mut clauses =
        clauses.filter(|at| inner[*at..].starts_with(char::is_whitespace) || !inner[..*at].is_ascii());
    let mut words = inner.match_indices(char::is_whitespace).map(|(at, _)| at);
    let found = nearest(&mut clauses).or_else(|| nearest(&mut words)).map(|at| third.start + at);
    let first = text.chars().next().map_or(0, char::len_utf8);
    found.unwrap_or_else(|| text.floor_char_boundary(half)).max(first)
}

/// Cuts a run of pieces into parts of at most `most` tokens, as few as can be and of about the same size.
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

/// Where the part from `start` ends, and its tokens: near the target, at the end of a block where one is not far.
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
