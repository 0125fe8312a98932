//! `GET /api/portal/search`: over entries of all kinds.

use super::App;
use super::caller::Caller;
use crate::entry::Entry;
use crate::records::Kind;
use crate::search::Question;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::Whole;
use kit::request::Query;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: usize = 20;
const LONGEST_QUERY: usize = 1_000;
/// Characters of a text and elements of a list that a result shows.
const LONGEST_SHOWN: usize = 1_000;
const MOST_SHOWN: usize = 100;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// What to look for, in at most 1,000 characters. Required, unless `query` is given.
    #[param(example = "printers")]
    q: Option<String>,
    /// The same as `q`.
    query: Option<String>,
    /// Entries of this kind alone; its plural will do as well.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<Kind>,
    /// Results; 20 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 100>>,
}

#[derive(Serialize, ToSchema)]
pub struct SearchResults {
    #[schema(example = "printers")]
    query: String,
    results: Vec<SearchResult>,
}

/// An entry that was found.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    #[serde(rename = "type")]
    kind: Kind,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    #[schema(example = "New printers")]
    title: String,
    /// HTML: what was found is in `<mark>`, everything else is escaped.
    #[schema(example = "New <mark>printers</mark>")]
    snippet: String,
    #[schema(example = 0.62)]
    score: f64,
    /// The entry. Texts of over 1,000 characters and lists of over 100 elements are cut.
    item: Entry,
    /// Whether `item` is cut. The whole entry is at its own path.
    item_truncated: bool,
}

impl SearchResult {
    fn new(entry: &Entry, question: &Question, score: f32) -> Self {
        let mut item = entry.clone();
        let item_truncated = item.cut(LONGEST_SHOWN, MOST_SHOWN);
        Self {
            kind: entry.kind(),
            id: entry.id().to_owned(),
            title: entry.title().to_owned(),
            snippet: question.snippet(&entry.texts()),
            score: score.into(),
            item,
            item_truncated,
        }
    }
}

/// Searches entries of all kinds, the best first.
#[utoipa::path(get, path = "/api/portal/search", params(SearchQuery), responses((status = 200, body = SearchResults)))]
pub async fn search(
    State(app): State<App>,
    _: Caller,
    Query(query): Query<SearchQuery>,
) -> Result<Json<SearchResults>, ApiError> {
    let text = query.q.or(query.query).unwrap_or_default().trim().to_owned();
    if text.is_empty() {
        return Err(ApiError::invalid("`q` is missing: what to look for"));
    }
    if text.chars().count() > LONGEST_QUERY {
        return Err(ApiError::invalid(format!("`q` is too long: at most {LONGEST_QUERY} characters")));
    }
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let snapshot = app.cache.current().await?;
    let question = Question::new(&text);
    let found = snapshot.search(&question, query.kind, limit).into_iter();
    let results = found.map(|(entry, score)| SearchResult::new(entry, &question, score)).collect();
    Ok(Json(SearchResults { query: text, results }))
}
