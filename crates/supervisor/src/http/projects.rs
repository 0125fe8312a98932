//! Projects: listed, made, shown, removed; and the workflow that they go through.

use super::App;
use super::caller::{Admin, Caller, Maker};
use crate::records::Project;
use crate::tables;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use kit::error::ApiError;
use kit::fields::text;
use kit::page;
use kit::request::{JsonObject, Params, PathId};
use serde_json::{Value, json};

const LONGEST_NAME: usize = 200;
const MOST_PROJECTS: usize = 1_000;

/// Of a long seed only the beginning is shown.
pub async fn list(State(app): State<App>, _: Caller, params: Params) -> Result<Response, ApiError> {
    let limit = params.number("limit", MOST_PROJECTS, (1, MOST_PROJECTS))?;
    let db = &app.db;
    let read = |before: Option<String>, rows| async move {
        tables::projects::page(db, before.as_deref(), rows).await
    };
    page::read_page(limit, params.get("after"), read, |project: &Project| {
        (&project.id, project.to_listed_json())
    })
    .await
}

pub async fn create(
    State(app): State<App>,
    Maker(caller): Maker,
    body: JsonObject,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let name = field(&body, "name", LONGEST_NAME)?;
    let seed = field(&body, "product_seed", app.seed_characters)?;
    let of_guests = app.guest_limits.seed_characters;
    if caller.guest.is_some() && seed.chars().count() > of_guests {
        let message = format!("`product_seed` is too long: at most {of_guests} characters for guests");
        return Err(ApiError::invalid(message));
    }
    let project = app.projects.create(name.trim(), seed, caller.guest.as_ref()).await?;
    Ok((StatusCode::CREATED, Json(project.to_new_json(seed))))
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
    let project = find(&app, &id).await?;
    let seed = tables::projects::seed(&app.db, &id).await?.ok_or_else(|| no_project(&id))?;
    Ok(Json(project.to_json(&seed)))
}

pub async fn remove(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    match app.projects.delete(&id).await? {
        true => Ok(Json(json!({ "success": true, "id": id }))),
        false => Err(no_project(&id)),
    }
}

/// The phases and who works in them: what a page needs to draw them.
pub async fn workflow(State(app): State<App>, _: Caller) -> Json<Value> {
    let phases = app.workflow.phases.iter().map(|phase| {
        let agents = phase.agents.iter().map(|agent| {
            let (provider, model) = app.default_model.of(agent, (None, None));
            json!({
                "name": agent.name, "inputs": agent.inputs, "output": agent.output.as_str(),
                "provider": provider, "model": model, "approval": agent.approval, "search": agent.search,
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
