//! The documents that a question is about: `documentId` and `documentIds` of a request.

use super::App;
use super::error::Failure;
use crate::tables;
use kit::error::ApiError;
use kit::fields::{given, text};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

pub const MOST_DOCUMENTS: usize = 100;

/// The ids that a request names, each once; empty where it names none, which means all documents.
pub fn document_ids(fields: &Map<String, Value>) -> Result<Vec<String>, ApiError> {
    let mut ids: BTreeSet<&str> = text(fields, "documentId")?.into_iter().collect();
    if let Some(list) = given(fields, "documentIds") {
        let list = list.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
        let list: Vec<&str> =
            list.ok_or_else(|| ApiError::invalid("`documentIds` is not an array of strings"))?;
        if list.is_empty() {
            return Err(ApiError::invalid("`documentIds` is empty: leave it out to ask all documents"));
        }
        ids.extend(list);
    }
    if ids.len() > MOST_DOCUMENTS {
        return Err(too_many_documents());
    }
    Ok(ids.into_iter().map(str::to_owned).collect())
}

pub fn too_many_documents() -> ApiError {
    ApiError::invalid(format!("`documentIds` names more than {MOST_DOCUMENTS} documents"))
}

/// Fails unless all of these are the user's. Which one is not is not said: it may be another user's.
pub async fn require_owned(app: &App, user_id: &str, ids: &[String]) -> Result<(), Failure> {
    // No id has one, and a database might refuse the statement.
    let is_text = ids.iter().all(|id| !id.contains('\0'));
    if ids.is_empty()
        || (is_text && tables::documents::count_owned(&app.db, user_id, ids).await? == ids.len())
    {
        return Ok(());
    }
    Err(ApiError::not_found("no such document among those that `documentId` or `documentIds` names").into())
}
