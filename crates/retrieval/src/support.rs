//! Passages among the best that resemble each other support each other: what answers a question tends to lie together,
//! and what only seems to answer it lies alone.

use crate::index::Index;
use crate::top_k::{Scores, first};

/// So many of the first passages are compared with each other.
const COMPARED: usize = 20;
/// The share that its neighbours have in a passage's score.
const SHARE: f32 = 0.25;

/// So that only what is very near has a say.
const POWER: i32 = 8;

/// Moves the score of each of the best towards the mean of those near it. Passages of the same document do not count:
/// they are near each other anyway.
pub fn support(index: &Index, scores: &mut Scores) {
    let compared = first(scores, COMPARED);
    let mut sums = vec![(0.0, 0.0); compared.len()];
    for (a, one) in compared.iter().enumerate() {
        for (b, other) in compared.iter().enumerate().skip(a + 1) {
            if index.owner(one.passage) == index.owner(other.passage) {
                continue;
            }
            let nearness = index.dense.likeness(one.passage, other.passage).max(0.0).powi(POWER);
            for (index, score) in [(a, other.score), (b, one.score)] {
                sums[index].0 += nearness * score;
                sums[index].1 += nearness;
            }
        }
    }
    for (found, (sum, weight)) in compared.iter().zip(sums) {
        if weight > 0.0 {
            scores.insert(found.passage, found.score + SHARE * (sum / weight - found.score));
        }
    }
}
