//! `GET /api/approvals`: what waits for a person, in all projects that the caller sees.

use super::App;
use super::caller::Caller;
use crate::access::{Access, SpaceRoles};
use crate::records::{Artifact, Checkpoint};
use crate::tables;
use crate::transitions::approval_reason;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::{Time, Whole};
use kit::page::STREAMED_BYTES;
use kit::request::Query;
use serde::{Deserialize, Serialize};
use store::StoreError;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: usize = 100;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ApprovalsQuery {
    /// Approvals on a page; 100 if absent. 0 only counts them.
    #[param(inline)]
    limit: Option<Whole<0, 1000>>,
    /// `next` of the page before.
    after: Option<String>,
}

/// What waits for a person, the oldest first.
#[derive(Serialize, ToSchema)]
pub struct Approvals {
    /// A page of at most 8 MiB.
    approvals: Vec<WaitingApproval>,
    /// How many wait in all.
    #[schema(example = 1)]
    total: i64,
    /// How many of them the caller may answer.
    #[schema(example = 1)]
    decidable: i64,
    /// The value for `after`, if more follow.
    #[schema(example = "0199a2f5-a052-7b7f-8ed4-526172fe9ead")]
    next: Option<String>,
}

/// An artifact that waits for approval, with its project.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WaitingApproval {
    #[schema(example = "0199a2f5-a052-7b7f-8ed4-526172fe9ead")]
    approval_id: String,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    project_id: String,
    #[schema(example = "Bees")]
    project_name: String,
    /// Whether the caller may answer it.
    #[schema(example = true)]
    may_decide: bool,
    #[schema(example = "prd")]
    phase: String,
    #[schema(example = "analyst")]
    agent: String,
    #[schema(example = "the artifact of `analyst` waits for approval")]
    reason: String,
    artifact: Artifact,
    /// The content of the version before it.
    #[schema(example = "## Problem\n\nNotes get lost.")]
    previous: Option<String>,
    created_at: Time,
}

impl WaitingApproval {
    fn bytes(&self) -> usize {
        self.artifact.content.len() + self.previous.as_ref().map_or(0, String::len)
    }
}

/// Lists the artifacts that wait for approval, in all projects that the caller sees.
#[utoipa::path(get, path = "/api/approvals", params(ApprovalsQuery), responses((status = 200, body = Approvals)))]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ApprovalsQuery>,
) -> Result<Json<Approvals>, ApiError> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let (visible, roles) = caller.visible(&app).await?;
    let total = tables::checkpoints::count_waiting(&app.db, &visible).await?;
    let decidable = match caller.who.managed(&roles) {
        Some(managed) => tables::checkpoints::count_waiting(&app.db, &managed).await?,
        None => 0,
    };
    let mut rows = tables::checkpoints::waiting(&app.db, &visible, query.after.as_deref(), limit + 1).await?;
    let mut has_more = rows.len() > limit;
    rows.truncate(limit);
    let (mut approvals, mut bytes, mut last) = (Vec::new(), 0, None);
    for checkpoint in rows {
        let id = checkpoint.id.clone();
        if let Some(approval) = load(&app, &caller, &roles, checkpoint).await? {
            bytes += approval.bytes();
            if bytes > STREAMED_BYTES && !approvals.is_empty() {
                has_more = true;
                break;
            }
            approvals.push(approval);
        }
        last = Some(id);
    }
    Ok(Json(Approvals { approvals, total, decidable, next: last.filter(|_| has_more) }))
}

/// Adds the artifact to an approval. None if the project was deleted meanwhile.
async fn load(
    app: &App,
    caller: &Caller,
    roles: &SpaceRoles,
    checkpoint: Checkpoint,
) -> Result<Option<WaitingApproval>, StoreError> {
    let id = checkpoint.artifact_id.unwrap_or_default();
    let Some(artifact) = tables::artifacts::get(&app.db, &id).await? else { return Ok(None) };
    let Some(project) = tables::projects::get(&app.db, &checkpoint.project_id).await? else {
        return Ok(None);
    };
    let previous = tables::artifacts::previous_content(&app.db, &artifact).await?;
    Ok(Some(WaitingApproval {
        approval_id: checkpoint.id,
        project_id: checkpoint.project_id,
        may_decide: caller.who.access(&project, roles) == Some(Access::Manage),
        project_name: project.name,
        phase: checkpoint.phase,
        reason: approval_reason(&artifact.agent),
        agent: artifact.agent.clone(),
        artifact,
        previous,
        created_at: checkpoint.created_at,
    }))
}
