//! A person's word to a run: stop, go on, end.

use super::App;
use super::caller::{Admin, Caller};
use super::projects::find;
use crate::records::Run;
use crate::runs::Decision;
use crate::words::Word;
use axum::Json;
use axum::extract::State;
use kit::error::ApiError;
use kit::fields::text;
use kit::request::{JsonObject, PathId};
use serde_json::{Value, json};

const LONGEST_REASON: usize = 2_000;

pub async fn state(State(app): State<App>, _: Caller, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    let project = find(&app, &id).await?;
    Ok(Json(app.projects.state(&project).await?))
}

pub async fn interrupt(State(app): State<App>, _: Admin, body: JsonObject) -> Result<Json<Value>, ApiError> {
    let id = project_id(&body)?;
    let run = app.runs.interrupt(id, reason(&body)?).await?;
    answer(&app, &run).await
}

pub async fn cancel(State(app): State<App>, _: Admin, body: JsonObject) -> Result<Json<Value>, ApiError> {
    let id = project_id(&body)?;
    let run = app.runs.cancel(id, reason(&body)?).await?;
    answer(&app, &run).await
}

pub async fn resume(
    State(app): State<App>,
    Admin(caller): Admin,
    body: JsonObject,
) -> Result<Json<Value>, ApiError> {
    let id = project_id(&body)?;
    let approval = text(&body.0, "approvalId")?;
    let run = app.runs.resume(id, approval, decision(&body)?, caller.name()).await?;
    answer(&app, &run).await
}

fn project_id(body: &JsonObject) -> Result<&str, ApiError> {
    let id = text(&body.0, "projectId")?.filter(|id| !id.is_empty());
    id.ok_or_else(|| ApiError::invalid("`projectId` is missing: a string that is not empty"))
}

fn decision(body: &JsonObject) -> Result<Option<Decision>, ApiError> {
    let feedback = text(&body.0, "feedback")?.unwrap_or_default();
    let content = text(&body.0, "content")?;
    Ok(Some(match text(&body.0, "decision")? {
        None => return Ok(None),
        Some("approve") => Decision::Approve,
        Some("reject") => Decision::Reject { feedback: feedback.to_owned() },
        Some("edit") => {
            let content = content.filter(|content| !content.trim().is_empty());
            let missing = || ApiError::invalid("`content` is missing: what the artifact is to be");
            Decision::Edit { content: content.ok_or_else(missing)?.to_owned() }
        }
        Some(other) => {
            return Err(ApiError::invalid(format!(
                "unknown `decision` `{other}`: one of approve, reject, edit"
            )));
        }
    }))
}

fn reason(body: &JsonObject) -> Result<&str, ApiError> {
    let reason = text(&body.0, "reason")?.unwrap_or_default().trim();
    if reason.chars().count() > LONGEST_REASON {
        return Err(ApiError::invalid(format!("`reason` is too long: at most {LONGEST_REASON} characters")));
    }
    Ok(reason)
}

async fn answer(app: &App, run: &Run) -> Result<Json<Value>, ApiError> {
    let project = find(app, &run.project_id).await?;
    let state = app.projects.state(&project).await?;
    Ok(Json(
        json!({ "success": true, "runId": run.id, "status": run.status.as_str(), "system_state": state }),
    ))
}
