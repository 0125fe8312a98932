//! What is kept of a project: its artifacts, traces and runs, page by page.

use super::App;
use super::caller::Caller;
use super::projects::find;
use crate::records::{Run, Trace};
use crate::tables;
use crate::tables::artifacts::Filter;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use kit::error::ApiError;
use kit::page::{self, STREAMED_BYTES};
use kit::request::{Params, PathId};
use serde_json::Value;
use store::StoreError;

const USUAL_HISTORY: usize = 100;
const MOST_HISTORY: usize = 1_000;
const MOST_TRACES: usize = 10_000;
/// What an artifact has beside its content, as JSON.
const FIELD_BYTES: usize = 1_000;

pub async fn hydrate(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
) -> Result<Json<Value>, ApiError> {
    let limit = params.number("limit", USUAL_HISTORY, (1, MOST_HISTORY))?;
    let project = find(&app, &id).await?;
    Ok(Json(app.projects.hydrate(&project, params.get("before"), limit).await?))
}

/// Sent one at a time: a client that reads slowly costs the memory of one artifact and no connection to the database.
pub async fn artifacts(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
) -> Result<Response, ApiError> {
    let versions = params.get("versions").unwrap_or("current");
    if !["current", "all"].contains(&versions) {
        return Err(ApiError::invalid(format!("`versions` is `{versions}`: one of current, all")));
    }
    let limit = params.number("limit", MOST_HISTORY, (1, MOST_HISTORY))?;
    find(&app, &id).await?;
    let phase = params.get("phase");
    let filter = Filter { all_versions: versions == "all", phase, after: params.get("after") };
    let sizes = tables::artifacts::sizes(&app.db, &id, filter, limit + 1).await?;
    let bytes = sizes.iter().map(|(_, content)| content + FIELD_BYTES);
    let fitting = page::fitting(bytes, limit, STREAMED_BYTES);
    let has_more = sizes.len() > fitting;
    let ids: Vec<String> = sizes.into_iter().take(fitting).map(|(id, _)| id).collect();
    let last = ids.last().filter(|_| has_more).cloned();
    let rows = stream::try_unfold((app, ids.into_iter()), |(app, mut ids)| async move {
        for id in ids.by_ref() {
            // The project may have been deleted meanwhile.
            if let Some(artifact) = tables::artifacts::get(&app.db, &id).await? {
                return Ok::<_, StoreError>(Some((artifact.to_json(), (app, ids))));
            }
        }
        Ok(None)
    });
    let filters = [("phase", phase), ("versions", Some(versions))];
    Ok(page::link_next(page::stream_rows(rows), &filters, limit, last.as_deref()))
}

/// `before` is the older name of `after`.
pub async fn traces(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
) -> Result<Response, ApiError> {
    let limit = params.number("limit", MOST_TRACES, (1, MOST_TRACES))?;
    find(&app, &id).await?;
    let (db, id) = (&app.db, id.as_str());
    let read = |before: Option<String>, rows| async move {
        tables::traces::page(db, id, before.as_deref(), rows).await
    };
    let after = params.get("after").or(params.get("before"));
    page::read_page(limit, after, read, |trace: &Trace| (&trace.id, trace.to_json())).await
}

pub async fn runs(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
) -> Result<Response, ApiError> {
    let limit = params.number("limit", USUAL_HISTORY, (1, MOST_HISTORY))?;
    find(&app, &id).await?;
    let (db, id) = (&app.db, id.as_str());
    let read = |before: Option<String>, rows| async move {
        tables::runs::page(db, id, before.as_deref(), rows).await
    };
    page::read_page(limit, params.get("after"), read, |run: &Run| (&run.id, run.to_json())).await
}
