//! The front door: every route of the service, and which file answers it.

mod admin;
mod body;
mod caller;
mod error;
mod export;
mod intake;
mod origin;
mod page;

use crate::{Inner, OPENAPI};
use axum::Router;
use axum::middleware::map_response;
use axum::routing::{get, post};
use kit::health::{Health, Reader};
use kit::serve::{AxumHandler, Door, keep_private};
use std::sync::Arc;

pub type App = Arc<Inner>;

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    let of_default = get(admin::list).post(intake::to_default).options(origin::preflight_default);
    // The same place of a path: a form's name where leads come in, a lead's id where they are managed.
    let of_name = get(admin::one).delete(admin::erase).post(intake::to_form).options(origin::preflight);
    let routes = Router::new()
        .route("/api/leads", of_default)
        .route("/api/leads/export", get(export::export))
        .route("/api/leads/{name}", of_name)
        .route("/api/leads/failed/retry", post(admin::retry_failed))
        .route("/api/leads/{id}/retry", post(admin::retry))
        .with_state(app)
        .merge(health.routes(Reader::Public))
        .layer(map_response(keep_private));
    AxumHandler::new(routes, door).naming_unknown_fields(OPENAPI)
}
