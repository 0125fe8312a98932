//! One question asked of all parts, and their answers put together.

use crate::best::{Scored, first};
use crate::hop::follow_names;
use crate::index::Index;
use crate::judge::Judge;
use crate::support::support;

/// As many of the nearest, and of those with the best words, are looked at together.
const POOL: usize = 30;

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
        let mut scores = judge.pool(query.limit.max(POOL));
        if matches!(query.mode, Mode::Hybrid | Mode::Graph) {
            support(self, &mut scores);
        }
        if query.mode == Mode::Graph {
            follow_names(self, &judge, query.names, &mut scores);
        }
        let hit = |found: Scored| {
            let (document, passage) = self.locate(found.passage)?;
            Some(Hit { document: document.to_owned(), passage, score: found.score })
        };
        first(&scores, query.limit).into_iter().filter_map(hit).collect()
    }
}
