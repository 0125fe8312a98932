//! The share of a query's words that a passage has, by BM25: rare words weigh more, and a word counts more the more often
//! a passage repeats it.
//!
//! The best are looked for in blocks of passages. The common words, whose weights together are little beside the best
//! scores so far, cannot bring a passage among the best. So only the lists of the other words are read, and the few
//! passages that may still be among the best are looked up in those of the common words.

use crate::postings::Postings;
use crate::top_k::{Scored, TopK};
use std::ops::Range;

/// BM25's usual parameters: saturation of repeated words, and the penalty for long passages.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// So many that their scores stay in the processor's cache.
const BLOCK: usize = 8192;
/// What the words that are not read may add up to, as a share of the lowest of the best scores. More of them would leave
/// more passages to look up.
const LITTLE: f32 = 0.3;
/// How many entries of a list are read in the time of looking up one passage.
const LOOK_UP: usize = 16;
/// Scores that are compared at once.
const TOGETHER: usize = 32;
/// More than sums of the same numbers in another order differ.
const ROUNDING: f32 = 1e-5;

pub struct WordScores<'a> {
    /// The passages of a file, and those that were added.
    parts: [Part<'a>; 2],
    /// By word, in the order of the query; together 1.
    weights: Vec<f32>,
    /// The words, the heaviest first.
    heaviest: Vec<usize>,
    saturation: Saturation,
}

/// Passages with consecutive numbers.
pub struct Part<'a> {
    pub first: u32,
    /// How many words each passage has.
    pub lengths: &'a [u32],
    /// By word, in the order of the query, so that sums do not depend on the order in which documents were stored.
    pub lists: Vec<Postings<'a>>,
}

/// How much a word counts that a passage has several times.
#[derive(Clone, Copy)]
struct Saturation {
    base: f32,
    slope: f32,
}

impl Saturation {
    /// Returns a share between 0 and 1.
    fn share(&self, count: u8, length: u32) -> f32 {
        let count = f32::from(count);
        count / (count + self.base + self.slope * length as f32)
    }
}

