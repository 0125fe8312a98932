//! Lets a reranker read what a search has found, and other texts.

use super::{Search, SearchError};
use crate::tables::{self, chunks::FoundChunk};
use inference::{EngineError, Priority};
use retrieval::Hit;
use std::collections::HashMap;

/// How many of the first passages a reranker reads, and how much of each, in bytes.
pub(super) const RERANKED: usize = 8;
const RERANKED_BYTES: usize = 480;
/// The weight of its judgement in a passage's score; the search has the rest.
const JUDGEMENT: f32 = 0.3;

impl Search {
    /// Returns whether there is a reranker.
    pub fn can_score(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| engine.reranker().is_some())
    }

    /// Orders the first passages by what the search and the reranker say. Those that it does not read come after them.
    pub(super) async fn rerank(&self, question: &str, mut hits: Vec<Hit>) -> Result<Vec<Hit>, SearchError> {
        let read = RERANKED.min(hits.len());
        let (first, rest) = hits.split_at_mut(read);
        let positions: Vec<(&str, i64)> =
            first.iter().map(|hit| (hit.document.as_str(), i64::from(hit.passage))).collect();
        let texts: HashMap<(String, i64), String> = tables::chunks::find(&self.db, &positions)
            .await?
            .into_iter()
            .map(|chunk| ((chunk.document_id.clone(), chunk.position), beginning(&chunk)))
            .collect();
        // One that was deleted since is scored as an empty text.
        let text = |hit: &Hit| texts.get(&(hit.document.clone(), i64::from(hit.passage))).cloned();
        let texts = first.iter().map(|hit| text(hit).unwrap_or_default()).collect();
        let Some(scores) = self.score_all(question, texts).await? else { return Ok(hits) };
        for (hit, score) in first.iter_mut().zip(scores) {
            let probability = 1.0 / (1.0 + (-score).exp());
            hit.score += JUDGEMENT * (probability - hit.score);
        }
        rest.iter_mut().for_each(|hit| hit.score *= 1.0 - JUDGEMENT);
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok(hits)
    }

    /// Scores how well texts answer a question; returns none if there is no reranker.
    pub async fn score_all(
        &self,
        question: &str,
        texts: Vec<String>,
    ) -> Result<Option<Vec<f32>>, SearchError> {
        let Some(engine) = self.engine.as_ref().filter(|engine| engine.reranker().is_some()) else {
            return Ok(None);
        };
        match engine.score(question, texts, Priority::Interactive) {
            Ok(scores) => Ok(Some(scores.await.map_err(SearchError::Engine)?)),
            Err(EngineError::Busy) => Err(SearchError::Busy),
            Err(error) => Err(SearchError::Engine(error)),
        }
    }
}

/// Returns the beginning of a passage below its headings.
fn beginning(chunk: &FoundChunk) -> String {
    let text = &chunk.text[..chunk.text.floor_char_boundary(RERANKED_BYTES)];
    let above = if chunk.headings.is_empty() { &chunk.document_title } else { &chunk.headings.join(" > ") };
    format!("{above}\n{text}")
}
