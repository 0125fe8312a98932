//! What administrators do with leads: look, send again, erase.

use super::App;
use super::caller::Admin;
use crate::records::{Lead, Status};
use crate::tables::{self, leads::Filter};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::page::{self, PAGE_BYTES};
use kit::request::{Params, PathId};
use serde_json::{Value, json};
use store::StoreError;

const USUAL: usize = 100;
const MOST: usize = 1_000;

pub async fn list(State(app): State<App>, _: Admin, params: Params) -> Result<Response, ApiError> {
    let limit = params.number("limit", USUAL, (1, MOST))?;
    let filter = filter(&params)?;
    let (leads, has_more) = fitting_page(&app, &filter, params.get("after"), limit).await?;
    let next = leads.last().filter(|_| has_more).map(|last| last.id.as_str());
    let response = Json(leads.iter().map(Lead::to_json).collect::<Vec<Value>>()).into_response();
    let filters = ["form", "status", "email"].map(|name| (name, params.get(name)));
    Ok(page::link_next(response, &filters, limit, next))
}

/// At most `limit` leads, and at most a page of bytes; and whether more follow. A lead may be as long as the body of a
/// request.
pub async fn fitting_page(
    app: &App,
    filter: &Filter,
    before: Option<&str>,
    limit: usize,
) -> Result<(Vec<Lead>, bool), StoreError> {
    let sizes = tables::leads::sizes(&app.db, filter, before, limit + 1).await?;
    let fitting = page::fitting(sizes.iter().copied(), limit, PAGE_BYTES);
    let leads = tables::leads::page(&app.db, filter, before, fitting).await?;
    Ok((leads, sizes.len() > fitting))
}

pub fn filter(params: &Params) -> Result<Filter, ApiError> {
    let wrong = |text: &str| {
        let known = Status::ALL.map(Status::as_str).join(", ");
        ApiError::invalid(format!("`status` is `{text}`: one of {known}"))
    };
    let status =
        params.get("status").map(|text| Status::find(text).ok_or_else(|| wrong(text))).transpose()?;
    let form = params.get("form").map(str::to_owned);
    let email = params.get("email").map(|text| text.trim().to_lowercase());
    Ok(Filter { form, status, email })
}

pub async fn one(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    let lead = tables::leads::get(&app.db, &id).await?;
    let lead = lead.ok_or_else(|| ApiError::not_found(format!("no lead `{id}`")))?;
    Ok(Json(lead.to_json()))
}

pub async fn retry(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    let lead = app.outbox.retry(&id).await?;
    Ok(Json(json!({ "success": true, "leadId": lead.id, "status": lead.status.as_str() })))
}

/// All that the CRM refused: for when the fault was not theirs.
pub async fn retry_failed(State(app): State<App>, _: Admin, params: Params) -> Result<Json<Value>, ApiError> {
    let retried = app.outbox.retry_failed(params.get("form").map(str::to_owned)).await?;
    Ok(Json(json!({ "success": true, "retried": retried })))
}

pub async fn erase(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<Value>, ApiError> {
    let lead = app.outbox.erase(&id).await?;
    tracing::info!(lead = lead.id, "a lead was erased");
    Ok(Json(json!({ "success": true, "leadId": lead.id, "status": lead.status.as_str() })))
}