impl<'a> WordScores<'a> {
    pub fn new(parts: [Part<'a>; 2], rarities: &[f32], mean_length: f32) -> Self {
        let total: f32 = rarities.iter().sum();
        let weights: Vec<f32> = rarities.iter().map(|rarity| rarity / total).collect();
        let mut heaviest: Vec<usize> = (0..weights.len()).collect();
        heaviest.sort_by(|one, other| weights[*other].total_cmp(&weights[*one]));
        let saturation = Saturation { base: K1 * (1.0 - B), slope: K1 * B / mean_length.max(1.0) };
        Self { parts, weights, heaviest, saturation }
    }

    /// Returns the score of a passage, from 0 to 1.
    pub fn score(&self, passage: u32) -> f32 {
        let part = self.parts.iter().find_map(|part| Some((part, part.length(passage)?)));
        let Some((part, length)) = part else { return 0.0 };
        let found = part.lists.iter().zip(&self.weights).filter_map(|(list, weight)| {
            let at = list.passages.binary_search(&passage).ok()?;
            Some(weight * self.saturation.share(list.counts[at], length))
        });
        found.fold(0.0, |sum, score| sum + score)
    }

    /// Returns the accepted passages with the highest scores, the best first.
    pub fn best(&self, most: usize, accepted: impl Fn(u32) -> bool) -> Vec<Scored> {
        let mut best = TopK::new(most);
        for part in &self.parts {
            self.look_through(part, &accepted, &mut best);
        }
        best.into_sorted()
    }

    fn look_through(&self, part: &Part<'_>, accepted: impl Fn(u32) -> bool, best: &mut TopK) {
        let mut read = vec![0; part.lists.len()];
        let mut scores = vec![0.0; BLOCK.min(part.lengths.len())];
        for (first, lengths) in (part.first..).step_by(BLOCK).zip(part.lengths.chunks(BLOCK)) {
            let end = first + lengths.len() as u32;
            let ranges = part.lists.iter().zip(&mut read).map(|(list, read)| {
                let start = *read;
                *read += list.passages[start..].partition_point(|passage| *passage < end);
                start..*read
            });
            let ranges: Vec<Range<usize>> = ranges.collect();
            let scores = &mut scores[..lengths.len()];
            let mut block = Block { part, ranges, first, lengths, scores, saturation: self.saturation };
            self.look_through_block(&mut block, &accepted, best);
            block.scores.fill(0.0);
        }
    }

    fn look_through_block(&self, block: &mut Block<'_>, accepted: impl Fn(u32) -> bool, best: &mut TopK) {
        let (decisive, mut rest) = self.decisive(best.threshold());
        let (decisive, others) = self.heaviest.split_at(decisive);
        let mut in_order = decisive.to_vec();
        in_order.sort_unstable();
        for word in in_order {
            block.add(word, self.weights[word]);
        }
        let above = |rest: f32| (best.threshold() - rest - ROUNDING).max(0.0);
        let mut candidates = places_above(block.scores, above(rest));
        for word in others {
            if candidates.len() * LOOK_UP < block.ranges[*word].len() {
                block.add_to(&candidates, *word, self.weights[*word]);
            } else {
                block.add(*word, self.weights[*word]);
            }
            rest -= self.weights[*word];
            let above = above(rest);
            candidates.retain(|at| block.scores[*at] > above);
        }
        for at in candidates {
            let passage = block.first + at as u32;
            let found = block.scores[at];
            if found + ROUNDING > best.threshold() && accepted(passage) {
                let score = if others.is_empty() { found } else { self.score(passage) };
                best.offer(Scored { passage, score });
            }
        }
    }

    /// Returns how many of the heaviest words are read, if the best scores so far are above a threshold, and what the
    /// others add up to.
    fn decisive(&self, threshold: f32) -> (usize, f32) {
        let mut others = 0.0;
        for (place, word) in self.heaviest.iter().enumerate().rev() {
            let with = others + self.weights[*word];
            if with + ROUNDING >= LITTLE * threshold {
                return (place + 1, others);
            }
            others = with;
        }
        (0, others)
    }
}

impl Part<'_> {
    fn length(&self, passage: u32) -> Option<u32> {
        self.lengths.get(passage.wrapping_sub(self.first) as usize).copied()
    }
}

/// Some passages of a part, and their scores so far.
struct Block<'a> {
    part: &'a Part<'a>,
    /// By word, the entries of its list that are in the block.
    ranges: Vec<Range<usize>>,
    first: u32,
    lengths: &'a [u32],
    scores: &'a mut [f32],
    saturation: Saturation,
}

impl Block<'_> {
    /// Adds a word to the scores of all passages that have it.
    fn add(&mut self, word: usize, weight: f32) {
        let (list, range) = (&self.part.lists[word], self.ranges[word].clone());
        let counts = &list.counts[range.clone()];
        // Taken out, so that they stay in registers.
        let (first, lengths, saturation) = (self.first, self.lengths, self.saturation);
        let scores = &mut self.scores[..lengths.len()];
        for (passage, count) in list.passages[range].iter().zip(counts) {
            let at = passage.wrapping_sub(first) as usize;
            // A damaged file may name passages that it does not have.
            if at < lengths.len() {
                scores[at] += weight * saturation.share(*count, lengths[at]);
            }
        }
    }

    /// The same for the passages at these places.
    fn add_to(&mut self, places: &[usize], word: usize, weight: f32) {
        let (list, range) = (&self.part.lists[word], self.ranges[word].clone());
        let counts = &list.counts[range.clone()];
        let passages = &list.passages[range];
        for at in places {
            if let Ok(found) = passages.binary_search(&(self.first + *at as u32)) {
                self.scores[*at] += weight * self.saturation.share(counts[found], self.lengths[*at]);
            }
        }
    }
}

/// Returns where the scores are higher than this, which few are.
fn places_above(scores: &[f32], above: f32) -> Vec<usize> {
    let mut places = Vec::new();
    for (start, some) in (0..).step_by(TOGETHER).zip(scores.chunks(TOGETHER)) {
        if some.iter().fold(0.0, |most, score| if *score > most { *score } else { most }) > above {
            places.extend((start..).zip(some).filter(|(_, score)| **score > above).map(|(place, _)| place));
        }
    }
    places
}
