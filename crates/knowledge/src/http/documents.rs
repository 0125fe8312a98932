//! Documents of a user or a space: listing them, one of them, removing them.

use super::App;
use super::caller::{Access, Caller, OwnerQuery};
use super::search::MetadataQuery;
use super::storage::storage_of;
use crate::listing::{Listing, MOST_LISTED};
use crate::records::{Cursor, Document, Metadata, Order, Role, Stage, Status, User};
use crate::spaces::SpaceError;
use crate::{media_type, removal, tables};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::fields::Whole;
use kit::page;
use kit::request::{PathId, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The number of documents that a caller may ask for.
pub type ListLimit = Whole<1, { MOST_LISTED as u64 }>;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// The most documents that are listed; 1000 if absent.
    #[serde(default = "most_listed")]
    #[param(inline)]
    limit: ListLimit,
    /// The `next` of the page before.
    #[param(value_type = Option<String>)]
    after: Option<Cursor>,
    /// Only documents with this status.
    #[param(inline)]
    status: Option<Status>,
    /// Only documents with this in their title or in the name of their file, in upper or lower case.
    title: Option<String>,
    /// The order: by the time of the upload, newest first if absent, by the title, or by the size, largest first.
    #[param(inline)]
    sort: Option<Order>,
}

pub fn most_listed() -> ListLimit {
    Whole(MOST_LISTED as u64)
}

/// A document, as answers show it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Document)]
pub struct DocumentView {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    /// The owner; of a document in a space, the user who added it.
    #[schema(example = "5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f")]
    user_id: String,
    /// The space that it is in; absent if the owner is a user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    space_id: Option<String>,
    #[schema(example = "Pump manual")]
    title: String,
    #[schema(example = "pump.pdf")]
    filename: String,
    /// What the file is, by its content.
    #[schema(example = "application/pdf")]
    media_type: String,
    /// In bytes.
    #[schema(example = 52311)]
    size: i64,
    #[schema(
        example = "users/5f0c1d9e-8b1a-4c55-9d0e-0a1b2c3d4e5f/documents/0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a-pump.pdf"
    )]
    object_key: String,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    uploaded_at: i64,
    status: Status,
    /// In percent.
    #[schema(example = 100, minimum = 0, maximum = 100)]
    progress: i64,
    /// What is being done with it; null if it is not being processed.
    #[schema(inline)]
    stage: Option<Stage>,
    #[schema(example = 12)]
    chunk_count: i64,
    #[schema(example = 34)]
    graph_nodes: i64,
    /// The number of its file, from 1; a file that takes its place has a higher one.
    #[schema(example = 1)]
    version: i64,
    /// When it is removed, in milliseconds since 1970; null if never.
    #[schema(example = 1894821400000i64)]
    expires_at: Option<i64>,
    /// The source that keeps it up to date; absent if it was uploaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "0199a2f4-0b1c-7d3b-8a90-1f2e3d4c5b6a")]
    source_id: Option<String>,
    /// As given with the file. `error` says why it could not be indexed.
    metadata: Metadata,
}

