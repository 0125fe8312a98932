//! `GET /api/portal/org-matrix`: the teams.

use super::App;
use super::caller::Caller;
use crate::cache::CachedEntry;
use crate::records::{Kind, Team};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use kit::error::ApiError;
use kit::fields::Whole;
use kit::page::{self, PAGE_BYTES};
use kit::request::Query;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TeamsQuery {
    /// Teams on a page; 1,000 if absent.
    #[param(inline)]
    limit: Option<Whole<1, 1_000>>,
    /// The name of the last team of the page before.
    after: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct OrgMatrix {
    #[schema(value_type = Vec<Team>)]
    teams: Vec<Arc<CachedEntry>>,
}

/// Lists teams, in the order of their names.
#[utoipa::path(get, path = "/api/portal/org-matrix", params(TeamsQuery), responses(
    (status = 200, description = "A page; `Link` names the next one.", body = OrgMatrix),
))]
pub async fn org_matrix(
    State(app): State<App>,
    _: Caller,
    Query(query): Query<TeamsQuery>,
) -> Result<Response, ApiError> {
    let limit = query.limit.map_or(DEFAULT_LIMIT, Whole::size);
    let snapshot = app.cache.current().await?;
    let all = snapshot.of(Kind::Team);
    let begin = query.after.map_or(0, |after| all.partition_point(|team| team.id() <= after.as_str()));
    let rest = &all[begin..];
    let fitting = page::fitting(rest.iter().map(|team| team.bytes), limit, PAGE_BYTES);
    let teams = rest[..fitting].to_vec();
    let next = rest[..fitting].last().filter(|_| fitting < rest.len()).map(|last| last.id());
    Ok(page::link_next(Json(OrgMatrix { teams }).into_response(), &[], limit, next))
}
