//! Lets a reranker read what a search has found, and other texts.

use super::{Search, SearchError};
use crate::tables::{self, chunks::FoundChunk};
use inference::reranker::Pair;
use inference::{Engine, EngineError};
use retrieval::Hit;
use std::collections::HashMap;
use store::StoreError;

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
    pub(super) async fn rerank(
        &self,
        user_id: &str,
        question: &str,
        mut hits: Vec<Hit>,
    ) -> Result<Vec<Hit>, SearchError> {
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
        let Some(scored) = self.score_all(user_id, &[question], texts, usize::MAX).await? else {
            return Ok(hits);
        };
        for (hit, score) in first.iter_mut().zip(scored.scores) {
            let probability = 1.0 / (1.0 + (-score).exp());
            hit.score += JUDGEMENT * (probability - hit.score);
        }
        rest.iter_mut().for_each(|hit| hit.score *= 1.0 - JUDGEMENT);
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok(hits)
    }

    /// Scores how well texts of a user answer questions, on average: the first of them, as many as fit into so many tokens.
    /// Returns none if there is no reranker.
    pub async fn score_all(
        &self,
        user_id: &str,
        questions: &[&str],
        texts: Vec<String>,
        max_tokens: usize,
    ) -> Result<Option<Scored>, SearchError> {
        let Some(engine) = self.engine.as_ref().filter(|engine| engine.reranker().is_some()) else {
            return Ok(None);
        };
        let asked: Vec<String> = questions.iter().map(|question| (*question).to_owned()).collect();
        let tokenizer = engine.clone();
        let tokenizing =
            tokio::task::spawn_blocking(move || fitting_pairs(&tokenizer, &asked, &texts, max_tokens));
        let (pairs, tokens) = tokenizing.await.map_err(|_| StoreError::Stopping)?;
        match engine.score(user_id, pairs) {
            Ok(scores) => {
                let scores = scores.await.map_err(SearchError::Engine)?;
                let of_texts = scores.chunks(questions.len().max(1));
                let mean = |scores: &[f32]| scores.iter().sum::<f32>() / scores.len() as f32;
                Ok(Some(Scored { scores: of_texts.map(mean).collect(), tokens }))
            }
            Err(EngineError::Busy) => Err(SearchError::Busy),
            Err(error) => Err(SearchError::Engine(error)),
        }
    }
}

/// The scores of the first texts, and the tokens that were read for them.
pub struct Scored {
    pub scores: Vec<f32>,
    pub tokens: usize,
}

/// Pairs the first texts with the questions, as many as fit, and counts the tokens of all pairs.
fn fitting_pairs(
    engine: &Engine,
    questions: &[String],
    texts: &[String],
    max_tokens: usize,
) -> (Vec<Pair>, usize) {
    let (mut pairs, mut tokens) = (Vec::new(), 0);
    let Some(reranker) = engine.reranker() else { return (pairs, tokens) };
    for text in texts {
        let own: Vec<Pair> = questions.iter().map(|question| reranker.tokenize(question, text)).collect();
        let more: usize = own.iter().map(Pair::tokens).sum();
        if tokens + more > max_tokens {
            break;
        }
        tokens += more;
        pairs.extend(own);
    }
    (pairs, tokens)
}

/// Returns the beginning of a passage below its headings.
fn beginning(chunk: &FoundChunk) -> String {
    let text = &chunk.text[..chunk.text.floor_char_boundary(RERANKED_BYTES)];
    let above = if chunk.headings.is_empty() { &chunk.document_title } else { &chunk.headings.join(" > ") };
    format!("{above}\n{text}")
}
