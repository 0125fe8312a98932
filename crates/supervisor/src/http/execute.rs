//! `POST` and `GET /api/execute`: starts the run of a phase or joins it, and sends its events.

use super::App;
use super::caller::Caller;
use super::events::{LastEventId, LastEventQuery, STREAM, event_example, no_content, stream};
use super::projects::find;
use crate::access::Access;
use crate::events::RunEvent;
use crate::records::{Project, Run};
use crate::runs::RunRequest;
use crate::status::RunStatus;
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base::token::Claims;
use http::{HeaderMap, Method, StatusCode};
use kit::error::ApiError;
use kit::fields::AnyText;
use kit::headers;
use kit::request::{JsonBody, Query};
use serde::{Deserialize, Serialize};
use store::events;
use utoipa::{IntoParams, IntoResponses, ToSchema};

const LONGEST_MODEL: usize = 200;

#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteRequest {
    /// Required here, in the query or in `X-Project-ID`.
    #[schema(value_type = Option<String>, example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    project_id: Option<AnyText>,
    /// The current phase if absent.
    #[schema(value_type = Option<String>, example = "prd")]
    phase: Option<AnyText>,
    /// The provider for all agents of the run: `edge-ai`, `vendor-a`, `vendor-b`, `vendor-c`, or the name of
    /// a connection. If absent, the workflow and
    /// the settings decide. Guests may only name `edge-ai`.
    #[schema(value_type = Option<String>, example = "edge-ai")]
    provider: Option<AnyText>,
    /// The provider's name of a model.
    #[schema(value_type = Option<String>, max_length = 200, example = "a-large-model")]
    model: Option<AnyText>,
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ExecuteQuery {
    /// As in the body.
    project_id: Option<String>,
    /// As in the body. The current phase if absent.
    phase: Option<String>,
    /// As in the body: the provider for all agents of the run. Guests may only name `edge-ai`.
    provider: Option<String>,
    /// As in the body: the provider's name of a model.
    #[param(max_length = 200)]
    model: Option<String>,
}

/// A run that was started or joined.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutedRun {
    success: bool,
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    run_id: String,
    #[schema(example = "prd")]
    phase: String,
    status: RunStatus,
    /// The provider that was asked for.
    #[schema(example = "vendor-a")]
    provider: Option<String>,
    /// The model that was asked for.
    #[schema(example = "a-large-model")]
    model: Option<String>,
}

impl From<Run> for ExecutedRun {
    fn from(run: Run) -> Self {
        Self {
            success: true,
            run_id: run.id,
            phase: run.phase,
            status: run.status,
            provider: run.provider,
            model: run.model,
        }
    }
}

/// The headers of both methods.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only documents what the handlers read")]
struct ExecuteHeaders {
    /// The same as `projectId`.
    #[param(rename = "X-Project-ID")]
    project_id: Option<String>,
    /// The last event that was received: only later ones are sent, and no run is started.
    #[param(rename = "Last-Event-ID")]
    last_event_id: Option<i64>,
    /// `respond-async` answers 202 at once, without events.
    #[param(rename = "Prefer")]
    prefer: Option<String>,
}

/// The answers of both methods without a body of their own.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only documents what the handlers answer")]
enum OtherResponses {
    /// There are no events after `Last-Event-ID`, and none will come.
    #[response(status = 204)]
    NoMoreEvents,
    /// `NOT_FOUND`: the caller sees no project with this id.
    #[response(status = 404)]
    NoProject,
    /// `CONFLICT`: another phase is running, or the phase is ahead of the current one.
    #[response(status = 409)]
    Conflict,
    /// `TOO_MANY_REQUESTS`: guests have started or stored too much.
    #[response(status = 429)]
    TooManyRuns,
}

/// Executes a phase, or joins its run, and sends the events.
#[utoipa::path(post, path = "/api/execute", params(ExecuteQuery, LastEventQuery, ExecuteHeaders),
    request_body(content = ExecuteRequest, description = "May be empty if the query has `projectId`."),
    responses(
        (status = 200, description = STREAM, content((RunEvent = "text/event-stream", example = event_example)),
            headers(("X-Run-ID" = String, description = "The run."))),
        (status = 202, description = "The run was started or joined, with `Prefer: respond-async`.", body = ExecutedRun),
        OtherResponses,
    ))]
pub async fn execute(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ExecuteQuery>,
    last_event: LastEventId,
    headers: HeaderMap,
    body: Option<JsonBody<ExecuteRequest>>,
) -> Result<Response, ApiError> {
    let body = body.map(|JsonBody(body)| body).unwrap_or_default();
    start_or_follow(&app, caller, &body, &query, last_event, &headers).await
}

/// Executes a phase as `POST` does, for a browser's `EventSource`.
#[utoipa::path(get, path = "/api/execute", params(ExecuteQuery, LastEventQuery, ExecuteHeaders),
    responses(
        (status = 200, description = STREAM, content((RunEvent = "text/event-stream", example = event_example)),
            headers(("X-Run-ID" = String, description = "The run."))),
        (status = 202, description = "The run was started or joined, with `Prefer: respond-async`.", body = ExecutedRun),
        OtherResponses,
    ))]
