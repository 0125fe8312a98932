//! `GET /api/search`.

use super::App;
use super::caller::Caller;
use super::error::Failure;
use super::scope::{MOST_DOCUMENTS, too_many_documents};
use crate::search::{Filters, Found, MOST_RESULTS, Question, SearchError};
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::request::Params;
use retrieval::Mode;
use serde_json::{Value, json};

pub const DEFAULT_RESULTS: usize = 5;

pub async fn search(State(app): State<App>, caller: Caller, params: Params) -> Result<Json<Value>, Failure> {
    let text = params.get("query").map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| ApiError::invalid("`query` is missing: what to search for"))?.to_owned();
    let limit = params.number("topK", DEFAULT_RESULTS, (1, MOST_RESULTS))?;
    let mode = mode(params.get("mode"))?;
    let owner = caller.acting_for(&app, params.get("userId")).await?;
    let ids = ["documentId", "documentIds"].iter().flat_map(|name| list(&params, name));
    let filters = Filters { document_ids: ids.collect(), ..described(&params) };
    if filters.document_ids.len() > MOST_DOCUMENTS {
        return Err(too_many_documents().into());
    }
    Ok(Json(found(&app, &owner.id, Question { text, mode, limit, filters }).await?))
}

/// The filters on what a document's metadata says.
pub fn described(params: &Params) -> Filters {
    Filters {
        document_ids: Vec::new(),
        category: params.get("category").map(str::to_owned),
        tags: list(params, "tags").collect(),
    }
}

/// A parameter's values, which commas separate.
fn list<'a>(params: &'a Params, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let values = params.get(name).unwrap_or_default().split(',').map(str::trim);
    values.filter(|value| !value.is_empty()).map(str::to_owned)
}

/// What a search answers, whichever way it was asked.
pub async fn found(app: &App, user_id: &str, question: Question) -> Result<Value, SearchError> {
    let answer = app.search.ask(user_id, question).await?;
    let mut body = json!({ "results": answer.found.iter().map(Found::to_json).collect::<Vec<Value>>() });
    if answer.reindex_due > 0 {
        body["reindexDue"] = answer.reindex_due.into();
        body["notice"] =
            "some documents were indexed with another embedding model and are found by their words \
                          only: POST /api/documents/reindex mends it"
                .into();
    }
    if answer.lexical_only {
        body["notice"] =
            "the embedding model is missing, so only words were compared: run `stoa models pull`".into();
    }
    Ok(body)
}

pub fn mode(given: Option<&str>) -> Result<Mode, ApiError> {
    match given {
        None | Some("graph") => Ok(Mode::Graph),
        Some("hybrid") => Ok(Mode::Hybrid),
        Some("dense") => Ok(Mode::Dense),
        Some("lexical") => Ok(Mode::Lexical),
        Some(other) => {
            Err(ApiError::invalid(format!("unknown `mode` `{other}`: one of dense, lexical, hybrid, graph")))
        }
    }
}
