//! What administrators do with leads: look, send again, erase.

use super::App;
use super::caller::Admin;
use crate::records::{GivenConsent, Lead, Status};
use crate::tables::{self, leads::Filter};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::fields::{Time, Whole};
use kit::page::{self, PAGE_BYTES};
use kit::request::{PathId, Query};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::StoreError;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: usize = 100;

/// Which leads are meant.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FilterQuery {
    /// Of this form alone.
    form: Option<String>,
    /// With this status alone.
    #[param(inline)]
    status: Option<Status>,
    /// With this email address alone.
    email: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Leads on a page; 100 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 1000>>,
    /// The id of the last lead of the page before.
    after: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RetryQuery {
    /// Of this form alone.
    form: Option<String>,
}

impl From<FilterQuery> for Filter {
    fn from(FilterQuery { form, status, email }: FilterQuery) -> Self {
        Self { form, status, email: email.map(|text| text.trim().to_lowercase()) }
    }
}

/// A lead, as administrators see it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Lead)]
pub struct LeadView {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    #[schema(example = "contact")]
    form: String,
    status: Status,
    #[schema(example = "ada@example.org")]
    email: Option<String>,
    fields: BTreeMap<String, String>,
    consent: Option<GivenConsent>,
    /// The network address that it came from.
    #[schema(example = "203.0.113.7")]
    address: Option<String>,
    /// How often the CRM was asked to take it.
    attempts: i64,
    /// Why it is spam, or what the CRM last said.
    error: Option<String>,
    created_at: Time,
    updated_at: Time,
    forwarded_at: Option<Time>,
}

impl From<Lead> for LeadView {
    fn from(lead: Lead) -> Self {
        Self {
            consent: lead.given_consent(),
            id: lead.id,
            form: lead.form,
            status: lead.status,
            email: lead.email,
            fields: lead.fields,
            address: lead.address,
            attempts: lead.attempts,
            error: lead.error,
            created_at: Time(lead.created_at),
            updated_at: Time(lead.updated_at),
            forwarded_at: lead.forwarded_at.map(Time),
        }
    }
}

/// A lead that was taken or changed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeadStatus {
    pub success: bool,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub lead_id: String,
    pub status: Status,
}

#[derive(Serialize, ToSchema)]
pub struct Retried {
    success: bool,
    /// How many leads wait again.
    retried: usize,
}

/// Lists leads, the newest first.
#[utoipa::path(get, path = "/api/leads", params(FilterQuery, ListQuery), responses(
    (status = 200, description = "A page; `Link` names the next one.", body = Vec<LeadView>),
))]
pub async fn list(
    State(app): State<App>,
    _: Admin,
    Query(query): Query<ListQuery>,
    Query(filter): Query<FilterQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let filter = Filter::from(filter);
    let (leads, has_more) = fitting_page(&app, &filter, query.after.as_deref(), limit).await?;
    let next = leads.last().filter(|_| has_more).map(|last| last.id.clone());
    let leads: Vec<LeadView> = leads.into_iter().map(LeadView::from).collect();
    let filters = [
        ("form", filter.form.as_deref()),
        ("status", filter.status.map(Status::as_str)),
        ("email", filter.email.as_deref()),
    ];
    Ok(page::link_next(Json(leads).into_response(), &filters, limit, next.as_deref()))
}

/// Returns at most `limit` leads, and at most a page of bytes; and whether more follow. A lead may be as long as the body
/// of a request.
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

/// Returns one lead.
#[utoipa::path(get, path = "/api/leads/{name}", params(("name" = String, Path, description = "The lead's id.")), responses(
    (status = 200, body = LeadView),
    (status = 404, description = "`NOT_FOUND`: no lead has this id."),
))]
pub async fn one(State(app): State<App>, _: Admin, PathId(id): PathId) -> Result<Json<LeadView>, ApiError> {
    let lead = tables::leads::get(&app.db, &id).await?;
    let lead = lead.ok_or_else(|| ApiError::not_found(format!("no lead `{id}`")))?;
    Ok(Json(lead.into()))
}

/// Sends a lead again that the CRM refused, or that was taken for spam.
#[utoipa::path(post, path = "/api/leads/{id}/retry", params(("id" = String, Path)), responses(
    (status = 200, body = LeadStatus),
    (status = 404, description = "`NOT_FOUND`: no lead has this id."),
    (status = 409, description = "`CONFLICT`: the lead waits already, was forwarded or was erased."),
))]
pub async fn retry(
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
) -> Result<Json<LeadStatus>, ApiError> {
    let lead = app.outbox.retry(&id).await?;
    Ok(Json(LeadStatus { success: true, lead_id: lead.id, status: lead.status }))
}

/// Sends all leads again that the CRM refused, for when the fault was not theirs.
#[utoipa::path(post, path = "/api/leads/failed/retry", params(RetryQuery), responses((status = 200, body = Retried)))]
pub async fn retry_failed(
    State(app): State<App>,
    _: Admin,
    Query(query): Query<RetryQuery>,
) -> Result<Json<Retried>, ApiError> {
    let retried = app.outbox.retry_failed(query.form).await?;
    Ok(Json(Retried { success: true, retried }))
}

/// Erases what a lead says of a person, and keeps that there was one.
#[utoipa::path(delete, path = "/api/leads/{name}", params(("name" = String, Path, description = "The lead's id.")), responses(
    (status = 200, body = LeadStatus),
    (status = 404, description = "`NOT_FOUND`: no lead has this id."),
))]
pub async fn erase(
    State(app): State<App>,
    _: Admin,
    PathId(id): PathId,
) -> Result<Json<LeadStatus>, ApiError> {
    let lead = app.outbox.erase(&id).await?;
    tracing::info!(lead = lead.id, "a lead was erased");
    Ok(Json(LeadStatus { success: true, lead_id: lead.id, status: lead.status }))
}
