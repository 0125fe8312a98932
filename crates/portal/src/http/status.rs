//! `GET /api/portal/status`: how the services are.

use super::App;
use crate::cache::Snapshot;
use crate::records::Kind;
use crate::status::{Availability, ServiceStatus};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

const DATABASE_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Serialize, ToSchema)]
pub struct Status {
    /// `ok` if the database and all services answer, or `degraded`.
    #[schema(example = "ok")]
    status: Availability,
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// In seconds.
    #[schema(example = 3_600)]
    uptime: u64,
    #[schema(value_type = Vec<ServiceStatus>)]
    services: Arc<Vec<ServiceStatus>>,
    counts: Counts,
}

/// How many entries there are of each kind.
#[derive(Serialize, ToSchema)]
pub struct Counts {
    updates: usize,
    goals: usize,
    tools: usize,
    tasks: usize,
    pages: usize,
}

impl Counts {
    pub fn of(snapshot: &Snapshot) -> Self {
        let count = |kind| snapshot.of(kind).len();
        Self {
            updates: count(Kind::Update),
            goals: count(Kind::Goal),
            tools: count(Kind::Tool),
            tasks: count(Kind::Task),
            pages: count(Kind::Page),
        }
    }
}

/// Returns how the services are, and how many entries there are; needs no token.
#[utoipa::path(get, path = "/api/portal/status", security(()), responses((status = 200, body = Status)))]
pub async fn status(State(app): State<App>) -> Json<Status> {
    // A database that hangs does not keep the answer back.
    let snapshot = tokio::time::timeout(DATABASE_TIMEOUT, app.cache.current()).await;
    let snapshot = snapshot.ok().and_then(Result::ok);
    let database_answers = snapshot.is_some();
    let counts = Counts::of(&snapshot.unwrap_or_else(|| app.cache.held()));
    let services = app.services.status().await;
    let all_answer = services.iter().all(|service| service.status == Availability::Ok);
    let status = if database_answers && all_answer { Availability::Ok } else { Availability::Degraded };
    let (version, uptime) = (env!("CARGO_PKG_VERSION"), app.services.uptime());
    Json(Status { status, version, uptime, services, counts })
}
