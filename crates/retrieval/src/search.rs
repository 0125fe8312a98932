//! One question asked of all parts, and their answers put together.
//!
//! The cosine and the share of the query's words that a passage has are both between 0 and 1, so their mean is a score
//! that means the same for every question, whatever else is stored. Then what the best passages name leads to the passages
//! that are about it: a question that needs two passages often names only one of them.

use crate::best::{Best, Scored};
use crate::index::Index;
use std::collections::BTreeMap;

/// The share of the cosine in the sum; the rest is the words'.
const DENSE_SHARE: f32 = 0.5;
/// As many of the nearest, and of those with the best words, are looked at together.
const POOL: usize = 100;
/// As many of the first passages lend part of their score to what they name.
const LENDERS: usize = 5;
/// The part that they lend.
const LENT: f32 = 0.6;
/// What more passages name than these says little about any of them.
const RARE: u32 = 20;

pub struct Query<'a> {
    pub text: &'a str,
    /// Of length one; without it only words are compared.
    pub vector: Option<&'a [f32]>,
    /// Keys of what the question names.
    pub names: &'a [String],
    pub mode: Mode,
    /// How many passages are wanted.
    pub limit: usize,
    /// Which documents may be found; all of them if not given.
    pub accept: Option<&'a dyn Fn(&str) -> bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By vectors alone.
    Dense,
    /// By words alone.
    Lexical,
    /// By both.
    Hybrid,
    /// By both, and on to what the best passages name.
    #[default]
    Graph,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub document: String,
    /// Which of the document's passages, from 0.
    pub passage: u32,
    /// From 0 to 1.
    pub score: f32,
}

impl Index {
    /// The passages that answer best, the best first.
    pub fn search(&self, query: &Query<'_>) -> Vec<Hit> {
        let judge = Judge::new(self, query);
        let mut found = judge.pool(query.limit.max(POOL));
        if query.mode == Mode::Graph {
            judge.follow_names(&mut found, query.names);
        }
        let mut best = Best::of(query.limit);
        found.into_iter().for_each(|(passage, score)| best.show(Scored { passage, score }));
        let hit = |found: Scored| {
            let (document, passage) = self.locate(found.passage)?;
            Some(Hit { document: document.to_owned(), passage, score: found.score })
        };
        best.into_sorted().into_iter().filter_map(hit).collect()
    }
}

/// By passage.
type Scores = BTreeMap<u32, f32>;

/// Knows the score of every passage for one query.
struct Judge<'a> {
    index: &'a Index,
    /// None where vectors are not asked for, or cannot be compared.
    vector: Option<&'a [f32]>,
    /// By passage; none where words are not asked for.
    words: Option<Vec<f32>>,
    /// By document.
    accepted: Vec<bool>,
}

impl<'a> Judge<'a> {
    fn new(index: &'a Index, query: &Query<'a>) -> Self {
        let vector =
            query.vector.filter(|vector| query.mode != Mode::Lexical && index.dense.is_usable(vector));
        let words = (query.mode != Mode::Dense).then(|| index.lexical.scores(query.text));
        Self { index, vector, words, accepted: index.accepted(query.accept) }
    }

    fn accepts(&self, passage: u32) -> bool {
        self.accepted[self.index.owner(passage) as usize]
    }

    /// From 0 to 1.
    fn score(&self, passage: u32) -> f32 {
        let cosine = self.vector.map(|vector| self.index.dense.cosine(vector, passage).clamp(0.0, 1.0));
        let words = self.words.as_ref().map(|words| words[passage as usize]);
        match (cosine, words) {
            (Some(cosine), Some(words)) => DENSE_SHARE * cosine + (1.0 - DENSE_SHARE) * words,
            (cosine, words) => cosine.or(words).unwrap_or_default(),
        }
    }

    /// The passages that come first by either measure, with their scores by both.
    fn pool(&self, size: usize) -> Scores {
        let nearest = self.vector.map(|vector| self.index.dense.nearest(vector, size, |it| self.accepts(it)));
        let mut best_words = Best::of(size);
        for (passage, score) in (0..).zip(self.words.iter().flatten().copied()) {
            if score > 0.0 && score >= best_words.bar() && self.accepts(passage) {
                best_words.show(Scored { passage, score });
            }
        }
        let found = nearest.into_iter().flatten().chain(best_words.into_sorted());
        found.map(|found| (found.passage, self.score(found.passage))).collect()
    }

    /// What the first passages name leads to the passages that are about it.
    fn follow_names(&self, found: &mut Scores, _names: &[String]) {
        let mut lenders = Best::of(LENDERS);
        found.iter().for_each(|(passage, score)| lenders.show(Scored { passage: *passage, score: *score }));
        let mut lent = Scores::new();
        for lender in lenders.into_sorted() {
            for (name, _) in self.index.links.named_by(lender.passage) {
                if name.named_in > RARE {
                    continue;
                }
                for passage in &name.defined_in {
                    let is_other = self.index.owner(*passage) != self.index.owner(lender.passage);
                    if is_other && self.accepts(*passage) {
                        let most = lent.entry(*passage).or_default();
                        *most = most.max(LENT * lender.score);
                    }
                }
            }
        }
        for (passage, lent) in lent {
            let score = found.entry(passage).or_insert_with(|| self.score(passage));
            *score += (1.0 - *score) * lent;
        }
    }
}
