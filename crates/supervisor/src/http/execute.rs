//! `POST` and `GET /api/execute`: starts the run of a phase or joins it, and tells what happens.

use super::App;
use super::caller::Caller;
use super::events::{last_event_id, no_more, stream};
use super::projects::find;
use crate::records::Project;
use crate::runs::Order;
use crate::tables;
use crate::words::Word;
use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use base::token::Claims;
use http::{HeaderMap, Method, StatusCode};
use kit::error::ApiError;
use kit::fields;
use kit::headers;
use kit::json::{self, MAX_BODY};
use kit::request::{Params, read_whole};
use kit::unknown_fields::UnknownFields;
use serde_json::{Map, Value, json};
use store::events;

const LONGEST_MODEL: usize = 200;

pub async fn execute(
    State(app): State<App>,
    caller: Caller,
    params: Params,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    if parts.method == Method::HEAD {
        return Ok(no_more());
    }
    let body = match parts.method {
        Method::POST => body_fields(&read_whole(body, MAX_BODY).await?)?,
        _ => Map::new(),
    };
    UnknownFields::of_body(&parts.extensions, &body);
    let project_id = agreed(
        "projectId",
        [
            fields::text(&body, "projectId")?,
            params.get("projectId"),
            headers::text(&parts.headers, "x-project-id").map(str::trim),
        ],
    )?;
    let project_id =
        project_id.ok_or_else(|| ApiError::invalid("`projectId` is missing: in the body or in the query"))?;
    let phase = agreed("phase", [fields::text(&body, "phase")?, params.get("phase"), None])?;
    if let Some(seen) = last_event_id(&parts.headers, &params)? {
        return follow_on(&app, project_id, phase, seen).await;
    }
    // A browser's `EventSource` starts a run by GET, so this is asked here and not of the method.
    caller.check_may_make(&app)?;
    let (provider, model) = chosen_model(&app, &caller, &body, &params)?;
    // Without the generation: a new password is no reason for the run's searches to fail.
    let claims = caller.claims.clone().map(|claims| Claims { generation: None, ..claims });
    let claims = claims.and_then(|claims| serde_json::to_string(&claims).ok());
    let order = Order { phase, provider, model, caller: claims, guest: caller.guest.as_ref() };
    let (run, after) = app.runs.execute(project_id, order).await?;
    if prefers_no_stream(&parts.headers) {
        let told = json!({
            "success": true, "runId": run.id, "phase": run.phase, "status": run.status.as_str(),
            "provider": run.provider, "model": run.model,
        });
        return Ok((StatusCode::ACCEPTED, Json(told)).into_response());
    }
    Ok(stream(&app, run, after))
}

/// Whoever has seen events before wants those that followed, and never a run that nobody asked for.
async fn follow_on(
    app: &App,
    project_id: &str,
    phase: Option<&str>,
    seen: i64,
) -> Result<Response, ApiError> {
    find(app, project_id).await?;
    if let Some(unknown) = phase.filter(|phase| app.workflow.phase(phase).is_none()) {
        return Err(ApiError::invalid(format!("unknown phase `{unknown}`: one of {}", app.workflow.names())));
    }
    if events::read(&app.db, &Project::stream(project_id), seen - 1, 1)
        .await?
        .first()
        .is_none_or(|event| event.seq != seen)
    {
        return Err(ApiError::invalid(format!(
            "`Last-Event-ID` is `{seen}`: this project has no such event"
        )));
    }
    let run = tables::runs::after_event(&app.db, project_id, seen).await?;
    match run.filter(|run| phase.is_none_or(|phase| run.phase == phase)) {
        Some(run) => Ok(stream(app, run, seen)),
        None => Ok(no_more()),
    }
}

/// Who is to answer for the agents of this run, where the request says so.
fn chosen_model<'a>(
    app: &App,
    caller: &Caller,
    body: &'a Map<String, Value>,
    params: &'a Params,
) -> Result<(Option<&'static str>, Option<&'a str>), ApiError> {
    let provider = agreed("provider", [fields::text(body, "provider")?, params.get("provider"), None])?;
    let model = agreed("model", [fields::text(body, "model")?, params.get("model"), None])?;
    if model.is_some_and(|model| model.chars().count() > LONGEST_MODEL || model.contains(char::is_control)) {
        return Err(ApiError::invalid(format!(
            "`model` is not a line of at most {LONGEST_MODEL} characters"
        )));
    }
    let picked = provider.map(|provider| app.providers.pick(provider, model)).transpose();
    let picked = picked.map_err(|unknown| ApiError::invalid(unknown.to_string()))?;
    let costs_nothing = picked.as_ref().is_some_and(|picked| picked.provider() == llm::EDGE_AI);
    if caller.guest.is_some() && (provider.is_some() || model.is_some()) && !costs_nothing {
        return Err(ApiError::forbidden(
            "guests do not choose who answers: leave `provider` and `model` out, or name edge-ai",
        ));
    }
    Ok((provider.and_then(llm::canonical), model))
}

fn body_fields(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match json::parse(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(ApiError::invalid("the body is not a JSON object")),
        Err(fault) => Err(ApiError::invalid(fault.to_string())),
    }
}

/// A value that may stand in several places, and is the same in all of them.
fn agreed<'a>(name: &str, places: [Option<&'a str>; 3]) -> Result<Option<&'a str>, ApiError> {
    let mut given = places.into_iter().flatten().filter(|text| !text.is_empty());
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
