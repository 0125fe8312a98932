//! The highest of many, found in one pass.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A passage with its score. The order is that of results: the higher score first, then the earlier passage.
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

/// Keeps at most so many of what it is shown. The last of them stands on top of the heap, ready to be replaced.
pub struct Best {
    most: usize,
    heap: BinaryHeap<Scored>,
}

impl Best {
    pub fn of(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new() }
    }

    /// What a score must reach to be kept.
    #[inline]
    pub fn bar(&self) -> f32 {
        if self.heap.len() < self.most {
            return f32::NEG_INFINITY;
        }
        self.heap.peek().map_or(f32::INFINITY, |last| last.score)
    }

    #[inline]
    pub fn show(&mut self, candidate: Scored) {
        if self.heap.len() < self.most {
            self.heap.push(candidate);
        } else if let Some(mut last) = self.heap.peek_mut()
            && candidate < *last
        {
            *last = candidate;
        }
    }

    pub fn into_sorted(self) -> Vec<Scored> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_come_out_in_order_and_ties_by_passage() {
        let scores = [0.3, 0.9, 0.1, 0.9, 0.5, 0.3];
        for most in 0..8 {
            let mut best = Best::of(most);
            for (passage, score) in scores.into_iter().enumerate().rev() {
                best.show(Scored { passage: passage as u32, score });
            }
            let expected = &[1, 3, 4, 0, 5, 2][..most.min(6)];
            let found: Vec<u32> = best.into_sorted().iter().map(|scored| scored.passage).collect();
            assert_eq!(found, expected);
        }
    }
}
