//! The route table: every route of the service, and which file answers it.

mod bodies;
mod caller;
mod entries;
mod error;
mod leads;
mod search;
mod sso;
mod status;
mod teams;

use crate::Inner;
use axum::routing::any;
use entries::{goals, pages, tasks, tools, updates};
use kit::health::Health;
use kit::openapi::{self, Credential, Description};
use kit::serve::{AxumHandler, Door};
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub type App = Arc<Inner>;

const DESCRIPTION: Description = Description {
    title: "Stoa portal",
    text: "Keeps updates, goals, tools, tasks, pages and teams, searches them, and tells how the services are. Every answer \
           has an `X-Request-Id`; `X-Unknown-Fields` names fields and parameters of a request that are not known here.",
    security: &[Credential::Bearer, Credential::Cookie(sso::SESSION)],
};

/// What is handed on to the leads service: with any method, at any path below.
#[derive(OpenApi)]
#[openapi(paths(leads::forward, leads::forward_below))]
struct LeadsPaths;

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(LeadsPaths::openapi())
        .route("/api/leads", any(leads::forward))
        .route("/api/leads/{*rest}", any(leads::forward_below))
        .routes(routes!(updates::list, updates::create))
        .routes(routes!(updates::read, updates::patch, updates::delete))
        .routes(routes!(goals::list, goals::create))
        .routes(routes!(goals::read, goals::patch, goals::delete))
        .routes(routes!(tools::list, tools::create))
        .routes(routes!(tools::read, tools::patch, tools::delete))
        .routes(routes!(tasks::list, tasks::create))
        .routes(routes!(tasks::read, tasks::patch, tasks::delete))
        .routes(routes!(pages::list, pages::create))
        .routes(routes!(pages::read, pages::patch, pages::delete))
        .routes(routes!(teams::org_matrix))
        .routes(routes!(search::search))
        .routes(routes!(status::status))
        .routes(routes!(sso::login))
        .routes(routes!(sso::callback))
        .routes(routes!(sso::logout))
}

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    openapi::handler(routes().with_state(app), &DESCRIPTION, health, door)
}

/// Returns the service's interface, as OpenAPI.
pub fn openapi() -> String {
    openapi::document(routes(), &DESCRIPTION).to_string()
}
