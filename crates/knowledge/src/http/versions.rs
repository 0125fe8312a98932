//! The versions of a document's file, and when the document is removed.

use super::App;
use super::caller::{Access, Caller};
use super::documents::find;
use super::indexing::ChangedDocument;
use super::ingest::require_encoder;
use crate::records::{Document, FileVersion, documents_topic};
use crate::tables;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::given;
use kit::request::{JsonBody, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a file is to its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum VersionState {
    /// It takes the place of the current one when it is indexed.
    Next,
    Current,
    Former,
}

/// A file of a document.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Version)]
pub struct VersionView {
    #[schema(example = 2)]
    version: i64,
    #[schema(inline)]
    state: VersionState,
    #[schema(example = "pump.pdf")]
    filename: String,
    /// In bytes.
    #[schema(example = 52311)]
    size: i64,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    uploaded_at: i64,
}

#[derive(Serialize, ToSchema)]
pub struct VersionList {
    /// The newest first. The last five former ones are kept.
    versions: Vec<VersionView>,
}

/// What is to change of a document. What is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentChanges {
    /// When the document is removed, in milliseconds since 1970; null: never.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 0, example = 1894821400000i64)]
    expires_at: Option<Option<i64>>,
}

/// Lists the files of a document.
#[utoipa::path(get, path = "/api/documents/{id}/versions", params(("id" = String, Path)), responses(
    (status = 200, body = VersionList),
    (status = 404, description = "`NOT_FOUND`: the caller has no document with this id."),
))]
pub async fn list(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<VersionList>, ApiError> {
    let document = find(&app, &user, &id, Access::Read).await?;
    let mut files = tables::files::of_document(app.db.read(), &id).await?;
    files.push(document.file_version());
    files.sort_by_key(|file| std::cmp::Reverse(file.version));
    Ok(Json(VersionList { versions: files.into_iter().map(|file| view(&document, file)).collect() }))
}

/// Makes a former file the current one again, when it is indexed. The current version stops a file that is being indexed
/// from taking its place.
#[utoipa::path(post, path = "/api/documents/{id}/versions/{version}/restore",
    params(("id" = String, Path), ("version" = i64, Path)), responses(
        (status = 202, description = "The document is queued.", body = ChangedDocument),
        (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space."),
        (status = 404, description = "`NOT_FOUND`: the caller has no document with this id, or it has no such version."),
    ))]
pub async fn restore(
    State(app): State<App>,
    Caller(user): Caller,
    Path((id, version)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    // No id has a NUL character, and PostgreSQL would refuse the statement.
    if id.contains('\0') {
        return Err(ApiError::not_found("no document has this id"));
    }
    let document = find(&app, &user, &id, Access::Change).await?;
    let version = version.parse().map_err(|_| ApiError::not_found(format!("no version `{version}`")))?;
    require_encoder(&app)?;
    let document = app.ingest.restore(&document, version).await?;
    Ok((StatusCode::ACCEPTED, Json(ChangedDocument::new(document))).into_response())
}

/// Changes when a document is removed.
#[utoipa::path(patch, path = "/api/documents/{id}", params(("id" = String, Path)), request_body = DocumentChanges,
    responses(
        (status = 200, body = ChangedDocument),
        (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space."),
        (status = 404, description = "`NOT_FOUND`: the caller has no document with this id."),
    ))]
pub async fn update(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    JsonBody(changes): JsonBody<DocumentChanges>,
) -> Result<Json<ChangedDocument>, ApiError> {
    let document = find(&app, &user, &id, Access::Change).await?;
    if let Some(expires_at) = changes.expires_at {
        if expires_at.is_some_and(|at| at < 0) {
            return Err(ApiError::invalid("`expiresAt` is negative: milliseconds since 1970"));
        }
        let mut tx = app.db.begin().await?;
        let revision = tables::users::next_revision(&mut tx, &document.user_id).await?;
        if let Some(revision) = revision
            && tables::documents::get_of(&mut tx, &document.user_id, &id).await?.is_some()
        {
            tables::documents::set_expiry(&mut tx, &id, expires_at, revision).await?;
        }
        tx.wake(&documents_topic(&document.user_id));
        tx.commit().await?;
    }
    Ok(Json(ChangedDocument::new(find(&app, &user, &id, Access::Change).await?)))
}

fn view(document: &Document, file: FileVersion) -> VersionView {
    let state = match file.version.cmp(&document.version) {
        std::cmp::Ordering::Greater => VersionState::Next,
        std::cmp::Ordering::Equal => VersionState::Current,
        std::cmp::Ordering::Less => VersionState::Former,
    };
    let FileVersion { version, filename, size, uploaded_at, .. } = file;
    VersionView { version, state, filename, size, uploaded_at }
}
