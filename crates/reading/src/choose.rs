//! Chooses the places that answer, by the reader's outputs.

use crate::Passage;
use inference::reader::Reading;
use std::ops::Range;

/// The least score of an answer; below it, the passages do not answer. Of `a`, `b` and `bench/answers`, 112 of 162 questions
/// are answered rightly with it and 56 of 68 refused that should be; with -3.6, 117 and 51.
pub const LEAST: f32 = -2.5;
/// What each place in the order of the search takes: the search has names and rare words, which the reader weighs less. 0.1
/// and 0.3 are as good on the same questions.
const PER_PLACE: f32 = 0.2;
/// The longest span, in tokens: a sentence, or a short list.
const MAX_SPAN_TOKENS: usize = 96;
/// How many places of a passage are looked at.
const PER_PASSAGE: usize = 3;
/// How many of the best beginnings and ends are combined.
const BEAM: usize = 24;

/// A place that may answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub passage: usize,
    /// In the passage's text.
    pub range: Range<usize>,
    /// How much likelier the place is than that there is none.
    pub score: f32,
}

/// Returns the places of all passages, the best first.
pub fn found(passages: &[Passage<'_>], readings: &[Reading]) -> Vec<Found> {
    let mut found: Vec<Found> = (0..).zip(passages.iter().zip(readings)).flat_map(of_passage).collect();
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    found
}

fn of_passage((passage, (own, reading)): (usize, (&Passage<'_>, &Reading))) -> Vec<Found> {
    let first = first_token(own, reading);
    let starts = best(&reading.start, first);
    let ends = best(&reading.end, first);
    let pairs = starts.iter().flat_map(|start| ends.iter().map(move |end| (*start, *end)));
    let mut spans: Vec<(f32, usize, usize)> = pairs
        .filter(|(start, end)| start <= end && end - start < MAX_SPAN_TOKENS)
        .map(|(start, end)| (reading.start[start] + reading.end[end], start, end))
        .collect();
    spans.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut kept: Vec<(f32, usize, usize)> = Vec::new();
    for span in spans {
        let is_apart = kept.iter().all(|(_, start, end)| span.2 < *start || *end < span.1);
        if is_apart && kept.len() < PER_PASSAGE {
            kept.push(span);
        }
    }
    let place = |(logits, start, end): (f32, usize, usize)| Found {
        passage,
        range: range(own, reading, start, end),
        score: logits - reading.nothing - PER_PLACE * own.place as f32,
    };
    kept.into_iter().map(place).collect()
}

/// Returns the index of the first token of the passage's own text.
fn first_token(passage: &Passage<'_>, reading: &Reading) -> usize {
    reading.tokens.partition_point(|token| token.start < passage.text_start())
}

fn best(logits: &[f32], first: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (first..logits.len()).collect();
    indices.sort_by(|one, other| logits[*other].total_cmp(&logits[*one]));
    indices.truncate(BEAM);
    indices
}

fn range(passage: &Passage<'_>, reading: &Reading, start: usize, end: usize) -> Range<usize> {
    let before = passage.text_start();
    reading.tokens[start].start - before..reading.tokens[end].end - before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a reading of a text that has a token for each character, of which these begin and end a span.
    fn reading(passage: &Passage<'_>, spans: &[(usize, usize, f32)]) -> Reading {
        let tokens: Vec<Range<usize>> = (0..passage.whole().len()).map(|at| at..at + 1).collect();
        let mut reading =
            Reading { start: vec![-9.0; tokens.len()], end: vec![-9.0; tokens.len()], ..Reading::default() };
        for (start, end, logit) in spans {
            reading.start[passage.text_start() + start] = *logit;
            reading.end[passage.text_start() + end] = *logit;
        }
        Reading { tokens, ..reading }
    }

    #[test]
    fn the_best_place_is_the_likeliest_and_the_others_do_not_touch_it() {
        let passage = |place| Passage { above: "Pump", text: "It is blue, or red.", place };
        let passages = [passage(0), passage(1)];
        let one = reading(&passages[0], &[(6, 9, 2.0), (15, 17, 1.0)]);
        let other = reading(&passages[1], &[(6, 9, 2.0)]);
        let found = found(&passages, &[one, other]);
        let first: Vec<(usize, &str)> = found
            .iter()
            .take(3)
            .map(|found| (found.passage, &passages[0].text[found.range.clone()]))
            .collect();
        assert_eq!(first, [(0, "blue"), (1, "blue"), (0, "red")]);
        assert_eq!(found[0].score, 4.0);
    }

    #[test]
    fn titles_are_read_and_never_quoted() {
        let passage = Passage { above: "Pump 7", text: "x", place: 0 };
        let mut reading = reading(&passage, &[]);
        (reading.start[0], reading.end[5]) = (9.0, 9.0);
        let found = found(&[passage], &[reading]);
        assert!(found.iter().all(|found| found.range == (0..1)), "{found:?}");
    }
}
