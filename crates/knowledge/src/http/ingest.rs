//! `POST /api/ingest`: one file of one user.

use super::App;
use super::caller::Caller;
use super::error::Failure;
use super::form::Form;
use crate::documents::{Document, Status};
use crate::ingest::{Duplicates, Submitted, parse_metadata};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use kit::error::ApiError;
use serde_json::{Value, json};

pub async fn ingest(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    mut form: Form,
) -> Result<Response, Failure> {
    let owner = caller.acting_for(&app, form.text("userId")).await?;
    let metadata = parse_metadata(form.text("metadata").unwrap_or_default())?;
    let duplicates = duplicates(&form)?;
    let upload = match form.files.len() {
        1 => form.files.remove(0),
        0 => return Err(ApiError::invalid("`file` is missing: one part with the file").into()),
        _ => return Err(ApiError::invalid("`file` is given twice: send one file at a time").into()),
    };
    require_encoder(&app)?;
    let Submitted { document, is_duplicate } =
        app.ingest.submit(&owner, upload, metadata, duplicates).await?;
    let with_original = |error: ApiError, id: &str| match is_duplicate {
        true => error.with_field("duplicateOf", id),
        false => error,
    };
    if wants_async(&headers) && document.status == Status::Processing {
        return Ok((StatusCode::ACCEPTED, Json(report(&document, is_duplicate))).into_response());
    }
    match app.ingest.finished(&owner.id, &document.id).await? {
        Some(document) if document.status == Status::Error => {
            Err(with_original(failed(&document), &document.id).into())
        }
        Some(document) => Ok(Json(report(&document, is_duplicate)).into_response()),
        None => {
            let error = ApiError::not_found("the document was deleted meanwhile: upload the file again");
            Err(with_original(error, &document.id).with_field("documentId", document.id).into())
        }
    }
}

fn duplicates(form: &Form) -> Result<Duplicates, ApiError> {
    let Some(text) = form.text("duplicate") else { return Ok(Duplicates::default()) };
    let unknown = || ApiError::invalid(format!("unknown `duplicate` `{text}`: one of reuse, keep"));
    Duplicates::parse(text).ok_or_else(unknown)
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

/// Of a duplicate, the document that has had the content before.
fn report(document: &Document, is_duplicate: bool) -> Value {
    let mut report = json!({
        "success": true,
        "documentId": document.id,
        "objectKey": document.object_key,
        "chunks": document.chunk_count,
        "graphNodes": document.graph_nodes,
        "status": document.status.as_str(),
    });
    if is_duplicate {
        report["duplicateOf"] = document.id.clone().into();
    }
    report
}

fn failed(document: &Document) -> ApiError {
    let why = document.error.as_deref().unwrap_or("indexing failed");
    let error = match document.error_is_ours {
        false => ApiError::invalid(why),
        true => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INDEXING_FAILED", why),
    };
    error.with_field("documentId", document.id.clone()).with_field("status", document.status.as_str())
}
