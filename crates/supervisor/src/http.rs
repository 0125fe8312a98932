//! The front door: every route of the service, and which file answers it.

mod caller;
mod control;
mod error;
mod events;
mod execute;
mod history;
mod projects;

use crate::{Inner, OPENAPI};
use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::{get, post};
use kit::health::{Health, Reader};
use kit::serve::{AxumHandler, Door, keep_private};
use std::sync::Arc;

pub type App = Arc<Inner>;

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    let routes = Router::new()
        .route("/api/projects", get(projects::list).post(projects::create))
        .route("/api/projects/{id}", get(projects::get).delete(projects::remove))
        .route("/api/projects/{id}/runs", get(history::runs))
        .route("/api/hydrate/{id}", get(history::hydrate))
        .route("/api/artifacts/{id}", get(history::artifacts))
        .route("/api/traces/{id}", get(history::traces))
        .route("/api/workflow", get(projects::workflow))
        .route("/api/execute", get(execute::execute).post(execute::execute))
        .route("/api/runs/{id}", get(events::run))
        .route("/api/runs/{id}/events", get(events::of_run))
        .route("/api/state/{id}", get(control::state))
        .route("/api/interrupt", post(control::interrupt))
        .route("/api/resume", post(control::resume))
        .route("/api/cancel", post(control::cancel))
        .layer(from_fn_with_state(app.clone(), caller::end_streams))
        .with_state(app)
        .merge(health.routes(Reader::Public).split_for_parts().0)
        .layer(map_response(keep_private));
    AxumHandler::new(routes, door).naming_unknown_fields(&serde_json::from_str(OPENAPI).unwrap_or_default())
}
