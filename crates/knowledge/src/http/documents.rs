//! A user's documents: listing, one of them, its file, running them again, removing them.

use super::App;
use super::caller::Caller;
use super::error::Failure;
use super::ingest::{require_encoder, wants_async};
use crate::accounts::User;
use crate::documents::{Document, Status};
use crate::{removal, tables};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::request::{Params, PathId};
use serde_json::{Value, json};

pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Json<Value>, Failure> {
    let owner = caller.acting_for(&app, params.get("userId")).await?;
    let documents = tables::documents::of_user(&app.db, &owner.id).await?;
    let documents: Vec<Value> = documents.iter().map(Document::to_json).collect();
    Ok(Json(json!({ "documents": documents })))
}

pub async fn get(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<Value>, Failure> {
    Ok(Json(find(&app, &user, &id).await?.to_json()))
}

/// The original file, as it was uploaded.
pub async fn content(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Response, Failure> {
    let document = find(&app, &user, &id).await?;
    let blob = app.blobs.get_stream(&document.object_key).await.map_err(ApiError::from)?;
    let Some(blob) = blob else { return Err(ApiError::not_found("the document's file is gone").into()) };
    let mut response = Body::from_stream(blob.bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(blob.size));
    // Whatever it is, it is not run in our name.
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let disposition = format!("attachment; filename*=UTF-8''{}", percent_encoded(&document.filename));
    if let Ok(disposition) = disposition.parse() {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

pub async fn remove(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<Value>, Failure> {
    let document = find(&app, &user, &id).await?;
    let mut tx = app.db.begin().await?;
    if !removal::remove_document(&mut tx, &document.user_id, &id, &Status::ALL).await? {
        return Err(no_such(&id).into());
    }
    tx.commit().await?;
    Ok(Json(json!({ "success": true, "documentId": id })))
}

/// Answers when all have ended; with `Prefer: respond-async` at once.
pub async fn reindex(
    State(app): State<App>,
    caller: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let owner = caller.acting_for(&app, params.get("userId")).await?;
    require_encoder(&app)?;
    let ids = app.ingest.resubmit_all(&owner.id).await?;
    if wants_async(&headers) {
        let body = json!({ "success": true, "documentsReindexed": 0, "documentsQueued": ids.len() });
        return Ok((StatusCode::ACCEPTED, Json(body)).into_response());
    }
    let mut indexed = 0;
    for id in ids {
        let ended = app.ingest.finished(&owner.id, &id).await?;
        indexed += usize::from(ended.is_some_and(|document| document.status == Status::Indexed));
    }
    Ok(Json(json!({ "success": true, "documentsReindexed": indexed })).into_response())
}

pub async fn purge_errors(
    State(app): State<App>,
    caller: Caller,
    params: Params,
) -> Result<Json<Value>, Failure> {
    let owner = caller.acting_for(&app, params.get("userId")).await?;
    let purged = removal::remove_failed(&app.db, &owner.id).await?;
    Ok(Json(json!({ "success": true, "documentsPurged": purged })))
}

/// Somebody else's is as if it were not there, but for an administrator.
async fn find(app: &App, user: &User, id: &str) -> Result<Document, Failure> {
    let document = tables::documents::get(&app.db, id).await?;
    let theirs = document.filter(|document| document.user_id == user.id || user.is_admin);
    theirs.ok_or_else(|| no_such(id).into())
}

fn no_such(id: &str) -> ApiError {
    ApiError::not_found(format!("no document `{id}`"))
}

fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}
