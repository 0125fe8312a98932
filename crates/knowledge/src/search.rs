//! A question to the passages of one user.

use crate::documents::Document;
use crate::indexes::{IndexError, Indexes};
use crate::tables::{self, chunks::Shown};
use aws_lc_rs::digest;
use inference::{Engine, EngineError, Priority};
use retrieval::{Hit, Mode, Query};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use store::{Db, StoreError};

pub const MOST_RESULTS: usize = 100;

#[derive(Clone, Debug, Default)]
pub struct Filters {
    pub document_id: Option<String>,
    pub category: Option<String>,
    /// Each must be among the document's.
    pub tags: Vec<String>,
}

impl Filters {
    fn is_empty(&self) -> bool {
        self.document_id.is_none() && self.category.is_none() && self.tags.is_empty()
    }

    fn accept(&self, document: &Document) -> bool {
        self.document_id.as_ref().is_none_or(|id| *id == document.id)
            && self.category.as_ref().is_none_or(|category| document.is_of_category(category))
            && self.tags.iter().all(|tag| document.has_tag(tag))
    }
}

pub struct Question {
    pub text: String,
    pub mode: Mode,
    pub limit: usize,
    pub filters: Filters,
}

pub struct Found {
    pub id: String,
    pub score: f32,
    pub chunk: Shown,
}

impl Found {
    /// As answers show it.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "documentId": self.chunk.document_id,
            "text": self.chunk.text,
            "score": self.score,
            "metadata": {
                "documentTitle": self.chunk.document_title,
                "chunkIndex": self.chunk.position,
                "headings": self.chunk.headings,
                "page": self.chunk.page,
                "offset": self.chunk.start,
            },
        })
    }
}

pub struct Ranked {
    pub hits: Vec<Hit>,
    reindex_due: usize,
    lexical_only: bool,
}

pub struct Answer {
    pub found: Vec<Found>,
    /// Documents whose vectors are of another encoder, found by their words only.
    pub reindex_due: usize,
    /// Whether there was no encoder to ask.
    pub lexical_only: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(
        "the embedding model is missing: run `stoa models pull` and start again; `mode=lexical` works without it"
    )]
    NoEncoder,
    #[error("too many searches at once: try again in a moment")]
    Busy,
    #[error(transparent)]
    Engine(EngineError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub struct Search {
    db: Db,
    engine: Option<Arc<Engine>>,
    indexes: Arc<Indexes>,
}

impl Search {
    pub fn new(db: Db, engine: Option<Arc<Engine>>, indexes: Arc<Indexes>) -> Self {
        Self { db, engine, indexes }
    }

    pub async fn ask(&self, user_id: &str, question: Question) -> Result<Answer, SearchError> {
        let Ranked { hits, reindex_due, lexical_only } = self.rank(user_id, question).await?;
        Ok(Answer { found: self.read(&hits).await?, reindex_due, lexical_only })
    }

    /// Which passages, without their texts.
    pub async fn rank(&self, user_id: &str, question: Question) -> Result<Ranked, SearchError> {
        let vector = match question.mode {
            Mode::Lexical => None,
            _ => self.embed(&question.text).await?,
        };
        if vector.is_none() && question.mode == Mode::Dense {
            return Err(SearchError::NoEncoder);
        }
        let lexical_only = vector.is_none() && question.mode != Mode::Lexical;
        let accepted = self.accepted(user_id, &question.filters).await?;
        let hits = self.indexes.with(user_id, move |state| {
            // Where only meaning counts, vectors of another encoder are as good as none.
            let is_silent = |document: &str| question.mode == Mode::Dense && state.is_outdated(document);
            let accept = |document: &str| {
                accepted.as_ref().is_none_or(|ids| ids.contains(document)) && !is_silent(document)
            };
            let narrows = accepted.is_some() || (question.mode == Mode::Dense && state.outdated() > 0);
            let query = Query {
                text: &question.text,
                vector: vector.as_deref(),
                names: &graph::names_in(&question.text),
                mode: if vector.is_none() { Mode::Lexical } else { question.mode },
                limit: question.limit,
                accept: narrows.then_some(&accept),
            };
            (state.index.search(&query), state.outdated())
        });
        let (hits, reindex_due) = hits.await?.unwrap_or_default();
        Ok(Ranked { hits, reindex_due, lexical_only })
    }

    async fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, SearchError> {
        Ok(self.embed_all(vec![text.to_owned()]).await?.and_then(|vectors| vectors.into_iter().next()))
    }

    /// The vectors of some texts that somebody waits for; none where there is no encoder.
    pub async fn embed_all(&self, texts: Vec<String>) -> Result<Option<Vec<Vec<f32>>>, SearchError> {
        let Some(engine) = self.engine.as_ref().filter(|engine| engine.encoder().is_some()) else {
            return Ok(None);
        };
        match engine.embed(texts, Priority::Interactive) {
            Ok(embeddings) => Ok(Some(embeddings.await.map_err(SearchError::Engine)?)),
            Err(EngineError::Busy) => Err(SearchError::Busy),
            Err(error) => Err(SearchError::Engine(error)),
        }
    }

    /// The ids of the documents that a filter lets through; none where there is no filter.
    async fn accepted(
        &self,
        user_id: &str,
        filters: &Filters,
    ) -> Result<Option<HashSet<String>>, StoreError> {
        if filters.is_empty() {
            return Ok(None);
        }
        let documents = tables::documents::of_user(&self.db, user_id).await?;
        let accepted = documents.into_iter().filter(|document| filters.accept(document));
        Ok(Some(accepted.map(|document| document.id).collect()))
    }

    /// The passages themselves. One that was deleted since is left out.
    async fn read(&self, hits: &[Hit]) -> Result<Vec<Found>, StoreError> {
        let places: Vec<(&str, i64)> =
            hits.iter().map(|hit| (hit.document.as_str(), i64::from(hit.passage))).collect();
        let shown = tables::chunks::shown(&self.db, &places).await?;
        let mut shown: HashMap<(String, i64), Shown> =
            shown.into_iter().map(|chunk| ((chunk.document_id.clone(), chunk.position), chunk)).collect();
        let found = hits.iter().filter_map(|hit| {
            let position = i64::from(hit.passage);
            let chunk = shown.remove(&(hit.document.clone(), position))?;
            Some(Found { id: chunk_id(&hit.document, position), score: hit.score, chunk })
        });
        Ok(found.collect())
    }
}

/// Made from what it names, so that it stays the same when the document is indexed again.
pub fn chunk_id(document_id: &str, position: i64) -> String {
    let name = format!("{document_id}/{position}");
    let hash = digest::digest(&digest::SHA256, name.as_bytes());
    let bytes = hash.as_ref().first_chunk::<16>().copied().unwrap_or_default();
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}
