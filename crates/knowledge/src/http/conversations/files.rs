//! Files that a user puts into a conversation: they belong to it, and its questions are answered from them.

use crate::http::App;
use crate::http::caller::{Access, Caller};
use crate::http::documents::{DocumentView, RemovedDocument, find, remove_found};
use crate::http::form::{File, Form, FormTexts};
use crate::http::ingest::require_encoder;
use crate::ingest::{DocumentOwner, Duplicates, NewFile, Submitted};
use crate::tables;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kit::error::ApiError;
use kit::request::PathId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const MAX_FILES: usize = 50;

#[derive(Deserialize, ToSchema)]
pub struct AttachForm {
    #[serde(default)]
    #[schema(inline, required = true)]
    #[expect(dead_code, reason = "only described: files are read apart")]
    file: File,
}

impl FormTexts for AttachForm {
    const NAMES: &'static [&'static str] = &[];
}

/// A file that was put into a conversation.
#[derive(Serialize, ToSchema)]
pub struct Attached {
    success: bool,
    file: DocumentView,
}

#[derive(Serialize, ToSchema)]
pub struct FileList {
    /// The newest first.
    files: Vec<DocumentView>,
}

/// Puts a file into a conversation. It is read as a document is, and deleted with the conversation.
#[utoipa::path(post, path = "/api/conversations/{id}/files", params(("id" = String, Path)),
    request_body(content = AttachForm, content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "The file is stored, and is being read.", body = Attached),
        (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
        (status = 409, description = "`CONFLICT`: the conversation has 50 files."),
        (status = 413, description = "`TOO_LARGE`: the file is larger than MAX_UPLOAD_MIB. `QUOTA_EXCEEDED`: the caller \
            would have more than the quota."),
    ))]
pub async fn attach(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
    form: Form<AttachForm>,
) -> Result<Response, ApiError> {
    let Ok([upload]) = <[_; 1]>::try_from(form.files) else {
        return Err(ApiError::invalid("one part `file` is expected: send one file at a time"));
    };
    require_encoder(&app)?;
    let owner_id = app.conversations.files_owner(&user.id, &id).await?;
    if tables::documents::ids_of_user(&app.db, &owner_id).await?.len() >= MAX_FILES {
        return Err(ApiError::conflict(format!("this conversation has {MAX_FILES} files: remove one first")));
    }
    let owner = DocumentOwner { id: &owner_id, added_by: "" };
    let file = NewFile { duplicates: Duplicates::Reuse, ..NewFile::new(owner, upload) };
    let Submitted { document, .. } = app.ingest.submit(file).await?;
    Ok((StatusCode::CREATED, Json(Attached { success: true, file: document.into() })).into_response())
}

/// Lists the files of a conversation.
#[utoipa::path(get, path = "/api/conversations/{id}/files", params(("id" = String, Path)), responses(
    (status = 200, body = FileList),
    (status = 404, description = "`NOT_FOUND`: the caller has no conversation with this id."),
))]
pub async fn list(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<FileList>, ApiError> {
    let owner_id = app.conversations.get(&user.id, &id).await?.files_owner;
    let files = tables::documents::of_user(&app.db, &owner_id).await?;
    Ok(Json(FileList { files: files.into_iter().map(DocumentView::from).collect() }))
}

/// Removes a file of a conversation.
#[utoipa::path(delete, path = "/api/conversations/{id}/files/{file}",
    params(("id" = String, Path), ("file" = String, Path)), responses(
        (status = 200, body = RemovedDocument),
        (status = 404, description = "`NOT_FOUND`: the caller has no such conversation, or it has no such file."),
    ))]
pub async fn remove(
    State(app): State<App>,
    Caller(user): Caller,
    Path((id, file)): Path<(String, String)>,
) -> Result<Json<RemovedDocument>, ApiError> {
    let owner_id = app.conversations.get(&user.id, &id).await?.files_owner;
    let no_such = || ApiError::not_found("no such file in this conversation");
    // No id has a NUL character, and PostgreSQL would refuse the statement.
    if file.contains('\0') {
        return Err(no_such());
    }
    let document = find(&app, &user, &file, Access::Change).await?;
    match document.user_id == owner_id {
        true => remove_found(&app, document).await,
        false => Err(no_such()),
    }
}
