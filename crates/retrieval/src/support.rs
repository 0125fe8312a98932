//! Passages among the best that resemble each other support each other: what answers a question tends to lie together,
//! and what only seems to answer it lies alone.

use crate::index::Index;
use crate::judge::Scores;
use crate::search::best;

/// So many of the first passages are compared with each other.
const COMPARED: usize = 20;
/// The share that its neighbours have in a passage's score.
const SHARE: f32 = 0.25;

/// Moves the score of each of the best towards the mean of those near it. Passages of the same document do not count:
/// they are near each other anyway.
pub fn support(index: &Index, scores: &mut Scores) {
    let first = best(scores, COMPARED);
    let mut sums = vec![(0.0, 0.0); first.len()];
    for (a, one) in first.iter().enumerate() {
        for (b, other) in first.iter().enumerate().skip(a + 1) {
            if index.owner(one.passage) == index.owner(other.passage) {
                continue;
            }
            let nearness = index.dense.likeness(one.passage, other.passage).max(0.0).powi(8);
            for (place, score) in [(a, other.score), (b, one.score)] {
                sums[place].0 += nearness * score;
                sums[place].1 += nearness;
            }
        }
    }
    for (found, (sum, weight)) in first.iter().zip(sums) {
        if weight > 0.0 {
            scores.insert(found.passage, found.score + SHARE * (sum / weight - found.score));
        }
    }
}
