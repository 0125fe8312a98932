//! Selects the highest scores in one pass.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Scores by passage, ordered so that every run adds them up in the same order.
pub type Scores = BTreeMap<u32, f32>;

/// Returns the best passages in order.
pub fn first(scores: &Scores, most: usize) -> Vec<Scored> {
    let mut best = TopK::new(most);
    scores.iter().for_each(|(passage, score)| best.offer(Scored { passage: *passage, score: *score }));
    best.into_sorted()
}

/// A passage with its score. Sorts like results: the higher score first, then the earlier passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    pub passage: u32,
    pub score: f32,
}

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.passage.cmp(&other.passage))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the best of all candidates. Up to twice as many are held before the others are discarded.
pub struct TopK {
    most: usize,
    held: Vec<Scored>,
    threshold: f32,
}

impl TopK {
    pub fn new(most: usize) -> Self {
        // Room for what is usually held, so that the list rarely grows.
        let held = Vec::with_capacity(most.min(64) * 2);
        Self { most, held, threshold: if most > 0 { f32::NEG_INFINITY } else { f32::INFINITY } }
    }

    /// Returns the score below which a candidate cannot be among the best.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    #[inline]
    pub fn offer(&mut self, candidate: Scored) {
        if candidate.score < self.threshold {
            return;
        }
        self.held.push(candidate);
        if self.held.len() >= self.most.saturating_mul(2) {
            self.discard_rest();
        }
    }

    /// Discards all but the best, which makes the threshold exact.
    pub fn discard_rest(&mut self) {
        if self.most > 0 && self.held.len() >= self.most {
            let (_, last, _) = self.held.select_nth_unstable(self.most - 1);
            self.threshold = last.score;
        }
        self.held.truncate(self.most);
    }

    pub fn into_sorted(mut self) -> Vec<Scored> {
        self.discard_rest();
        self.held.sort_unstable();
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_come_out_in_order_and_ties_by_passage() {
        let scores = [0.3, 0.9, 0.1, 0.9, 0.5, 0.3];
        for most in 0..8 {
            let mut best = TopK::new(most);
            for (passage, score) in scores.into_iter().enumerate().rev() {
                best.offer(Scored { passage: passage as u32, score });
            }
            let expected = &[1, 3, 4, 0, 5, 2][..most.min(6)];
            let found: Vec<u32> = best.into_sorted().iter().map(|scored| scored.passage).collect();
            assert_eq!(found, expected);
        }
    }
}
