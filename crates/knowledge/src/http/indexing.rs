//! Indexing documents again, and ending the work on one.

use super::App;
use super::caller::{Access, Caller, OwnerQuery};
use super::documents::{DocumentView, find};
use super::ingest::{require_encoder, wants_async};
use crate::records::{Document, Status};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use kit::error::ApiError;
use kit::request::{PathId, Query};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reindexed {
    success: bool,
    /// How many documents ended as `indexed`.
    #[schema(example = 3)]
    documents_reindexed: usize,
    /// With `Prefer: respond-async`: how many documents will be indexed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 3)]
    documents_queued: Option<usize>,
}

/// A document after a change.
#[derive(Serialize, ToSchema)]
pub struct ChangedDocument {
    success: bool,
    document: DocumentView,
}

impl ChangedDocument {
    pub fn new(document: Document) -> Self {
        Self { success: true, document: document.into() }
    }
}

/// Indexes every document again from its stored file.
#[utoipa::path(post, path = "/api/documents/reindex",
    params(OwnerQuery, ("Prefer" = Option<String>, Header, description = "`respond-async` answers 202 at once.")),
    responses(
        (status = 200, description = "All documents have ended.", body = Reindexed),
        (status = 202, description = "The documents are queued.", body = Reindexed),
        (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space."),
        (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, or the caller no space `spaceId`."),
    ))]
pub async fn reindex_all(
    State(app): State<App>,
    caller: Caller,
    Query(owner): Query<OwnerQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let owner_id = owner.owner_id(&app, caller, Access::Change).await?;
    require_encoder(&app)?;
    let ids = app.ingest.resubmit_all(&owner_id).await?;
    if wants_async(&headers) {
        let body = Reindexed { success: true, documents_reindexed: 0, documents_queued: Some(ids.len()) };
        return Ok((StatusCode::ACCEPTED, Json(body)).into_response());
    }
    let mut indexed = 0;
    for id in ids {
        let ended = app.ingest.finished(&owner_id, &id).await?;
        indexed += usize::from(ended.is_some_and(|document| document.status == Status::Indexed));
    }
    Ok(Json(Reindexed { success: true, documents_reindexed: indexed, documents_queued: None })
        .into_response())
}

/// Indexes one document again from its stored file. It can be found as before until that is done.
#[utoipa::path(post, path = "/api/documents/{id}/reindex", params(("id" = String, Path)), responses(
    (status = 202, description = "The document is queued.", body = ChangedDocument),
    (status = 404, description = "`NOT_FOUND`: the caller has no document with this id."),
    (status = 409, description = "`CONFLICT`: the document is being processed."),
))]
pub async fn reindex(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    let document = find(&app, &user, &id, Access::Change).await?;
    require_encoder(&app)?;
    let is_queued = app.ingest.resubmit(&document).await?;
    let document = find(&app, &user, &id, Access::Change).await?;
    if !is_queued {
        return Err(ApiError::conflict("the document is being processed: cancel it first, or wait"));
    }
    Ok((StatusCode::ACCEPTED, Json(ChangedDocument::new(document))).into_response())
}

/// Ends the work on a document. It becomes an error with `metadata.error` `cancelled`, and can be indexed again.
#[utoipa::path(post, path = "/api/documents/{id}/cancel", params(("id" = String, Path)), responses(
    (status = 200, body = ChangedDocument),
    (status = 404, description = "`NOT_FOUND`: the caller has no document with this id."),
    (status = 409, description = "`CONFLICT`: the document is not being processed."),
))]
pub async fn cancel(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<ChangedDocument>, ApiError> {
    let document = find(&app, &user, &id, Access::Change).await?;
    let is_cancelled = app.ingest.cancel(&document).await?;
    let document = find(&app, &user, &id, Access::Change).await?;
    match is_cancelled {
        true => Ok(Json(ChangedDocument::new(document))),
        false => Err(ApiError::conflict("the document is not being processed: there is nothing to cancel")),
    }
}
