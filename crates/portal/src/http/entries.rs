//! Entries of the kinds that have a list: listed, read, created, changed, deleted.
//!
//! A module for each kind has its operations, which differ by their descriptions and their records.

use super::App;
use super::bodies::{New, Patch};
use super::caller::{Admin, Caller};
use crate::cache::CachedEntry;
use crate::entry::Entry;
use crate::projects::{self, Known};
use crate::records::{Goal, Kind, Page, Task, Tool, Update};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base::token::Claims;
use futures_util::stream;
use http::StatusCode;
use kit::error::ApiError;
use kit::etag::{ETag, IfMatch, IfNoneMatch};
use kit::fields::Whole;
use kit::page::{self, STREAMED_BYTES};
use kit::request::{JsonBody, PathId, Query};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Entries on a page; 1,000 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 10_000>>,
    /// What the `Link` header of the page before has, or the id of its last entry.
    after: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct Deleted {
    success: bool,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
}

macro_rules! operations {
    ($module:ident, $Record:ident, $plural:literal, $one:literal, $id:literal) => {
        pub mod $module {
            use super::*;

            type NewRecord = New<$Record>;
            type RecordPatch = Patch<$Record>;

            #[utoipa::path(get, path = concat!("/api/portal/", $plural),
                summary = concat!("Lists ", $plural, ", the newest first."),
                params(ListQuery, IfNoneMatch),
                responses(
                    (status = 200, description = "A page.", body = Vec<$Record>, headers(
                        ("ETag" = String, description = "The version of all entries."),
                        ("Link" = String, description = "The next page, if there is one."),
                    )),
                    (status = 304, description = "The client has this version."),
                ))]
            pub async fn list(
                State(app): State<App>,
                _: Caller,
                Query(query): Query<ListQuery>,
                known: IfNoneMatch,
            ) -> Result<Response, ApiError> {
                list_entries(&app, Kind::$Record, query, &known).await
            }

            #[utoipa::path(post, path = concat!("/api/portal/", $plural),
                summary = concat!("Creates ", $one, "; for administrators."),
                request_body = NewRecord,
                responses(
                    (status = 201, description = "It was created.", body = $Record,
                        headers(("ETag" = String, description = "Its version."))),
                    (status = 409, description = "`CONFLICT`: another page has the slug."),
                ))]
            pub async fn create(
                State(app): State<App>,
                Caller(claims): Caller,
                _: Admin,
                JsonBody(New(record)): JsonBody<NewRecord>,
            ) -> Result<Response, ApiError> {
                create_entry(&app, &claims, record.into()).await
            }

            #[utoipa::path(get, path = concat!("/api/portal/", $plural, "/{id}"),
                summary = concat!("Returns ", $one, "."),
                params(("id" = String, Path, description = $id), IfNoneMatch),
                responses(
                    (status = 200, body = $Record, headers(("ETag" = String, description = "Its version."))),
                    (status = 304, description = "The client has this version."),
                    (status = 404, description = "`NOT_FOUND`: no such entry."),
                ))]
            pub async fn read(
                State(app): State<App>,
                _: Caller,
                PathId(id): PathId,
                known: IfNoneMatch,
            ) -> Result<Response, ApiError> {
                read_entry(&app, Kind::$Record, &id, &known).await
            }

            #[utoipa::path(patch, path = concat!("/api/portal/", $plural, "/{id}"),
                summary = concat!("Changes ", $one, " by a JSON merge patch; for administrators."),
                description = "Fields that the patch does not name stay as they are; null takes a value away.",
                params(("id" = String, Path, description = $id), IfMatch),
                request_body = RecordPatch,
                responses(
                    (status = 200, body = $Record, headers(("ETag" = String, description = "Its version."))),
                    (status = 404, description = "`NOT_FOUND`: no such entry."),
                    (status = 409, description = "`CONFLICT`: another page has the slug."),
                    (status = 412, description = "`PRECONDITION_FAILED`: it has been changed since."),
                ))]
            pub async fn patch(
                State(app): State<App>,
                Caller(claims): Caller,
                _: Admin,
                PathId(id): PathId,
                expected: IfMatch,
                JsonBody(patch): JsonBody<RecordPatch>,
            ) -> Result<Response, ApiError> {
                check_patched_project(&app, &claims, Kind::$Record, &id, &patch.fields).await?;
                patch_entry(&app, Kind::$Record, &id, &patch.fields, &expected).await
            }

            #[utoipa::path(delete, path = concat!("/api/portal/", $plural, "/{id}"),
                summary = concat!("Deletes ", $one, "; for administrators."),
                params(("id" = String, Path, description = $id), IfMatch),
                responses(
                    (status = 200, body = Deleted),
                    (status = 404, description = "`NOT_FOUND`: no such entry."),
                    (status = 412, description = "`PRECONDITION_FAILED`: it has been changed since."),
                ))]
            pub async fn delete(
                State(app): State<App>,
                _: Admin,
                PathId(id): PathId,
                expected: IfMatch,
            ) -> Result<Json<Deleted>, ApiError> {
                delete_entry(&app, Kind::$Record, &id, &expected).await
            }
        }
    };
}

