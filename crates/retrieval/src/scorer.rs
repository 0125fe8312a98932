//! The score of a single passage: the mean of its cosine and of the share of the query's words that it has. Both are
//! between 0 and 1 and do not depend on other passages, so scores of different questions are comparable.

use crate::index::Index;
use crate::query::{Mode, Query};
use crate::top_k::{Scored, Scores, TopK};

/// Weight of the cosine; the words have the rest.
const DENSE_SHARE: f32 = 0.5;

pub struct Scorer<'a> {
    index: &'a Index,
    /// None if vectors are not asked for, or if this one has the wrong dimension.
    vector: Option<&'a [f32]>,
    /// By passage. None if words are not asked for.
    words: Option<Vec<f32>>,
    /// By document number.
    accepted: Vec<bool>,
}

impl<'a> Scorer<'a> {
    pub fn new(index: &'a Index, query: &Query<'a>) -> Self {
        let vector =
            query.vector.filter(|vector| query.mode != Mode::Lexical && index.dense.is_usable(vector));
        let words = (query.mode != Mode::Dense).then(|| index.word_scores(query.text));
        Self { index, vector, words, accepted: index.accepted(query.accept) }
    }

    pub fn accepts(&self, passage: u32) -> bool {
        self.accepted.get(self.index.owner(passage) as usize).copied().unwrap_or_default()
    }

    /// Returns a score from 0 to 1.
    pub fn score(&self, passage: u32) -> f32 {
        let cosine = self.vector.map(|vector| self.index.dense.cosine(vector, passage));
        self.combine(cosine, passage)
    }

    fn combine(&self, cosine: Option<f32>, passage: u32) -> f32 {
        let cosine = cosine.map(|cosine| cosine.clamp(0.0, 1.0));
        let words = self.words.as_ref().map(|words| words[passage as usize]);
        match (cosine, words) {
            (Some(cosine), Some(words)) => DENSE_SHARE * cosine + (1.0 - DENSE_SHARE) * words,
            (cosine, words) => cosine.or(words).unwrap_or_default(),
        }
    }

    /// Returns the best passages by either measure, scored by both.
    pub fn pool(&self, size: usize) -> Scores {
        let mut scores = Scores::new();
        if let Some(vector) = self.vector {
            for found in self.index.dense.nearest(vector, size, |passage| self.accepts(passage)) {
                scores.insert(found.passage, self.combine(Some(found.score), found.passage));
            }
        }
        for found in self.best_words(size) {
            scores.entry(found.passage).or_insert_with(|| self.score(found.passage));
        }
        scores
    }

    fn best_words(&self, size: usize) -> Vec<Scored> {
        let mut best = TopK::new(size);
        for (passage, score) in (0..).zip(self.words.iter().flatten().copied()) {
            if score > 0.0 && score >= best.threshold() && self.accepts(passage) {
                best.offer(Scored { passage, score });
            }
        }
        best.into_sorted()
    }
}
