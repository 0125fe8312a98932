//! Searches the passages that a user may see: their own, and those of their spaces.

mod rerank;

use crate::indexes::{IndexError, Indexes};
use crate::records::{Chunk, Document, Scope};
use crate::spans::{self, Span};
use crate::tables::{self, chunks::FoundChunk};
use aws_lc_rs::digest;
use futures_util::future::try_join_all;
use inference::{Engine, EngineError, Priority};
use rerank::RERANKED;
use retrieval::{Hit, Mode, Query};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use store::{Db, StoreError};
use utoipa::ToSchema;

pub const MOST_RESULTS: usize = 100;

#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// The document must be one of these; any if empty.
    pub document_ids: Vec<String>,
    pub category: Option<String>,
    /// The document must have all of these.
    pub tags: Vec<String>,
}

impl Filters {
    fn is_empty(&self) -> bool {
        self.document_ids.is_empty() && !self.describes()
    }

    /// Returns whether a document's metadata must be read to decide.
    pub fn describes(&self) -> bool {
        self.category.is_some() || !self.tags.is_empty()
    }

    pub fn accept(&self, document: &Document) -> bool {
        (self.document_ids.is_empty() || self.document_ids.contains(&document.id))
            && self.category.as_ref().is_none_or(|category| document.is_of_category(category))
            && self.tags.iter().all(|tag| document.has_tag(tag))
    }
}

pub struct Question {
    pub text: String,
    pub mode: Mode,
    pub limit: usize,
    pub filters: Filters,
    /// Whether the reader reads the first passages.
    pub rerank: bool,
}

/// A passage that a search has found.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The id of the chunk, which stays the same when its document is indexed again.
    #[schema(example = "6f1d2c3b-4a59-8e7d-9c0b-1a2b3c4d5e6f")]
    pub id: String,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub document_id: String,
    #[schema(example = "The pump P-204 circulates coolant.")]
    pub text: String,
    /// The words of the question in `text`, in UTF-16 code units, as JavaScript counts.
    pub matches: Vec<Span>,
    #[schema(example = 0.83, minimum = 0, maximum = 1)]
    pub score: f64,
    pub metadata: ResultMetadata,
}

/// Where a passage is from.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultMetadata {
    #[schema(example = "Pump manual")]
    pub document_title: String,
    #[schema(example = "pump-manual.pdf")]
    pub filename: String,
    /// The number of the passage in its document, from 0.
    #[schema(example = 0)]
    pub chunk_index: i64,
    /// The headings above the passage, from the outermost.
    pub headings: Vec<String>,
    /// The page that it begins on, if the document has pages.
    #[schema(example = 3)]
    pub page: Option<i64>,
    /// Where it begins in the document's text, in characters.
    #[schema(example = 1024)]
    pub offset: i64,
    /// The space whose document it is; absent for the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    pub space_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "Maintenance")]
    pub space_name: Option<String>,
}

impl ResultMetadata {
    /// Adds the space, if the owner of the document is one.
    fn of_owner(mut self, scope: &Scope, owner_id: &str) -> Self {
        self.space_name = scope.space_name(owner_id).map(str::to_owned);
        self.space_id = self.space_name.as_ref().map(|_| owner_id.to_owned());
        self
    }
}

pub struct Ranked {
    pub hits: Vec<Hit>,
    reindex_due: usize,
    lexical_only: bool,
}

