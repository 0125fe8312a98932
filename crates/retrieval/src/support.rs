//! Lets similar passages among the best support each other: passages that answer a question tend to be similar, while
//! one that only seems to answer it is similar to none.

use crate::index::Index;
use crate::top_k::{Scores, first};

/// Number of the best passages that are compared with each other.
const COMPARED: usize = 20;
/// Weight of the neighbours in a passage's score.
const SHARE: f32 = 0.25;

/// Raises similarities to this power, so that only very similar passages count.
const POWER: i32 = 8;

/// Moves the score of each of the best passages towards the mean of those similar to it. Passages of the same
/// document do not count, since they are always similar.
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