operations!(updates, Update, "updates", "an update", "The update's id.");
operations!(goals, Goal, "goals", "a goal", "The goal's id.");
operations!(tools, Tool, "tools", "a tool", "The tool's id.");
operations!(tasks, Task, "tasks", "a task", "The task's id.");
operations!(pages, Page, "pages", "a page", "The page's id or its slug.");

async fn list_entries(
    app: &App,
    kind: Kind,
    query: ListQuery,
    known: &IfNoneMatch,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let snapshot = app.cache.current().await?;
    let tag = ETag::new(format_args!("r{}", snapshot.revision));
    if known.has(&tag) {
        return Ok(tag.not_modified());
    }
    let begin = match query.after {
        None => 0,
        Some(cursor) => snapshot.position_after(kind, &cursor).ok_or_else(|| {
            let kind = kind.name();
            ApiError::invalid(format!(
                "`after` is `{cursor}`: neither the id of a {kind} nor what a `Link` header had"
            ))
        })?,
    };
    let rest = &snapshot.of(kind)[begin..];
    let fitting = page::fitting(rest.iter().map(|cached| cached.bytes), limit, STREAMED_BYTES);
    let entries: Vec<Arc<CachedEntry>> = rest[..fitting].to_vec();
    let next = entries.last().filter(|_| fitting < rest.len()).map(|last| last.cursor());
    let rows = stream::iter(entries.into_iter().map(Ok::<_, ApiError>));
    Ok(page::link_next(tag.mark(page::stream_rows(rows)), &[], limit, next.as_deref()))
}

async fn read_entry(app: &App, kind: Kind, id: &str, known: &IfNoneMatch) -> Result<Response, ApiError> {
    let snapshot = app.cache.current().await?;
    let missing = || ApiError::not_found(format!("no {} `{id}`", kind.name()));
    let cached = snapshot.find(kind, id).ok_or_else(missing)?;
    let tag = ETag::new(cached.version);
    match known.has(&tag) {
        true => Ok(tag.not_modified()),
        false => Ok(answer(StatusCode::OK, cached)),
    }
}

async fn create_entry(app: &App, claims: &Claims, entry: Entry) -> Result<Response, ApiError> {
    if let Entry::Task(task) = &entry {
        check_project(app, claims, &task.project_id).await?;
    }
    let created = app.cache.create(entry).await?;
    Ok(answer(StatusCode::CREATED, &created))
}

async fn patch_entry(
    app: &App,
    kind: Kind,
    id: &str,
    patch: &Map<String, Value>,
    expected: &IfMatch,
) -> Result<Response, ApiError> {
    let id = find_id(app, kind, id).await?;
    let patched = app.cache.patch(kind, &id, patch, expected).await?;
    Ok(answer(StatusCode::OK, &patched))
}

/// Checks the project that a patch gives to a task, unless the task has it already.
async fn check_patched_project(
    app: &App,
    claims: &Claims,
    kind: Kind,
    id: &str,
    patch: &Map<String, Value>,
) -> Result<(), ApiError> {
    let Some(project) = patch.get("projectId").and_then(Value::as_str).filter(|_| kind == Kind::Task) else {
        return Ok(());
    };
    let snapshot = app.cache.current().await?;
    match snapshot.find(kind, id).map(|cached| &cached.entry) {
        Some(Entry::Task(task)) if task.project_id == project.trim() => Ok(()),
        _ => check_project(app, claims, project.trim()).await,
    }
}

/// Checks that the project of a task exists; none is right, too.
async fn check_project(app: &App, claims: &Claims, id: &str) -> Result<(), ApiError> {
    if id.is_empty() {
        return Ok(());
    }
    match projects::look_up(&app.client, &app.supervisors, &app.tokens, claims, id).await {
        Known::Exists => Ok(()),
        Known::Missing => Err(ApiError::invalid(format!("`projectId` is `{id}`: there is no such project"))),
        Known::Untold => Err(ApiError::unavailable(
            "`projectId` cannot be checked: the supervisor does not answer, or not this caller. Try again, or leave it out",
        )),
    }
}

async fn delete_entry(
    app: &App,
    kind: Kind,
    id: &str,
    expected: &IfMatch,
) -> Result<Json<Deleted>, ApiError> {
    let id = find_id(app, kind, id).await?;
    app.cache.delete(kind, &id, expected).await?;
    Ok(Json(Deleted { success: true, id }))
}

/// Returns the id of a page that is named by its slug, and any other text as it is.
async fn find_id(app: &App, kind: Kind, id: &str) -> Result<String, ApiError> {
    let snapshot = app.cache.current().await?;
    Ok(snapshot.find(kind, id).map_or(id, |cached| cached.id()).to_owned())
}

fn answer(status: StatusCode, cached: &CachedEntry) -> Response {
    ETag::new(cached.version).mark((status, Json(cached)).into_response())
}
