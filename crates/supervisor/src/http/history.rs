//! Lists of what is kept of a project: its artifacts, traces and runs, page by page.

use super::App;
use super::caller::Caller;
use super::projects::find;
use crate::access::Access;
use crate::records::{Artifact, Run, Trace};
use crate::status::TraceStatus;
use crate::tables;
use crate::tables::artifacts::Filter;
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use kit::error::ApiError;
use kit::fields::{Time, Whole};
use kit::page::{self, STREAMED_BYTES};
use kit::request::{PathId, Query};
use serde::{Deserialize, Serialize};
use store::StoreError;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_ARTIFACTS: usize = 1_000;
const DEFAULT_TRACES: usize = 10_000;
const DEFAULT_RUNS: usize = 100;
/// Bytes of an artifact's fields beside its content, as JSON.
const FIELD_BYTES: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ArtifactsQuery {
    /// `all` includes artifacts that are superseded; `current` if absent.
    #[param(inline)]
    versions: Option<Versions>,
    /// Only artifacts of this phase.
    phase: Option<String>,
    /// Artifacts on a page; 1000 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 1000>>,
    /// The id of the last artifact of the page before.
    after: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Versions {
    Current,
    All,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TracesQuery {
    /// Traces on a page; 10000 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 10000>>,
    /// The id of the last trace of the page before.
    after: Option<String>,
    /// An older name of `after`.
    before: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunsQuery {
    /// Runs on a page; 100 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 1000>>,
    /// The id of the last run of the page before.
    after: Option<String>,
}

/// One step of an agent, from its start to its end.
#[derive(Serialize, ToSchema)]
#[schema(as = Trace)]
pub struct TraceView {
    #[schema(example = "0199a2f5-b163-7c80-9fe5-637283afabbe")]
    id: String,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    project_id: String,
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    run_id: String,
    #[schema(example = "prd")]
    phase: String,
    #[schema(example = "analyst")]
    agent: String,
    status: TraceStatus,
    /// In percent.
    #[schema(minimum = 0, maximum = 100, example = 100)]
    progress: i64,
    #[schema(example = "edge-ai")]
    provider: String,
    #[schema(example = "a-small-model")]
    model: String,
    #[schema(example = 812)]
    input_tokens: Option<i64>,
    #[schema(example = 240)]
    output_tokens: Option<i64>,
    error: Option<String>,
    /// The same as `started_at`.
    created_at: Time,
    started_at: Time,
    ended_at: Option<Time>,
    #[schema(example = 5200)]
    duration_ms: Option<i64>,
}

impl From<&Trace> for TraceView {
    fn from(trace: &Trace) -> Self {
        let trace = trace.clone();
        Self {
            duration_ms: trace.ended_at.map(|ended| ended.0 - trace.started_at.0),
            id: trace.id,
            project_id: trace.project_id,
            run_id: trace.run_id,
            phase: trace.phase,
            agent: trace.agent,
            status: trace.status,
            progress: trace.progress,
            provider: trace.provider,
            model: trace.model,
            input_tokens: trace.input_tokens,
            output_tokens: trace.output_tokens,
            error: trace.error,
            created_at: trace.started_at,
            started_at: trace.started_at,
            ended_at: trace.ended_at,
        }
    }
}

/// Lists the artifacts of a project, the oldest first.
#[utoipa::path(get, path = "/api/artifacts/{id}",
    params(("id" = String, Path, description = "The project's id."), ArtifactsQuery),
    responses(
        (status = 200, description = "A page of at most 8 MiB; `Link` names the next one.", body = Vec<Artifact>,
            headers(("Link" = String, description = "The next page, if there is one."))),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    ))]
pub async fn artifacts(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    Query(query): Query<ArtifactsQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_ARTIFACTS, Whole::size);
    find(&app, &caller, &id, Access::Read).await?;
    let phase = query.phase.as_deref();
    let all_versions = query.versions == Some(Versions::All);
    let filter = Filter { all_versions, phase, after: query.after.as_deref() };
    let sizes = tables::artifacts::sizes(&app.db, &id, filter, limit + 1).await?;
    let bytes = sizes.iter().map(|(_, content)| content + FIELD_BYTES);
    let fitting = page::fitting(bytes, limit, STREAMED_BYTES);
    let has_more = sizes.len() > fitting;
    let ids: Vec<String> = sizes.into_iter().take(fitting).map(|(id, _)| id).collect();
    let last = ids.last().filter(|_| has_more).cloned();
    // Read and sent one at a time: a slow client costs the memory of one artifact, and no connection to the database.
    let rows = stream::try_unfold((app, ids.into_iter()), |(app, mut ids)| async move {
        for id in ids.by_ref() {
            // None if the project was deleted meanwhile.
            if let Some(artifact) = tables::artifacts::get(&app.db, &id).await? {
                return Ok::<_, StoreError>(Some((artifact, (app, ids))));
            }
        }
        Ok(None)
    });
    let versions = if all_versions { "all" } else { "current" };
    let filters = [("phase", phase), ("versions", Some(versions))];
    Ok(page::link_next(page::stream_rows(rows), &filters, limit, last.as_deref()))
}

/// Lists the traces of a project, the newest first.
#[utoipa::path(get, path = "/api/traces/{id}",
    params(("id" = String, Path, description = "The project's id."), TracesQuery),
    responses(
        (status = 200, description = "A page of at most 1 MiB; `Link` names the next one.", body = Vec<TraceView>,
            headers(("Link" = String, description = "The next page, if there is one."))),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    ))]
pub async fn traces(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    Query(query): Query<TracesQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_TRACES, Whole::size);
    find(&app, &caller, &id, Access::Read).await?;
    let (db, id) = (&app.db, id.as_str());
    let read = |before: Option<String>, rows| async move {
        tables::traces::page(db, id, before.as_deref(), rows).await
    };
    let after = query.after.or(query.before);
    page::read_page(limit, after.as_deref(), read, |trace: &Trace| (&trace.id, TraceView::from(trace))).await
}

/// Lists the runs of a project, the newest first.
#[utoipa::path(get, path = "/api/projects/{id}/runs",
    params(("id" = String, Path, description = "The project's id."), RunsQuery),
    responses(
        (status = 200, description = "A page of at most 1 MiB; `Link` names the next one.", body = Vec<Run>,
            headers(("Link" = String, description = "The next page, if there is one."))),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    ))]
pub async fn runs(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    Query(query): Query<RunsQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_RUNS, Whole::size);
    find(&app, &caller, &id, Access::Read).await?;
    let (db, id) = (&app.db, id.as_str());
    let read = |before: Option<String>, rows| async move {
        tables::runs::page(db, id, before.as_deref(), rows).await
    };
    page::read_page(limit, query.after.as_deref(), read, |run: &Run| (&run.id, run.clone())).await
}
