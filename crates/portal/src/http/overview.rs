//! What goes over all kinds: search, status, the teams.

use super::App;
use super::caller::Caller;
use crate::kinds::KINDS;
use crate::search::{Question, shown};
use crate::shelf::{Item, TEAM};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::page::{self, PAGE_BYTES};
use kit::request::Params;
use serde_json::{Map, Value, json};
use std::time::Duration;

const USUAL_RESULTS: usize = 20;
const MOST_RESULTS: usize = 100;
const MOST_TEAMS: usize = 1_000;
const DATABASE_PATIENCE: Duration = Duration::from_millis(500);
const LONGEST_QUESTION: usize = 1_000;

pub async fn search(State(app): State<App>, _: Caller, params: Params) -> Result<Json<Value>, ApiError> {
    let text = params.get("q").or(params.get("query")).map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| ApiError::invalid("`q` is missing: what to look for"))?;
    if text.chars().count() > LONGEST_QUESTION {
        return Err(ApiError::invalid(format!("`q` is too long: at most {LONGEST_QUESTION} characters")));
    }
    let limit = params.number("limit", USUAL_RESULTS, (1, MOST_RESULTS))?;
    let kind = params.get("type").map(known_type).transpose()?;
    let snapshot = app.shelf.now().await?;
    let question = Question::new(text);
    let found = snapshot.search(&question, kind, limit);
    let results: Vec<Value> = found
        .into_iter()
        .map(|(kind, item, score)| shown(kind, &item.id, &item.value, &question, score))
        .collect();
    Ok(Json(json!({ "query": text, "results": results })))
}

/// In the singular or in the plural, as people write it.
fn known_type(text: &str) -> Result<&'static str, ApiError> {
    if ["team", "teams", "org"].contains(&text) {
        return Ok(TEAM);
    }
    let found = KINDS.iter().find(|kind| kind.singular == text || kind.plural == text);
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.singular).chain([TEAM]).collect();
    let wrong = || ApiError::invalid(format!("unknown `type` `{text}`: one of {}", names.join(", ")));
    found.map(|kind| kind.singular).ok_or_else(wrong)
}

/// For everybody: says how the services are, and nothing of what they hold but how much.
pub async fn status(State(app): State<App>) -> Result<Json<Value>, ApiError> {
    // A database that hangs is no reason to say nothing.
    let snapshot = tokio::time::timeout(DATABASE_PATIENCE, app.shelf.now()).await;
    let snapshot = snapshot.ok().and_then(Result::ok);
    let database_answers = snapshot.is_some();
    let snapshot = snapshot.unwrap_or_else(|| app.shelf.held());
    let counts: Map<String, Value> =
        KINDS.iter().map(|kind| (kind.plural.to_owned(), snapshot.of(kind).len().into())).collect();
    let services = app.status.services().await;
    let all_well = database_answers && services.iter().all(|service| service["status"] == "ok");
    Ok(Json(json!({
        "status": if all_well { "ok" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "uptime": app.status.uptime(),
        "services": *services,
        "counts": counts,
    })))
}

/// In the order of their names; `after` is the last one of the page before.
pub async fn org_matrix(State(app): State<App>, _: Caller, params: Params) -> Result<Response, ApiError> {
    let limit = params.number("limit", MOST_TEAMS, (1, MOST_TEAMS))?;
    let snapshot = app.shelf.now().await?;
    let begin = params
        .get("after")
        .map_or(0, |after| snapshot.teams.partition_point(|team| team.id.as_str() <= after));
    let rest = &snapshot.teams[begin..];
    let fitting = page::fitting(rest.iter().map(|team| team.bytes), limit, PAGE_BYTES);
    let teams: Vec<&Item> = rest[..fitting].iter().map(|team| &**team).collect();
    let next = teams.last().filter(|_| fitting < rest.len()).map(|last| last.id.as_str());
    Ok(page::link_next(Json(json!({ "teams": teams })).into_response(), &[], limit, next))
}
