//! `GET /api/hydrate/{id}`: a project with its history in one answer.

use super::App;
use super::caller::Caller;
use super::history::TraceView;
use super::projects::{ProjectView, find_with_access};
use crate::projects::SystemState;
use crate::records::{Artifact, Checkpoint, EXCERPT, Log, Run};
use crate::status::CheckpointStatus;
use crate::tables;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::{Time, Whole};
use kit::page::{PAGE_BYTES, excerpt, first_page};
use kit::request::{PathId, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: usize = 100;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HydrateQuery {
    /// How many log lines, checkpoints, traces and runs; 100 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 1000>>,
    /// Only log lines older than this one: `history.next` of the answer before.
    before: Option<String>,
}

/// A project with its history.
#[derive(Serialize, ToSchema)]
pub struct HydratedProject {
    project: ProjectView,
    system_state: SystemState,
    history: History,
}

/// What has happened in a project. Each list has at most 1 MiB.
#[derive(Serialize, ToSchema)]
struct History {
    /// The newest first.
    logs: Vec<Log>,
    /// The current ones, the oldest first. Contents are whole up to 1 MiB in all.
    artifacts: Vec<ArtifactExcerpt>,
    /// The newest first.
    checkpoints: Vec<CheckpointView>,
    /// The newest first.
    traces: Vec<TraceView>,
    /// The newest first.
    runs: Vec<Run>,
    /// The value for `before`, if there are older log lines.
    #[schema(example = "0199a2f5-8f41-7a6e-9dc3-4150616e8d9c")]
    next: Option<String>,
}

/// An artifact of which the content may be cut.
#[derive(Serialize, ToSchema)]
struct ArtifactExcerpt {
    #[serde(flatten)]
    artifact: Artifact,
    /// Whether `content` is only the beginning. The whole content is at `/api/artifacts/{id}`.
    #[schema(example = false)]
    content_truncated: bool,
}

/// The state of an agent in a run, after one of its steps.
#[derive(Serialize, ToSchema)]
#[schema(as = Checkpoint)]
struct CheckpointView {
    /// The `approvalId`, if the status is `waiting`.
    #[schema(example = "0199a2f5-a052-7b7f-8ed4-526172fe9ead")]
    id: String,
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    run_id: String,
    #[schema(example = "prd")]
    phase: String,
    /// Null if it is about the whole run.
    #[schema(example = "analyst")]
    agent: Option<String>,
    /// How many steps of the run had ended.
    step: i64,
    status: CheckpointStatus,
    #[schema(example = "0199a2f5-7e30-7f5d-8cb2-304f5e6d7c8b")]
    artifact_id: Option<String>,
    /// At most its first 300 characters.
    #[schema(example = "Name the mites.")]
    feedback: Option<String>,
    #[schema(example = false)]
    feedback_truncated: bool,
    /// Who approved, edited or rejected the artifact.
    #[schema(example = "admin")]
    decided_by: Option<String>,
    created_at: Time,
}

impl From<Checkpoint> for CheckpointView {
    fn from(checkpoint: Checkpoint) -> Self {
        let feedback = checkpoint.feedback.as_deref().map(|feedback| excerpt(feedback, EXCERPT));
        Self {
            feedback_truncated: feedback.is_some_and(|(_, is_cut)| is_cut),
            feedback: feedback.map(|(text, _)| text.to_owned()),
            id: checkpoint.id,
            run_id: checkpoint.run_id,
            phase: checkpoint.phase,
            agent: checkpoint.agent,
            step: checkpoint.step,
            status: checkpoint.status,
            artifact_id: checkpoint.artifact_id,
            decided_by: checkpoint.decided_by,
            created_at: checkpoint.created_at,
        }
    }
}

/// Returns a project with its history.
#[utoipa::path(get, path = "/api/hydrate/{id}",
    params(("id" = String, Path, description = "The project's id."), HydrateQuery),
    responses(
        (status = 200, body = HydratedProject),
        (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    ))]
pub async fn hydrate(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
    Query(query): Query<HydrateQuery>,
) -> Result<Json<HydratedProject>, ApiError> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let (project, access) = find_with_access(&app, &caller, &id).await?;
    let product_seed = tables::projects::seed(&app.db, &id).await?.unwrap_or_default();
    Ok(Json(HydratedProject {
        history: read_history(&app, &id, query.before.as_deref(), limit).await?,
        system_state: app.projects.state(&project).await?,
        project: ProjectView::new(&project, access, product_seed),
    }))
}

/// Reads at most `limit` entries of each list that grows without end: the newest, and log lines older than `before`.
async fn read_history(
    app: &App,
    project_id: &str,
    before: Option<&str>,
    limit: usize,
) -> Result<History, ApiError> {
    let db = &app.db;
    // One line more than is shown tells whether there are older ones.
    let mut lines = tables::logs::page(db, project_id, before, limit + 1).await?;
    let read = lines.len();
    lines.truncate(limit);
    let logs = first_page(lines);
    let next = logs.last().filter(|_| logs.len() < read).map(|log| log.id.clone());
    let artifacts = tables::artifacts::current_within(db, project_id, PAGE_BYTES, EXCERPT).await?.into_iter();
    let artifacts =
        artifacts.map(|(artifact, content_truncated)| ArtifactExcerpt { artifact, content_truncated });
    let checkpoints = tables::checkpoints::newest(db, project_id, limit).await?;
    let traces = tables::traces::page(db, project_id, None, limit).await?;
    let runs = tables::runs::page(db, project_id, None, limit).await?;
    Ok(History {
        logs,
        artifacts: first_page(artifacts),
        checkpoints: first_page(checkpoints.into_iter().map(CheckpointView::from)),
        traces: first_page(traces.iter().map(TraceView::from)),
        runs: first_page(runs),
        next,
    })
}
