//! `POST /api/ingest`: one file of one user.

use super::App;
use super::caller::Caller;
use super::error::Failure;
use super::form::Form;
use crate::documents::{Document, Status};
use crate::ingest::parse_metadata;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use kit::error::ApiError;
use serde_json::json;

pub async fn ingest(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    mut form: Form,
) -> Result<Response, Failure> {
    let owner = caller.acting_for(&app, form.text("userId")).await?;
    let metadata = parse_metadata(form.text("metadata").unwrap_or_default())?;
    let upload = match form.files.len() {
        1 => form.files.remove(0),
        0 => return Err(ApiError::invalid("`file` is missing: one part with the file").into()),
        _ => return Err(ApiError::invalid("`file` is given twice: send one file at a time").into()),
    };
    require_encoder(&app)?;
    let document = app.ingest.submit(&owner, upload, metadata).await?;
    if wants_async(&headers) {
        return Ok((StatusCode::ACCEPTED, Json(report(&document))).into_response());
    }
    match app.ingest.finished(&owner.id, &document.id).await? {
        Some(document) if document.status == Status::Error => Err(failed(&document).into()),
        Some(document) => Ok(Json(report(&document)).into_response()),
        None => Err(ApiError::not_found("the document was deleted meanwhile")
            .with("documentId", document.id)
            .into()),
    }
}

/// Without it, nothing could be found again.
pub fn require_encoder(app: &App) -> Result<(), ApiError> {
    match app.engine.as_ref().and_then(|engine| engine.encoder()) {
        Some(_) => Ok(()),
        None => Err(ApiError::unavailable(
            "documents cannot be indexed: the embedding model is missing. Run `stoa models pull` and start again",
        )),
    }
}

/// RFC 7240
pub fn wants_async(headers: &HeaderMap) -> bool {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = preferences.flat_map(|list| list.split([',', ';']));
    preferences.any(|preference| preference.trim().eq_ignore_ascii_case("respond-async"))
}

fn report(document: &Document) -> serde_json::Value {
    json!({
        "success": true,
        "documentId": document.id,
        "objectKey": document.object_key,
        "chunks": document.chunk_count,
        "graphNodes": document.graph_nodes,
        "status": document.status.as_str(),
    })
}

fn failed(document: &Document) -> ApiError {
    let why = document.error.as_deref().unwrap_or("indexing failed");
    let error = match document.error_is_ours {
        false => ApiError::invalid(why),
        true => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INDEXING_FAILED", why),
    };
    error.with("documentId", document.id.clone()).with("status", document.status.as_str())
}
