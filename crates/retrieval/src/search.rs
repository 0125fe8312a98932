//! Runs a query on all parts of the index and combines their answers.

use crate::hop::follow_names;
use crate::index::Index;
use crate::query::{Mode, Query};
use crate::scorer::Scorer;
use crate::support::support;
use crate::top_k::{Scored, first};

/// Least number of passages that each measure contributes.
const POOL: usize = 30;

#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub document: String,
    /// The passage's number within the document, from 0.
    pub passage: u32,
    /// From 0 to 1.
    pub score: f32,
}

impl Index {
    /// Returns the passages that answer best, the best first.
    pub fn search(&self, query: &Query<'_>) -> Vec<Hit> {
        let scorer = Scorer::new(self, query, query.limit.max(POOL));
        let mut scores = scorer.pool();
        if matches!(query.mode, Mode::Hybrid | Mode::Graph) {
            support(self, &mut scores);
        }
        if query.mode == Mode::Graph {
            follow_names(self, &scorer, query.names, &mut scores);
        }
        let hit = |found: Scored| {
            let (document, passage) = self.locate(found.passage)?;
            Some(Hit { document: document.to_owned(), passage, score: found.score })
        };
        first(&scores, query.limit).into_iter().filter_map(hit).collect()
    }
}
