//! The score of a single passage: the mean of its cosine and of the share of the query's words that it has. Both are
//! between 0 and 1 and do not depend on other passages, so scores of different questions are comparable.

use crate::index::Index;
use crate::query::{Mode, Query};
use crate::top_k::{Scored, Scores};
use crate::word_scores::WordScores;
use std::{panic, thread};

/// Weight of the cosine; the words have the rest.
const DENSE_SHARE: f32 = 0.5;
/// From so many passages on, words and vectors are compared at the same time.
const LARGE: usize = 50_000;

pub struct Scorer<'a> {
    index: &'a Index,
    /// None if vectors are not asked for, or if this one has the wrong dimension.
    vector: Option<&'a [f32]>,
    /// The passages nearest to `vector`.
    nearest: Vec<Scored>,
    /// None if words are not asked for.
    words: Option<WordScores<'a>>,
    /// The passages with the most of the query's words.
    best_words: Vec<Scored>,
    accepted: Accepted<'a>,
}

impl<'a> Scorer<'a> {
    /// Compares all passages with a query. `size` is how many are taken by each measure.
    pub fn new(index: &'a Index, query: &Query<'a>, size: usize) -> Self {
        let (mode, text) = (query.mode, query.text);
        let vector = query.vector.filter(|vector| mode != Mode::Lexical && index.dense.is_usable(vector));
        let accepted = Accepted::new(index, query.accept);
        let nearest = || {
            let accepts = |passage| accepted.has(passage);
            vector.map(|vector| index.dense.nearest(vector, size, accepts)).unwrap_or_default()
        };
        let by_words = || {
            let words = (mode != Mode::Dense).then(|| index.word_scores(text));
            let best = words.as_ref().map(|words| words.best(size, |passage| accepted.has(passage)));
            (words, best.unwrap_or_default())
        };
        let (nearest, (words, best_words)) = if index.len() < LARGE || vector.is_none() || mode == Mode::Dense
        {
            (nearest(), by_words())
        } else {
            thread::scope(|scope| {
                let by_words = scope.spawn(by_words);
                (nearest(), by_words.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
            })
        };
        Self { index, vector, nearest, words, best_words, accepted }
    }

    pub fn accepts(&self, passage: u32) -> bool {
        self.accepted.has(passage)
    }

    /// Returns a score from 0 to 1.
    pub fn score(&self, passage: u32) -> f32 {
        let cosine = self.vector.map(|vector| self.index.dense.cosine(vector, passage));
        self.combine(cosine, passage)
    }

    fn combine(&self, cosine: Option<f32>, passage: u32) -> f32 {
        let cosine = cosine.map(|cosine| cosine.clamp(0.0, 1.0));
        let words = self.words.as_ref().map(|words| words.score(passage));
        match (cosine, words) {
            (Some(cosine), Some(words)) => DENSE_SHARE * cosine + (1.0 - DENSE_SHARE) * words,
            (cosine, words) => cosine.or(words).unwrap_or_default(),
        }
    }

    /// Returns the best passages by either measure, scored by both.
    pub fn pool(&self) -> Scores {
        let mut scores = Scores::new();
        for found in &self.nearest {
            scores.insert(found.passage, self.combine(Some(found.score), found.passage));
        }
        for found in &self.best_words {
            scores.entry(found.passage).or_insert_with(|| self.score(found.passage));
        }
        scores
    }
}

/// The passages that may be found.
struct Accepted<'a> {
    index: &'a Index,
    /// By document number. None if no document is left out.
    documents: Option<Vec<bool>>,
}

impl<'a> Accepted<'a> {
    fn new(index: &'a Index, accept: Option<&dyn Fn(&str) -> bool>) -> Self {
        Self { index, documents: accept.map(|accept| index.accepted(accept)) }
    }

    fn has(&self, passage: u32) -> bool {
        match &self.documents {
            None => self.index.locate(passage).is_some(),
            Some(documents) => documents.get(self.index.owner(passage) as usize).copied().unwrap_or_default(),
        }
    }
}
