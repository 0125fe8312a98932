//! Projects and all that is kept of them.

use super::App;
use super::caller::{Admin, Caller};
use crate::records::{Artifact, Project, Run, Trace};
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::fields::text;
use kit::request::{JsonObject, Params, PathId};
use serde_json::{Value, json};

const LONGEST_NAME: usize = 200;
const LONGEST_SEED: usize = 100_000;
const MOST_PROJECTS: usize = 1_000;
const USUAL_HISTORY: usize = 100;
const MOST_HISTORY: usize = 1_000;
const MOST_TRACES: usize = 10_000;

pub async fn list(State(app): State<App>, _: Caller, params: Params) -> Result<Response, ApiError> {
    let limit = params.number("limit", MOST_PROJECTS, (1, MOST_PROJECTS))?;
    let projects = tables::projects::page(&app.db, params.get("after"), limit).await?;
    let next = projects.last().filter(|_| projects.len() == limit).map(|last| last.id.clone());
    let shown: Vec<Value> = projects.iter().map(Project::to_json).collect();
    let mut response = Json(shown).into_response();
    // Relative: the gateway has a prefix before our path.
    let link = next.map(|id| format!("<?limit={limit}&after={id}>; rel=\"next\""));
    if let Some(link) = link.and_then(|link| HeaderValue::from_str(&link).ok()) {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

pub async fn create(
    State(app): State<App>,
    _: Caller,
    body: JsonObject,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let name = field(&body, "name", LONGEST_NAME)?;
    let seed = field(&body, "product_seed", LONGEST_SEED)?;
    let project = app.projects.create(name.trim(), seed).await?;
    Ok((StatusCode::CREATED, Json(project.to_new_json())))
}

fn field<'a>(body: &'a JsonObject, name: &str, longest: usize) -> Result<&'a str, ApiError> {
    let given = text(&body.0, name)?.filter(|text| !text.trim().is_empty());
    let given =
        given.ok_or_else(|| ApiError::invalid(format!("`{name}` is missing: a string that is not empty")))?;
    if given.chars().count() > longest {
        return Err(ApiError::invalid(format!("`{name}` is too long: at most {longest} characters")));
    }
    Ok(given)
}

pub async fn get(State(app): State<App>, _: Caller, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    Ok(Json(find(&app, &id).await?.to_json()))
}

pub async fn remove(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    match app.projects.delete(&id).await? {
        true => Ok(Json(json!({ "success": true, "id": id }))),
        false => Err(no_project(&id)),
    }
}

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

pub async fn artifacts(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
) -> Result<Json<Vec<Value>>, ApiError> {
    let all_versions = match params.get("versions") {
        None | Some("current") => false,
        Some("all") => true,
        Some(other) => {
            return Err(ApiError::invalid(format!("`versions` is `{other}`: one of current, all")));
        }
    };
    find(&app, &id).await?;
    let artifacts = tables::artifacts::of_project(&app.db, &id, all_versions).await?;
    let wanted = |artifact: &&Artifact| params.get("phase").is_none_or(|phase| artifact.phase == phase);
    Ok(Json(artifacts.iter().filter(wanted).map(Artifact::to_json).collect()))
}

pub async fn traces(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
) -> Result<Json<Vec<Value>>, ApiError> {
    let limit = params.number("limit", MOST_TRACES, (1, MOST_TRACES))?;
    find(&app, &id).await?;
    let traces = tables::traces::page(&app.db, &id, params.get("before"), limit).await?;
    Ok(Json(traces.iter().map(Trace::to_json).collect()))
}

pub async fn runs(
    State(app): State<App>,
    _: Caller,
    PathId(id): PathId,
    params: Params,
) -> Result<Json<Vec<Value>>, ApiError> {
    let limit = params.number("limit", USUAL_HISTORY, (1, MOST_HISTORY))?;
    find(&app, &id).await?;
    let runs = tables::runs::page(&app.db, &id, limit).await?;
    Ok(Json(runs.iter().map(Run::to_json).collect()))
}

/// The phases and who works in them: what a page needs to draw them.
pub async fn workflow(State(app): State<App>, _: Caller) -> Json<Value> {
    let phases = app.workflow.phases.iter().map(|phase| {
        let agents = phase.agents.iter().map(|agent| {
            json!({
                "name": agent.name, "inputs": agent.inputs, "output": agent.output.as_str(),
                "provider": agent.provider, "model": agent.model, "approval": agent.approval, "search": agent.search,
            })
        });
        json!({ "name": phase.name, "agents": agents.collect::<Vec<Value>>() })
    });
    Json(json!({ "phases": phases.collect::<Vec<Value>>() }))
}

pub async fn find(app: &App, id: &str) -> Result<Project, ApiError> {
    tables::projects::get(&app.db, id).await?.ok_or_else(|| no_project(id))
}

fn no_project(id: &str) -> ApiError {
    ApiError::not_found(format!("no project `{id}`"))
}