pub async fn execute_by_query(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ExecuteQuery>,
    last_event: LastEventId,
    headers: HeaderMap,
    method: Method,
) -> Result<Response, ApiError> {
    if method == Method::HEAD {
        return Ok(no_content());
    }
    start_or_follow(&app, caller, &ExecuteRequest::default(), &query, last_event, &headers).await
}

async fn start_or_follow(
    app: &App,
    caller: Caller,
    body: &ExecuteRequest,
    query: &ExecuteQuery,
    LastEventId(last_event): LastEventId,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let header = headers::text(headers, "x-project-id").map(str::trim);
    let project_id = agreed("projectId", [body.project_id.as_deref(), query.project_id.as_deref(), header])?;
    let project_id =
        project_id.ok_or_else(|| ApiError::invalid("`projectId` is missing: in the body or in the query"))?;
    let phase = agreed("phase", [body.phase.as_deref(), query.phase.as_deref(), None])?;
    if let Some(seen) = last_event {
        return follow(app, caller, project_id, phase, seen).await;
    }
    // A browser's `EventSource` starts a run by GET, so this does not depend on the method.
    caller.check_may_write(app)?;
    find(app, &caller, project_id, Access::Execute).await?;
    let (provider, model) = chosen_model(app, &caller, body, query)?;
    // Without generation and grant, so that the run's searches do not fail after the caller has a new password or has
    // signed out.
    let claims = caller.claims.clone().map(|claims| Claims { generation: None, grant: None, ..claims });
    let claims = claims.and_then(|claims| serde_json::to_string(&claims).ok());
    let request = RunRequest { phase, provider, model, caller: claims, guest: caller.guest() };
    let (run, after) = app.runs.execute(project_id, request).await?;
    if prefers_no_stream(headers) {
        return Ok((StatusCode::ACCEPTED, Json(ExecutedRun::from(run))).into_response());
    }
    Ok(stream(app, caller, run, after))
}

/// Sends the events after `seen`. It never starts a run: a browser's `EventSource` comes back by itself.
async fn follow(
    app: &App,
    caller: Caller,
    project_id: &str,
    phase: Option<&str>,
    seen: i64,
) -> Result<Response, ApiError> {
    find(app, &caller, project_id, Access::Read).await?;
    if let Some(unknown) = phase.filter(|phase| app.settings.workflow.phase(phase).is_none()) {
        return Err(ApiError::invalid(format!(
            "unknown phase `{unknown}`: one of {}",
            app.settings.workflow.names()
        )));
    }
    let found = events::read(&app.db, &Project::stream(project_id), seen - 1, 1).await?;
    if found.first().is_none_or(|event| event.seq != seen) {
        let message = format!("`Last-Event-ID` is `{seen}`: this project has no such event");
        return Err(ApiError::invalid(message));
    }
    let run = tables::runs::after_event(&app.db, project_id, seen).await?;
    match run.filter(|run| phase.is_none_or(|phase| run.phase == phase)) {
        Some(run) => Ok(stream(app, caller, run, seen)),
        None => Ok(no_content()),
    }
}

/// Returns the provider and the model that the request asks for.
fn chosen_model<'a>(
    app: &App,
    caller: &Caller,
    body: &'a ExecuteRequest,
    query: &'a ExecuteQuery,
) -> Result<(Option<&'a str>, Option<&'a str>), ApiError> {
    let provider = agreed("provider", [body.provider.as_deref(), query.provider.as_deref(), None])?;
    let model = agreed("model", [body.model.as_deref(), query.model.as_deref(), None])?;
    if model.is_some_and(|model| model.chars().count() > LONGEST_MODEL || model.contains(char::is_control)) {
        return Err(ApiError::invalid(format!(
            "`model` is not a line of at most {LONGEST_MODEL} characters"
        )));
    }
    let unknown = |unknown: llm::UnknownProvider| ApiError::invalid(unknown.to_string());
    let provider = provider.map(|provider| app.providers.name(provider)).transpose().map_err(unknown)?;
    let picked = provider.map(|provider| app.providers.pick(provider, model)).transpose().map_err(unknown)?;
    let is_free = picked.as_ref().is_some_and(|picked| picked.provider() == llm::EDGE_AI);
    if caller.guest().is_some() && (provider.is_some() || model.is_some()) && !is_free {
        return Err(ApiError::forbidden(
            "guests may not choose a provider: leave `provider` and `model` out, or name edge-ai",
        ));
    }
    Ok((provider, model))
}

/// Returns a value that may be given in body, query and header, and must be the same wherever it is given.
fn agreed<'a>(name: &str, given: [Option<&'a str>; 3]) -> Result<Option<&'a str>, ApiError> {
    let mut given = given.into_iter().flatten().filter(|text| !text.is_empty());
    let Some(first) = given.next() else { return Ok(None) };
    match given.all(|other| other == first) {
        true => Ok(Some(first)),
        false => Err(ApiError::invalid(format!(
            "`{name}` is given more than once and not the same: body, query and header have to agree"
        ))),
    }
}

fn prefers_no_stream(headers: &HeaderMap) -> bool {
    headers::text(headers, "prefer").is_some_and(|prefer| prefer.contains("respond-async"))
}
