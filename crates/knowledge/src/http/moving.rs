//! Moving and copying documents between users and spaces.

use super::App;
use super::caller::{Access, Caller, OwnerQuery};
use super::documents::{DocumentView, find};
use super::indexing::ChangedDocument;
use super::ingest::require_encoder;
use crate::ingest::{DocumentOwner, Submitted};
use crate::records::{Status, User};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kit::error::ApiError;
use kit::request::{JsonBody, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a document goes: into a space, or to the own documents of a user, which are the caller's if both are absent.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    /// The space; the caller must be an editor of it.
    space_id: Option<String>,
    /// The user. Only an administrator may name another user.
    user_id: Option<String>,
}

/// A copy of a document.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CopiedDocument {
    success: bool,
    document: DocumentView,
    /// The id of `document`, if it was there already with the same content: then nothing was copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duplicate_of: Option<String>,
}

/// The owner that a document gets.
struct NewOwner {
    id: String,
    /// The user who puts it into a space; empty if the owner is a user.
    added_by: String,
}

impl Destination {
    async fn owner(self, app: &App, user: User) -> Result<NewOwner, ApiError> {
        let is_space = self.space_id.as_ref().is_some_and(|id| !id.is_empty());
        let added_by = if is_space { user.id.clone() } else { String::new() };
        let owner = OwnerQuery { user_id: self.user_id, space_id: self.space_id };
        Ok(NewOwner { id: owner.owner_id(app, Caller(user), Access::Change).await?, added_by })
    }
}

impl NewOwner {
    fn as_owner(&self) -> DocumentOwner<'_> {
        DocumentOwner { id: &self.id, added_by: &self.added_by }
    }
}

/// Moves a document into a space, out of one, or from one to another. Its versions go with it, and the files of an archive.
#[utoipa::path(post, path = "/api/documents/{id}/move", params(("id" = String, Path)), request_body = Destination,
    responses(
        (status = 200, description = "It is there, or was there already.", body = ChangedDocument),
        (status = 403, description = "`FORBIDDEN`: the caller is only a reader of one of the spaces."),
        (status = 404, description = "`NOT_FOUND`: the caller has no document with this id, or no such space."),
        (status = 409, description = "`CONFLICT`: the document is being processed, or belongs to a source."),
        (status = 413, description = "`QUOTA_EXCEEDED`: the new owner would have more than the quota."),
    ))]
pub async fn move_to(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    JsonBody(destination): JsonBody<Destination>,
) -> Result<Json<ChangedDocument>, ApiError> {
    let document = find(&app, &user, &id, Access::Change).await?;
    let owner = destination.owner(&app, user).await?;
    Ok(Json(ChangedDocument::new(app.ingest.move_to(&document, owner.as_owner()).await?)))
}

/// Copies the current file of a document to another owner, with its metadata. The copy is indexed like an upload.
#[utoipa::path(post, path = "/api/documents/{id}/copy", params(("id" = String, Path)), request_body = Destination,
    responses(
        (status = 200, description = "A document with the same content was there already.", body = CopiedDocument),
        (status = 202, description = "The copy is stored, and will be indexed.", body = CopiedDocument),
        (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space that it would go to."),
        (status = 404, description = "`NOT_FOUND`: the caller has no document with this id, or no such space."),
        (status = 413, description = "`QUOTA_EXCEEDED`: the owner would have more than the quota."),
    ))]
pub async fn copy_to(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    JsonBody(destination): JsonBody<Destination>,
) -> Result<Response, ApiError> {
    let document = find(&app, &user, &id, Access::Read).await?;
    let owner = destination.owner(&app, user).await?;
    require_encoder(&app)?;
    let Submitted { document, is_duplicate } = app.ingest.copy_to(&document, owner.as_owner()).await?;
    let is_done = is_duplicate && document.status != Status::Processing;
    let status = if is_done { StatusCode::OK } else { StatusCode::ACCEPTED };
    let duplicate_of = is_duplicate.then(|| document.id.clone());
    let body = CopiedDocument { success: true, document: document.into(), duplicate_of };
    Ok((status, Json(body)).into_response())
}
