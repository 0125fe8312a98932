//! `GET /api/search`.

use super::App;
use super::caller::{Caller, ScopeQuery};
use super::error::LoadProgress;
use super::fields::SearchMode;
use super::scope::check_number;
use crate::search::{Filters, MOST_RESULTS, Question, SearchResult, SearchResults};
use axum::Json;
use axum::extract::State;
use kit::error::{ApiError, ErrorWith};
use kit::fields::Whole;
use kit::request::Query;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The number of results that a caller may ask for.
pub type TopK = Whole<1, { MOST_RESULTS as u64 }>;

const REINDEX_DUE: &str = "some documents were indexed with another embedding model and are found by their words \
                           only: POST /api/documents/reindex mends it";
const LEXICAL_ONLY: &str =
    "the embedding model is missing, so only words were compared: run `stoa models pull`";

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// What to search for.
    #[param(min_length = 1, example = "who inspected the impeller")]
    query: String,
    /// The most passages that are returned; 5 if absent.
    #[serde(default = "default_results")]
    #[param(inline)]
    top_k: TopK,
    /// How passages are found: by meaning (dense), by words (lexical), by both (hybrid), or by both and over connected
    /// names (graph, also if absent).
    #[param(inline)]
    mode: Option<SearchMode>,
    /// Whether the reader reads the first passages and the question together and orders them anew: slower, and
    /// better for questions in whole sentences. Without that model it changes nothing.
    #[serde(default)]
    rerank: bool,
    /// Search only this document.
    document_id: Option<String>,
    /// Search only these documents: ids separated by commas, at most 100.
    document_ids: Option<String>,
}

/// What a document's metadata must say.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MetadataQuery {
    /// Only documents whose `metadata.category` is this.
    pub category: Option<String>,
    /// Only documents that have each of these, separated by commas, among their `metadata.tags`.
    pub tags: Option<String>,
}

pub fn default_results() -> TopK {
    Whole(5)
}

impl From<MetadataQuery> for Filters {
    fn from(query: MetadataQuery) -> Self {
        let tags = list(query.tags.as_deref()).collect();
        Self { document_ids: Vec::new(), category: query.category, tags }
    }
}

/// What a search answers.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchAnswer {
    /// The passages, the best first.
    pub results: Vec<SearchResult>,
    /// How many documents have vectors of another model; absent if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reindex_due: Option<usize>,
    /// What an operator should do to get better results; absent if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    notice: Option<&'static str>,
}

impl From<SearchResults> for SearchAnswer {
    fn from(found: SearchResults) -> Self {
        let notice = match found {
            SearchResults { lexical_only: true, .. } => Some(LEXICAL_ONLY),
            SearchResults { reindex_due: 1.., .. } => Some(REINDEX_DUE),
            _ => None,
        };
        let reindex_due = Some(found.reindex_due).filter(|documents| *documents > 0);
        Self { results: found.results, reindex_due, notice }
    }
}

/// Finds the passages that answer a question.
#[utoipa::path(get, path = "/api/search", params(SearchQuery, MetadataQuery, ScopeQuery), responses(
    (status = 200, body = SearchAnswer),
    (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, or the user no space that `spaceId` names."),
    (status = 429, description = "`TOO_MANY_REQUESTS`: too many searches at once."),
    (status = 503, description = "`INDEX_LOADING`, `INDEX_UNAVAILABLE`, `UNAVAILABLE` or `STORAGE_UNAVAILABLE`: try \
        again after `Retry-After` seconds.", body = ErrorWith<LoadProgress>),
))]
pub async fn search(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<SearchQuery>,
    Query(metadata): Query<MetadataQuery>,
    scope: ScopeQuery,
) -> Result<Json<SearchAnswer>, ApiError> {
    let text = query.query.trim().to_owned();
    if text.is_empty() {
        return Err(ApiError::invalid("`query` is missing: what to search for"));
    }
    let scope = scope.scope(&app, caller).await?;
    let ids = [&query.document_id, &query.document_ids].into_iter().flat_map(|ids| list(ids.as_deref()));
    let filters = Filters { document_ids: ids.collect(), ..metadata.into() };
    check_number(filters.document_ids.len())?;
    let (mode, limit) = (query.mode.unwrap_or_default().into(), query.top_k.size());
    let found = app.search.ask(&scope, Question { text, mode, limit, filters, rerank: query.rerank }).await?;
    Ok(Json(found.into()))
}

/// Splits a parameter's values, which commas separate.
fn list(values: Option<&str>) -> impl Iterator<Item = String> {
    let values = values.unwrap_or_default().split(',').map(str::trim);
    values.filter(|value| !value.is_empty()).map(str::to_owned)
}