impl From<Document> for DocumentView {
    fn from(document: Document) -> Self {
        let (stage, media_type) = (document.stage(), media_type::of_document(&document).to_owned());
        let mut metadata = document.metadata;
        let (user_id, space_id) = match document.added_by.is_empty() {
            true => (document.user_id, None),
            false => (document.added_by, Some(document.user_id)),
        };
        metadata.extend(document.error.map(|error| ("error".to_owned(), error)));
        Self {
            id: document.id,
            user_id,
            space_id,
            title: document.title,
            filename: document.filename,
            media_type,
            size: document.size,
            object_key: document.object_key,
            uploaded_at: document.uploaded_at,
            status: document.status,
            progress: document.progress,
            stage,
            chunk_count: document.chunk_count,
            graph_nodes: document.graph_nodes,
            version: document.version,
            expires_at: document.expires_at,
            source_id: Some(document.source_id).filter(|id| !id.is_empty()),
            metadata,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct DocumentList {
    documents: Vec<DocumentView>,
    /// What `after` is for the next page; null at the end.
    #[schema(example = "1794821400000.0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    next: Option<String>,
    counts: StatusCounts,
    #[schema(inline)]
    storage: StorageUse,
}

/// How much of its quota the owner of the documents uses, whatever the filters of the list.
#[derive(Serialize, ToSchema)]
pub struct StorageUse {
    /// The size of all files, former versions included, and of copies of repositories, in bytes.
    #[schema(example = 1048576)]
    bytes: i64,
    /// The most that there may be, in bytes; null if there is no limit.
    #[schema(example = 1073741824)]
    quota: Option<i64>,
}

/// How many documents have each status, whatever the filters of the list.
#[derive(Serialize, ToSchema)]
pub struct StatusCounts {
    #[schema(example = 0)]
    processing: i64,
    #[schema(example = 1)]
    indexed: i64,
    #[schema(example = 0)]
    error: i64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemovedDocument {
    success: bool,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    document_id: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Purged {
    success: bool,
    #[schema(example = 1)]
    documents_purged: usize,
}

/// Lists the caller's documents page by page, the newest first.
#[utoipa::path(get, path = "/api/documents", params(ListQuery, MetadataQuery, OwnerQuery), responses(
    (status = 200, description = "A page.", body = DocumentList, headers(
        ("Link" = String, description = "The next page, `rel=\"next\"`; absent at the end."),
    )),
    (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, or the caller no space `spaceId`."),
))]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
    Query(metadata): Query<MetadataQuery>,
    Query(owner): Query<OwnerQuery>,
) -> Result<Response, ApiError> {
    let owner_id = owner.owner_id(&app, caller, Access::Read).await?;
    let (limit, order) = (query.limit.size(), query.sort.unwrap_or_default());
    if query.after.as_ref().is_some_and(|after| !after.fits(order)) {
        return Err(ApiError::invalid("`after` is of a list with another `sort`: begin again without it"));
    }
    let (category, tags, title) = (metadata.category.clone(), metadata.tags.clone(), query.title.clone());
    let listing = Listing {
        status: query.status,
        filters: metadata.into(),
        title: query.title,
        order,
        after: query.after,
        limit,
    };
    let page = listing.page(&app.db, &owner_id).await?;
    let [processing, indexed, error] = tables::documents::count_by_status(&app.db, &owner_id).await?;
    let storage = storage_of(&app, &[&owner_id]).await?.remove(&owner_id).unwrap_or_default();
    let next = page.next.map(|cursor| cursor.to_string());
    let body = DocumentList {
        documents: page.documents.into_iter().map(DocumentView::from).collect(),
        next: next.clone(),
        counts: StatusCounts { processing, indexed, error },
        storage: StorageUse { bytes: storage.bytes, quota: storage.quota },
    };
    let filters = [
        ("userId", owner.user_id.as_deref()),
        ("spaceId", owner.space_id.as_deref()),
        ("status", query.status.map(Status::as_str)),
        ("category", category.as_deref()),
        ("tags", tags.as_deref()),
        ("title", title.as_deref()),
        ("sort", query.sort.map(Order::as_str)),
    ];
    Ok(page::link_next(Json(body).into_response(), &filters, limit, next.as_deref()))
}

/// Returns one document.
#[utoipa::path(get, path = "/api/documents/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = DocumentView),
    (status = 404, description = "`NOT_FOUND`: the caller has no document with this id."),
))]
pub async fn get(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<DocumentView>, ApiError> {
    Ok(Json(find(&app, &user, &id, Access::Read).await?.into()))
}

/// Removes a document with its file, its passages and its part of the graph.
#[utoipa::path(delete, path = "/api/documents/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = RemovedDocument),
    (status = 404, description = "`NOT_FOUND`: the caller has no document with this id."),
))]
pub async fn remove(
    State(app): State<App>,
    Caller(user): Caller,
    PathId(id): PathId,
) -> Result<Json<RemovedDocument>, ApiError> {
    remove_found(&app, find(&app, &user, &id, Access::Change).await?).await
}

pub async fn remove_found(app: &App, document: Document) -> Result<Json<RemovedDocument>, ApiError> {
    let mut tx = app.db.begin().await?;
    if !removal::remove_document(&mut tx, &document.user_id, &document.id, &Status::ALL).await? {
        return Err(no_such(&document.id));
    }
    tx.commit().await?;
    Ok(Json(RemovedDocument { success: true, document_id: document.id }))
}

/// Removes the documents that could not be indexed.
#[utoipa::path(delete, path = "/api/documents/purge-errors", params(OwnerQuery), responses(
    (status = 200, body = Purged),
    (status = 403, description = "`FORBIDDEN`: the caller is only a reader of the space."),
    (status = 404, description = "`NOT_FOUND`: no user has the id `userId`, or the caller no space `spaceId`."),
))]
pub async fn purge_errors(
    State(app): State<App>,
    caller: Caller,
    Query(owner): Query<OwnerQuery>,
) -> Result<Json<Purged>, ApiError> {
    let owner_id = owner.owner_id(&app, caller, Access::Change).await?;
    let documents_purged = app.ingest.remove_failed(&owner_id).await?;
    Ok(Json(Purged { success: true, documents_purged }))
}

/// Finds a document of the user or of a space of theirs, or for an administrator any document. Only editors of a space may
/// change its documents.
pub async fn find(app: &App, user: &User, id: &str, access: Access) -> Result<Document, ApiError> {
    let document = tables::documents::get(&app.db, id).await?.ok_or_else(|| no_such(id))?;
    if document.user_id == user.id || user.is_admin {
        return Ok(document);
    }
    match tables::spaces::role(&app.db, &document.user_id, &user.id).await? {
        Some(Role::Editor) => Ok(document),
        Some(Role::Reader) if access == Access::Read => Ok(document),
        Some(Role::Reader) => Err(SpaceError::NotAnEditor.into()),
        None => match tables::users::files_of(app.db.read(), &document.user_id).await? {
            Some(owner) if owner == user.id => Ok(document),
            _ => Err(no_such(id)),
        },
    }
}

fn no_such(id: &str) -> ApiError {
    ApiError::not_found(format!("no document `{id}`"))
}
