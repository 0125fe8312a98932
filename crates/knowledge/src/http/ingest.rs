//! `POST /api/ingest`: one file of a user or a space.

use super::App;
use super::caller::{Access, Caller, OwnerQuery};
use super::form::{File, Form, FormTexts};
use crate::ingest::{DocumentOwner, Duplicates, NewFile, Origin, SameName, Submitted, parse_metadata};
use crate::records::{Document, Status};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use kit::error::{ApiError, ErrorWith};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestForm {
    #[serde(default)]
    #[schema(inline, required = true)]
    #[expect(dead_code, reason = "only described: files are read apart")]
    file: File,
    /// The owner; the caller if absent. Only an administrator may name another user.
    user_id: Option<String>,
    /// The space that the document is added to; the caller must be an editor of it.
    space_id: Option<String>,
    /// A JSON object whose values are strings.
    #[schema(max_length = 65536, example = r#"{"author": "A. Solberg", "tags": "pump, coolant"}"#)]
    metadata: Option<String>,
    /// What happens if a document of the same owner has the same content.
    #[schema(inline)]
    duplicate: Option<Duplicates>,
    /// What happens if a document of the same owner has the same file name and `metadata.folder`.
    #[schema(inline)]
    same_name: Option<SameName>,
    /// When the document is removed, in milliseconds since 1970; never if absent.
    #[schema(value_type = Option<i64>, minimum = 0, example = 1894821400000i64)]
    expires_at: Option<String>,
}

impl FormTexts for IngestForm {
    const NAMES: &'static [&'static str] =
        &["userId", "spaceId", "metadata", "duplicate", "sameName", "expiresAt"];
}

/// A document that was taken.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ingested {
    success: bool,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    document_id: String,
    #[schema(
        example = "users/5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f/documents/0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a-pump.pdf"
    )]
    object_key: String,
    #[schema(example = 12)]
    chunks: i64,
    #[schema(example = 34)]
    graph_nodes: i64,
    status: Status,
    /// The number of the document's file, if it takes the place of another; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 2)]
    version: Option<i64>,
    /// The document that had the same content already; only for a duplicate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duplicate_of: Option<String>,
}

/// What an error says of the document that came of the file, if one did.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngestDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    document_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<Status>,
    /// The document that had the same content already; only for a duplicate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duplicate_of: Option<String>,
}

/// Takes a file and indexes it.
#[utoipa::path(post, path = "/api/ingest",
    params(("Prefer" = Option<String>, Header, description = "`respond-async` answers 202 at once.")),
    request_body(content = IngestForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The document is indexed.", body = Ingested),
        (status = 202, description = "The file is stored, and will be indexed.", body = Ingested),
        (status = 400, description = "`INVALID_REQUEST`: the form is wrong, or the file cannot be indexed.",
            body = ErrorWith<IngestDetails>),
        (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space."),
        (status = 413, description = "`TOO_LARGE`: the file is larger than MAX_UPLOAD_MIB. `QUOTA_EXCEEDED`: the owner \
            would have more than the quota."),
        (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, the caller no space `spaceId`, or the \
            document was deleted meanwhile.",
            body = ErrorWith<IngestDetails>),
        (status = 500, description = "`INDEXING_FAILED` or `INTERNAL_ERROR`: the log has the cause.",
            body = ErrorWith<IngestDetails>),
    ))]
pub async fn ingest(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    form: Form<IngestForm>,
) -> Result<Response, ApiError> {
    let Form { texts, mut files } = form;
    let adder = caller.0.id.clone();
    let owner = OwnerQuery { user_id: texts.user_id, space_id: texts.space_id };
    let is_space = owner.space_id.is_some();
    let owner_id = owner.owner_id(&app, caller, Access::Change).await?;
    let metadata = parse_metadata(texts.metadata.as_deref().unwrap_or_default())?;
    let expires_at = texts.expires_at.as_deref().map(parse_time).transpose()?;
    let upload = match files.len() {
        1 => files.remove(0),
        0 => return Err(ApiError::invalid("`file` is missing: one part with the file")),
        _ => return Err(ApiError::invalid("`file` is given twice: send one file at a time")),
    };
    require_encoder(&app)?;
    let owner = DocumentOwner { id: &owner_id, added_by: if is_space { &adder } else { "" } };
    let origin = Origin::Upload(texts.same_name.unwrap_or_default());
    let duplicates = texts.duplicate.unwrap_or_default();
    let file = NewFile { owner, upload, metadata, duplicates, origin, expires_at };
    let Submitted { document, is_duplicate } = app.ingest.submit(file).await?;
    if wants_async(&headers) && document.status == Status::Processing {
        return Ok((StatusCode::ACCEPTED, Json(ingested(document, is_duplicate))).into_response());
    }
    match app.ingest.finished(&owner_id, &document.id).await? {
        Some(document) if document.status == Status::Error => Err(failed(document, is_duplicate)),
        Some(document) => Ok(Json(ingested(document, is_duplicate)).into_response()),
        None => {
            let error = ApiError::not_found("the document was deleted meanwhile: upload the file again");
            Err(error.with(IngestDetails { status: None, ..details(&document, is_duplicate) }))
        }
    }
}

fn parse_time(text: &str) -> Result<i64, ApiError> {
    let time = text.trim().parse().ok().filter(|time: &i64| *time >= 0);
    time.ok_or_else(|| ApiError::invalid("`expiresAt` is not a time: milliseconds since 1970"))
}

/// Checks that there is an encoder: without one, the document could not be found.
pub fn require_encoder(app: &App) -> Result<(), ApiError> {
    match app.engine.as_ref().and_then(|engine| engine.encoder()) {
        Some(_) => Ok(()),
        None => Err(ApiError::unavailable(
            "documents cannot be indexed: the embedding model is missing. Run `stoa models pull` and start again",
        )),
    }
}

/// Returns whether the client prefers not to wait (RFC 7240).
pub fn wants_async(headers: &HeaderMap) -> bool {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut preferences = preferences.flat_map(|list| list.split([',', ';']));
    preferences.any(|preference| preference.trim().eq_ignore_ascii_case("respond-async"))
}

/// A duplicate is the document that had the content before.
fn ingested(document: Document, is_duplicate: bool) -> Ingested {
    Ingested {
        success: true,
        duplicate_of: is_duplicate.then(|| document.id.clone()),
        document_id: document.id,
        object_key: document.object_key,
        chunks: document.chunk_count,
        graph_nodes: document.graph_nodes,
        status: document.status,
        version: Some(document.version).filter(|version| *version > 1),
    }
}

fn details(document: &Document, is_duplicate: bool) -> IngestDetails {
    IngestDetails {
        document_id: Some(document.id.clone()),
        status: Some(document.status),
        duplicate_of: is_duplicate.then(|| document.id.clone()),
    }
}

fn failed(document: Document, is_duplicate: bool) -> ApiError {
    let details = details(&document, is_duplicate);
    let why = document.error.unwrap_or_else(|| "indexing failed".to_owned());
    let error = match document.error_is_ours {
        false => ApiError::invalid(why),
        true => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "INDEXING_FAILED", why),
    };
    error.with(details)
}
