//! Lets the reader read what a search has found, and other texts.

use super::{Search, SearchError};
use crate::tables::{self, chunks::FoundChunk};
use inference::reader::{Pair, Reading};
use inference::{Engine, EngineError};
use retrieval::Hit;
use std::collections::HashMap;
use store::StoreError;

/// How many of the first passages the reader reads, and how much of each, in bytes.
pub(super) const RERANKED: usize = 8;
const RERANKED_BYTES: usize = 480;
/// The weight of its judgement in a passage's score; the search has the rest.
const JUDGEMENT: f32 = 0.3;
/// As many as one user may have in the queue of the models.
const MAX_PAIRS: usize = 1024;
/// The reader gives a fifth of a logit.
const LOGIT: f32 = 5.0;

impl Search {
    /// Orders the first passages by what the search and the reader say. Those that it does not read come after them.
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
        let read = self.read_texts(user_id, question, texts, usize::MAX).await?;
        for (hit, reading) in first.iter_mut().zip(read.readings) {
            let probability = 1.0 / (1.0 + (-LOGIT * reading.relevance).exp());
            hit.score += JUDGEMENT * (probability - hit.score);
        }
        rest.iter_mut().for_each(|hit| hit.score *= 1.0 - JUDGEMENT);
        hits.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok(hits)
    }

    /// Reads texts of a user with a question: the first of them, as many as fit into so many tokens. Without a reader, none.
    pub async fn read_texts(
        &self,
        user_id: &str,
        question: &str,
        texts: Vec<String>,
        max_tokens: usize,
    ) -> Result<Read, SearchError> {
        let Some(engine) = self.engine.as_ref().filter(|engine| engine.reader().is_some()) else {
            return Ok(Read::default());
        };
        let (tokenizer, asked) = (engine.clone(), question.to_owned());
        let tokenizing =
            tokio::task::spawn_blocking(move || fitting_pairs(&tokenizer, &asked, &texts, max_tokens));
        let (pairs, tokens) = tokenizing.await.map_err(|_| StoreError::Stopping)?;
        match engine.read(user_id, pairs) {
            Ok(readings) => Ok(Read { readings: readings.await.map_err(SearchError::Engine)?, tokens }),
            Err(EngineError::Busy) => Err(SearchError::Busy),
            Err(error) => Err(SearchError::Engine(error)),
        }
    }
}

/// What the reader says about the first texts, and the tokens that it has read for it.
#[derive(Default)]
pub struct Read {
    pub readings: Vec<Reading>,
    pub tokens: usize,
}

/// Pairs the first texts with the question, as many as fit, and counts the tokens of all pairs.
fn fitting_pairs(engine: &Engine, question: &str, texts: &[String], max_tokens: usize) -> (Vec<Pair>, usize) {
    let (mut pairs, mut tokens) = (Vec::new(), 0);
    let Some(reader) = engine.reader() else { return (pairs, tokens) };
    for pair in texts.iter().map(|text| reader.tokenize(question, text)) {
        if tokens + pair.tokens() > max_tokens || pairs.len() == MAX_PAIRS {
            break;
        }
        tokens += pair.tokens();
        pairs.push(pair);
    }
    (pairs, tokens)
}

/// Returns the beginning of a passage below its headings.
fn beginning(chunk: &FoundChunk) -> String {
    let text = &chunk.text[..chunk.text.floor_char_boundary(RERANKED_BYTES)];
    let above = if chunk.headings.is_empty() { &chunk.document_title } else { &chunk.headings.join(" > ") };
    format!("{above}\n{text}")
}
