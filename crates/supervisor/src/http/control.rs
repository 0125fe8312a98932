//! Interrupting, resuming and cancelling the run of a project.

use super::App;
use super::caller::Caller;
use super::projects::{find, no_project};
use crate::access::Access;
use crate::events::DecisionKind;
use crate::projects::SystemState;
use crate::records::Run;
use crate::runs::Decision;
use crate::status::RunStatus;
use crate::tables;
use axum::Json;
use axum::extract::State;
use kit::error::{ApiError, ErrorWith};
use kit::fields::{AnyText, Text, Time};
use kit::request::{JsonBody, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const LONGEST_REASON: usize = 2_000;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopRequest {
    #[schema(value_type = String, min_length = 1, example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    project_id: Text,
    #[schema(value_type = Option<String>, max_length = 2000, example = "a second look")]
    reason: Option<AnyText>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeRequest {
    #[schema(value_type = String, min_length = 1, example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    project_id: Text,
    /// Required if an artifact waits for approval.
    decision: Option<DecisionKind>,
    /// Required if several artifacts wait for approval.
    #[schema(value_type = Option<String>, example = "0199a2f5-a052-7b7f-8ed4-526172fe9ead")]
    approval_id: Option<AnyText>,
    /// With `reject`: what the agent should change.
    #[schema(value_type = Option<String>, example = "Name the mites.")]
    feedback: Option<AnyText>,
    /// With `edit`: the new content of the artifact.
    #[schema(value_type = Option<String>, example = "## Problem\n\nBeekeepers lose their notes.")]
    content: Option<AnyText>,
}

/// A run after a request about it.
#[derive(Serialize, ToSchema)]
pub struct ControlledRun {
    success: bool,
    #[serde(rename = "runId")]
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    run_id: String,
    status: RunStatus,
    system_state: SystemState,
}

/// What the error of an approval that was answered before says besides.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EarlierDecision {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "admin")]
    pub decided_by: Option<String>,
    /// Absent if an earlier version of the program stored the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Time>,
}

/// Returns whether a project is interrupted, and what it waits for.
#[utoipa::path(get, path = "/api/state/{id}", params(("id" = String, Path, description = "The project's id.")),
    responses(
        (status = 200, body = SystemState),
        (status = 404, description = "`NOT_FOUND`: no project has this id."),
    ))]
pub async fn state(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId,
) -> Result<Json<SystemState>, ApiError> {
    let project = find(&app, &caller, &id, Access::Read).await?;
    Ok(Json(app.projects.state(&project).await?))
}

/// Stops a project's run until it is resumed. For those who manage the project.
#[utoipa::path(post, path = "/api/interrupt", request_body = StopRequest, responses(
    (status = 200, description = "The run has stopped, or is about to if `status` is `running`.", body = ControlledRun),
    (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    (status = 409, description = "`CONFLICT`: the project has no open run."),
))]
pub async fn interrupt(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<StopRequest>,
) -> Result<Json<ControlledRun>, ApiError> {
    let project = find(&app, &caller, &request.project_id.0, Access::Manage).await?;
    let run = app.runs.interrupt(&project.id, request.reason()?).await?;
    answer(&app, run).await
}

/// Ends a project's run for good. For those who manage the project.
#[utoipa::path(post, path = "/api/cancel", request_body = StopRequest, responses(
    (status = 200, description = "The run has ended, or is about to if `status` is `running`.", body = ControlledRun),
    (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    (status = 409, description = "`CONFLICT`: the project has no open run."),
))]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<StopRequest>,
) -> Result<Json<ControlledRun>, ApiError> {
    let project = find(&app, &caller, &request.project_id.0, Access::Manage).await?;
    let run = app.runs.cancel(&project.id, request.reason()?).await?;
    answer(&app, run).await
}

/// Resumes an interrupted run, or answers an approval. For those who manage the project.
#[utoipa::path(post, path = "/api/resume", request_body = ResumeRequest, responses(
    (status = 200, description = "The run continues, or is still `interrupted` if other artifacts wait for approval.",
        body = ControlledRun),
    (status = 404, description = "`NOT_FOUND`: the caller sees no project with this id."),
    (status = 409, description = "`CONFLICT`: the project is not interrupted, the approval was answered before, or \
        `approvalId` is missing and several artifacts wait. If the approval was answered before, the error says by whom and \
        when.", body = ErrorWith<EarlierDecision>),
))]
pub async fn resume(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<ResumeRequest>,
) -> Result<Json<ControlledRun>, ApiError> {
    let decision = request.decision()?;
    let project = find(&app, &caller, &request.project_id.0, Access::Manage).await?;
    let approval = request.approval_id.as_deref();
    let run = app.runs.resume(&project.id, approval, decision, caller.name()).await?;
    answer(&app, run).await
}

impl StopRequest {
    fn reason(&self) -> Result<&str, ApiError> {
        let reason = self.reason.as_deref().unwrap_or_default().trim();
        if reason.chars().count() > LONGEST_REASON {
            let message = format!("`reason` is too long: at most {LONGEST_REASON} characters");
            return Err(ApiError::invalid(message));
        }
        Ok(reason)
    }
}

impl ResumeRequest {
    fn decision(&self) -> Result<Option<Decision>, ApiError> {
        Ok(Some(match self.decision {
            None => return Ok(None),
            Some(DecisionKind::Approve) => Decision::Approve,
            Some(DecisionKind::Reject) => {
                Decision::Reject { feedback: self.feedback.as_deref().unwrap_or_default().to_owned() }
            }
            Some(DecisionKind::Edit) => {
                let content = self.content.as_deref().filter(|content| !content.trim().is_empty());
                let missing = || ApiError::invalid("`content` is missing: the new content of the artifact");
                Decision::Edit { content: content.ok_or_else(missing)?.to_owned() }
            }
        }))
    }
}

async fn answer(app: &App, run: Run) -> Result<Json<ControlledRun>, ApiError> {
    let project = tables::projects::get(&app.db, &run.project_id).await?;
    let project = project.ok_or_else(|| no_project(&run.project_id))?;
    let system_state = app.projects.state(&project).await?;
    Ok(Json(ControlledRun { success: true, run_id: run.id, status: run.status, system_state }))
}
