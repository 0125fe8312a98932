//! Entries of every kind: listed, read, made, changed, removed.

use super::App;
use super::caller::{Admin, Caller};
use crate::kinds::Kind;
use crate::shelf::{Item, etag};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::headers;
use kit::page::{self, STREAMED_BYTES};
use kit::request::{JsonObject, Params, PathId};
use serde_json::{Value, json};
use std::sync::Arc;

const USUAL: usize = 1_000;
const MOST: usize = 10_000;

/// The newest first; `after` is the cursor or the id of the last one of the page before.
pub async fn list(
    kind: &'static Kind,
    State(app): State<App>,
    _: Caller,
    params: Params,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let limit = params.number("limit", USUAL, (1, MOST))?;
    let snapshot = app.shelf.now().await?;
    let tag = format!("\"r{}\"", snapshot.revision);
    if is_known(&headers, &tag) {
        return Ok(tagged(StatusCode::NOT_MODIFIED.into_response(), &tag));
    }
    let all = snapshot.of(kind);
    let begin = match params.get("after") {
        None => 0,
        Some(cursor) => snapshot.after(kind, cursor).ok_or_else(|| {
            let kind = kind.singular;
            ApiError::invalid(format!(
                "`after` is `{cursor}`: neither the id of a {kind} nor what a `Link` header had"
            ))
        })?,
    };
    let rest = &all[begin..];
    let fitting = page::fitting(rest.iter().map(|item| item.bytes), limit, STREAMED_BYTES);
    let items: Vec<Arc<Item>> = rest[..fitting].to_vec();
    let next = items.last().filter(|_| fitting < rest.len()).map(|last| last.cursor());
    let rows = stream::iter(items.into_iter().map(Ok::<_, ApiError>));
    Ok(page::link_next(tagged(page::stream_rows(rows), &tag), &[], limit, next.as_deref()))
}

pub async fn get(
    kind: &'static Kind,
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let snapshot = app.shelf.now().await?;
    let missing = || ApiError::not_found(format!("no {} `{id}`", kind.singular));
    let item = snapshot.find(kind, &id).ok_or_else(missing)?;
    let tag = etag(item.version);
    if is_known(&headers, &tag) {
        return Ok(tagged(StatusCode::NOT_MODIFIED.into_response(), &tag));
    }
    Ok(tagged(Json(&item.value).into_response(), &tag))
}

pub async fn create(
    kind: &'static Kind,
    State(app): State<App>,
    _: Admin,
    body: JsonObject,
) -> Result<Response, ApiError> {
    let item = app.shelf.create(kind, &body.0).await?;
    Ok(shown(StatusCode::CREATED, &item))
}

pub async fn patch(
    kind: &'static Kind,
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response, ApiError> {
    let id = id_of(&app, kind, &id).await?;
    let item = app.shelf.patch(kind, &id, &body.0, headers::text(&headers, header::IF_MATCH)).await?;
    Ok(shown(StatusCode::OK, &item))
}

pub async fn remove(
    kind: &'static Kind,
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let id = id_of(&app, kind, &id).await?;
    app.shelf.delete(kind, &id, headers::text(&headers, header::IF_MATCH)).await?;
    Ok(Json(json!({ "success": true, "id": id })))
}

/// What a page is called by its slug.
async fn id_of(app: &App, kind: &'static Kind, id: &str) -> Result<String, ApiError> {
    let snapshot = app.shelf.now().await?;
    Ok(snapshot.find(kind, id).map_or_else(|| id.to_owned(), |item| item.id.clone()))
}

fn shown(status: StatusCode, item: &Item) -> Response {
    tagged((status, Json(&item.value)).into_response(), &etag(item.version))
}

fn tagged(mut response: Response, tag: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    // A browser may keep it, and has to ask whether it still holds.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers::text(headers, header::IF_NONE_MATCH);
    known.is_some_and(|known| {
        known.split(',').map(str::trim).any(|known| known.trim_start_matches("W/") == tag || known == "*")
    })
}
