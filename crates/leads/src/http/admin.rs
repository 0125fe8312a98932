//! What administrators do with leads: look, send again, erase.

use super::App;
use super::caller::Admin;
use crate::records::{Lead, Status};
use crate::tables::{self, leads::Filter};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use kit::error::ApiError;
use kit::request::{Params, PathId};
use serde_json::{Value, json};

const USUAL: usize = 100;
const MOST: usize = 1_000;

pub async fn list(State(app): State<App>, _: Admin, params: Params) -> Result<Response, ApiError> {
    let limit = params.number("limit", USUAL, (1, MOST))?;
    let filter = filter(&params)?;
    let leads = tables::leads::page(&app.db, &filter, params.get("after"), limit).await?;
    let next = leads.last().filter(|_| leads.len() == limit).map(|last| last.id.clone());
    let mut response = (Json(leads.iter().map(Lead::to_json).collect::<Vec<Value>>())).into_response();
    if let Some(link) = next.and_then(|after| params.next_page(&after)) {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
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
