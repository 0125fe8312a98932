//! The HTTP interface: every route of the service, and the file that handles it.

mod approvals;
mod archive;
mod caller;
mod control;
mod edit;
mod error;
mod events;
mod execute;
mod follow;
mod history;
mod hydrate;
mod projects;
mod workflow;

use crate::Inner;
use axum::middleware::from_fn_with_state;
use kit::health::Health;
use kit::openapi::{self, Credential, Description};
use kit::serve::{AxumHandler, Door};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub type App = Arc<Inner>;

const DESCRIPTION: Description = Description {
    title: "Stoa supervisor",
    text: "Creates projects, runs agents through their phases, reports what happens as events, and waits for the approval \
           of people. Callers on the same machine need no token; a token that they send is verified all the same. \
           Other callers send `SUPERVISOR_TOKEN`, or a gateway token for BUILD, CORE or AUTH with the scope `admin` or \
           `guest`. A project belongs to a user, to the administrators or to the guests, and may be shared in a space; other \
           callers do not see it. Guests may read and execute the projects of guests.",
    security: &[Credential::Bearer],
};

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(projects::list, projects::create))
        .routes(routes!(projects::get, projects::change, projects::remove))
        .routes(routes!(history::runs))
        .routes(routes!(hydrate::hydrate))
        .routes(routes!(history::artifacts, edit::edit))
        .routes(routes!(archive::artifacts))
        .routes(routes!(history::traces))
        .routes(routes!(approvals::list))
        .routes(routes!(workflow::workflow))
        .routes(routes!(execute::execute, execute::execute_by_query))
        .routes(routes!(events::run))
        .routes(routes!(events::of_run))
        .routes(routes!(control::state))
        .routes(routes!(control::interrupt))
        .routes(routes!(control::resume))
        .routes(routes!(control::cancel))
}

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    let routes = routes().layer(from_fn_with_state(app.clone(), caller::end_streams));
    openapi::handler(routes.with_state(app), &DESCRIPTION, health, door)
}

/// Returns the service's interface as OpenAPI.
pub fn openapi() -> String {
    openapi::document(routes(), &DESCRIPTION).to_string()
}
