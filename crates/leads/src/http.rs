//! The front door: every route of the service, and which file answers it.

mod admin;
mod body;
mod caller;
mod error;
mod export;
mod forms;
mod intake;
mod origin;
mod page;

use crate::Inner;
use kit::health::Health;
use kit::openapi::{self, Credential, Description};
use kit::serve::{AxumHandler, Door};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub type App = Arc<Inner>;

const DESCRIPTION: Description = Description {
    title: "Stoa leads",
    text: "Takes leads from web forms, keeps them, and forwards them to a CRM.",
    security: &[Credential::Bearer],
};

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(admin::list, intake::to_default, origin::preflight_default))
        .routes(routes!(export::export))
        .routes(routes!(forms::list))
        // The same part of a path: a form's name where leads come in, a lead's id where they are managed.
        .routes(routes!(admin::one, admin::erase, intake::to_form, origin::preflight))
        .routes(routes!(admin::retry_failed))
        .routes(routes!(admin::retry))
}

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    openapi::handler(routes().with_state(app), &DESCRIPTION, health, door)
}

/// The service's interface, as OpenAPI.
pub fn openapi() -> String {
    openapi::document(routes(), &DESCRIPTION).to_string()
}