/// What a search has found.
pub struct SearchResults {
    pub results: Vec<SearchResult>,
    /// How many documents have vectors of another encoder, and are found by their words only.
    pub reindex_due: usize,
    /// Whether only words were compared, for want of an encoder.
    pub lexical_only: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(
        "the embedding model is missing: run `stoa models pull` and start again; `mode=lexical` works without it"
    )]
    NoEncoder,
    #[error("no such space among those that `spaceId` or `spaceIds` names")]
    NoSuchSpace,
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

    /// Returns the documents that a user may see; of their own and those of their spaces, only what `space_ids` names, if
    /// it names any. The user's own id names their own documents.
    pub async fn scope(&self, user_id: &str, space_ids: &[String]) -> Result<Scope, SearchError> {
        let spaces = tables::spaces::of_user(&self.db, user_id).await?;
        let all = Scope::with_spaces(user_id, spaces.iter().map(|(space, _)| space));
        match space_ids.is_empty() {
            true => Ok(all),
            false => all.only(space_ids).ok_or(SearchError::NoSuchSpace),
        }
    }

    pub async fn ask(&self, scope: &Scope, question: Question) -> Result<SearchResults, SearchError> {
        let asked = question.text.clone();
        let Ranked { hits, reindex_due, lexical_only } = self.rank(scope, question).await?;
        Ok(SearchResults { results: self.read(scope, &hits, &asked).await?, reindex_due, lexical_only })
    }

    /// Ranks the passages without reading their texts. Scores are from 0 to 1 in every index, so those of several owners are
    /// merged as they are.
    pub async fn rank(&self, scope: &Scope, mut question: Question) -> Result<Ranked, SearchError> {
        let vector = match question.mode {
            Mode::Lexical => None,
            _ => self.embed(scope.user_id(), &question.text).await?,
        };
        if vector.is_none() && question.mode == Mode::Dense {
            return Err(SearchError::NoEncoder);
        }
        let lexical_only = vector.is_none() && question.mode != Mode::Lexical;
        let wanted = question.limit;
        let reranks = question.rerank && self.engine.as_ref().is_some_and(|engine| engine.reader().is_some());
        question.limit = if reranks { wanted.max(RERANKED) } else { wanted };
        let asked = Arc::new((question, vector));
        let searches = scope.ids().map(|owner_id| self.rank_of(owner_id, asked.clone()));
        let (mut hits, mut reindex_due) = (Vec::new(), 0);
        for (found, outdated) in try_join_all(searches).await? {
            hits.extend(found);
            reindex_due += outdated;
        }
        hits.sort_by(|one: &Hit, other| other.score.total_cmp(&one.score));
        hits.truncate(asked.0.limit);
        if reranks {
            hits = self.rerank(scope.user_id(), &asked.0.text, hits).await?;
            hits.truncate(wanted);
        }
        Ok(Ranked { hits, reindex_due, lexical_only })
    }

    /// Ranks the passages of one owner, and returns how many of its documents have vectors of another encoder.
    async fn rank_of(
        &self,
        owner_id: &str,
        asked: Arc<(Question, Option<Vec<f32>>)>,
    ) -> Result<(Vec<Hit>, usize), SearchError> {
        let accepted = self.accepted(owner_id, &asked.0.filters).await?;
        let hits = self.indexes.with(owner_id, move |state| {
            let (question, vector) = &*asked;
            // A dense search compares vectors only, and those of another encoder cannot be compared.
            let is_excluded = |document: &str| question.mode == Mode::Dense && state.is_outdated(document);
            let accept = |document: &str| {
                accepted.as_ref().is_none_or(|ids| ids.contains(document)) && !is_excluded(document)
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
        Ok(hits.await?.unwrap_or_default())
    }

    /// Embeds a question of a user; returns none if there is no encoder.
    async fn embed(&self, user_id: &str, text: &str) -> Result<Option<Vec<f32>>, SearchError> {
        let Some(engine) = self.engine.as_ref().filter(|engine| engine.encoder().is_some()) else {
            return Ok(None);
        };
        match engine.embed(user_id, vec![text.to_owned()], Priority::Interactive) {
            Ok(vectors) => Ok(vectors.await.map_err(SearchError::Engine)?.pop()),
            Err(EngineError::Busy) => Err(SearchError::Busy),
            Err(error) => Err(SearchError::Engine(error)),
        }
    }

    /// Returns all passages of a document in the scope, in order.
    pub async fn passages(&self, scope: &Scope, document_id: &str) -> Result<Vec<SearchResult>, SearchError> {
        let document = tables::documents::get(&self.db, document_id).await?;
        let Some(document) = document.filter(|document| scope.contains(&document.user_id)) else {
            return Ok(Vec::new());
        };
        let chunks = tables::chunks::of_document(&self.db, document_id).await?;
        let result = |chunk: Chunk| SearchResult {
            id: chunk_id(document_id, chunk.position),
            document_id: document_id.to_owned(),
            text: chunk.text,
            matches: Vec::new(),
            score: 1.0,
            metadata: ResultMetadata {
                document_title: document.title.clone(),
                filename: document.filename.clone(),
                chunk_index: chunk.position,
                headings: chunk.headings,
                page: chunk.page,
                offset: chunk.start,
                space_id: None,
                space_name: None,
            }
            .of_owner(scope, &document.user_id),
        };
        Ok(chunks.into_iter().map(result).collect())
    }

    /// Returns the ids of an owner's documents that the filters accept; none if there are no filters.
    async fn accepted(
        &self,
        owner_id: &str,
        filters: &Filters,
    ) -> Result<Option<HashSet<String>>, StoreError> {
        if filters.is_empty() {
            return Ok(None);
        }
        if !filters.describes() {
            // Ids of other owners' documents are not in this owner's index.
            return Ok(Some(filters.document_ids.iter().cloned().collect()));
        }
        let documents = tables::documents::of_user(&self.db, owner_id).await?;
        let accepted = documents.into_iter().filter(|document| filters.accept(document));
        Ok(Some(accepted.map(|document| document.id).collect()))
    }

    /// Reads the passages, and marks the words of the question in them. One that was deleted since is left out, and so is
    /// one that was moved to an owner beyond the scope.
    async fn read(
        &self,
        scope: &Scope,
        hits: &[Hit],
        question: &str,
    ) -> Result<Vec<SearchResult>, StoreError> {
        let positions: Vec<(&str, i64)> =
            hits.iter().map(|hit| (hit.document.as_str(), i64::from(hit.passage))).collect();
        let chunks = tables::chunks::find(&self.db, &positions).await?;
        let mut chunks: HashMap<(String, i64), FoundChunk> =
            chunks.into_iter().map(|chunk| ((chunk.document_id.clone(), chunk.position), chunk)).collect();
        let results = hits.iter().filter_map(|hit| {
            let chunk = chunks.remove(&(hit.document.clone(), i64::from(hit.passage)))?;
            if !scope.contains(&chunk.owner_id) {
                return None;
            }
            Some(SearchResult {
                id: chunk_id(&hit.document, chunk.position),
                document_id: chunk.document_id,
                matches: spans::matches(&chunk.text, question),
                text: chunk.text,
                score: f64::from(hit.score),
                metadata: ResultMetadata {
                    document_title: chunk.document_title,
                    filename: chunk.filename,
                    chunk_index: chunk.position,
                    headings: chunk.headings,
                    page: chunk.page,
                    offset: chunk.start,
                    space_id: None,
                    space_name: None,
                }
                .of_owner(scope, &chunk.owner_id),
            })
        });
        Ok(results.collect())
    }
}

/// Derives an id that stays the same when the document is indexed again.
pub fn chunk_id(document_id: &str, position: i64) -> String {
    let name = format!("{document_id}/{position}");
    let hash = digest::digest(&digest::SHA256, name.as_bytes());
    let bytes = hash.as_ref().first_chunk::<16>().copied().unwrap_or_default();
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}
