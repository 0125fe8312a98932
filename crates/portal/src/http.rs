//! The route table: every route of the service, and which file answers it.

mod bodies;
mod caller;
mod entries;
mod error;
mod leads;
mod me;
mod metrics;
mod page;
mod search;
mod sso;
mod status;
mod teams;

use crate::Inner;
use entries::{goals, pages, tasks, tools, updates};
use kit::health::Health;
use kit::openapi::{self, Credential, Description};
use kit::serve::{AxumHandler, Door};
use std::sync::Arc;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

pub type App = Arc<Inner>;

const DESCRIPTION: Description = Description {
    title: "Stoa portal",
    text: "Keeps updates, goals, tools, tasks, pages and teams, searches them, and tells how the services are. Every answer \
           has an `X-Request-Id`; `X-Unknown-Fields` names fields and parameters of a request that are not known here.",
    security: &[Credential::Bearer, Credential::Cookie(sso::SESSION)],
};

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(with_any_method(routes!(leads::forward)))
        .routes(with_any_method(routes!(leads::forward_below)))
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
        .routes(routes!(metrics::metrics))
        .routes(routes!(me::me))
        .routes(routes!(page::index))
        .routes(routes!(page::asset))
        .routes(routes!(sso::login))
        .routes(routes!(sso::callback))
        .routes(routes!(sso::logout))
        .routes(routes!(sso::token))
}

/// Hands requests on with any method, also with one that is not documented.
fn with_any_method((schemas, paths, methods): UtoipaMethodRouter<App>) -> UtoipaMethodRouter<App> {
    (schemas, paths, methods.fallback(leads::forward))
}

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    openapi::handler(routes().with_state(app), &DESCRIPTION, health, door)
}

/// Returns the service's interface, as OpenAPI.
pub fn openapi() -> String {
    openapi::document(routes(), &DESCRIPTION).to_string()
}
