//! Every route of the service, and which file answers it.

mod auth;
mod caller;
mod capabilities;
mod chat;
mod connections;
mod content;
mod conversations;
mod document_text;
mod documents;
mod error;
mod events;
mod fields;
mod form;
mod graph;
mod graph_nodes;
mod indexing;
mod ingest;
mod limit;
mod links;
mod mcp;
mod models;
mod moving;
mod openai;
mod root;
mod scope;
mod search;
mod sessions;
mod signup;
mod sources;
mod spaces;
mod storage;
mod streams;
mod usage;
mod users;
mod versions;

use crate::Inner;
use axum::middleware::from_fn_with_state;
use axum::routing::any;
use kit::health::Health;
use kit::openapi::{self, Credential, Description};
use kit::serve::{AxumHandler, Door};
use std::sync::Arc;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

pub type App = Arc<Inner>;

const DESCRIPTION: Description = Description {
    title: "Stoa knowledge",
    text: "Accounts, documents, search, the knowledge graph and chat. Every answer carries `X-Request-Id`; fields and \
           parameters of a request that are not known here are named in `X-Unknown-Fields`.",
    security: &[Credential::Cookie(caller::COOKIE), Credential::Bearer, Credential::ApiKey("X-Api-Key")],
};

fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(root::describe))
        .routes(routes!(root::health))
        .routes(routes!(auth::login))
        .routes(routes!(auth::sso))
        .routes(routes!(auth::logout))
        .routes(routes!(auth::change_password))
        .routes(routes!(auth::me, auth::update_me))
        .routes(routes!(sessions::list, sessions::end_others))
        .routes(routes!(sessions::end))
        .routes(routes!(links::open))
        .routes(routes!(links::accept))
        .routes(routes!(auth::session))
        .routes(routes!(auth::gateway_token))
        .routes(routes!(signup::signup))
        .routes(routes!(users::list))
        .routes(routes!(users::update, users::remove))
        .routes(routes!(users::set_password))
        .routes(routes!(sessions::list_of_user, sessions::end_all_of_user))
        .routes(routes!(sessions::end_of_user))
        .routes(routes!(links::list, links::create))
        .routes(routes!(links::remove))
        .routes(routes!(spaces::list, spaces::create))
        .routes(routes!(spaces::get, spaces::update, spaces::remove))
        .routes(routes!(spaces::members::list, spaces::members::put))
        .routes(routes!(spaces::members::remove))
        .routes(routes!(sources::list, sources::create))
        .routes(routes!(sources::get, sources::update, sources::remove))
        .routes(routes!(sources::run))
        .routes(routes!(sources::items::list))
        .routes(routes!(ingest::ingest))
        .routes(routes!(capabilities::get))
        .routes(routes!(documents::list))
        .routes(routes!(indexing::reindex_all))
        .routes(routes!(documents::purge_errors))
        .routes(routes!(events::follow))
        .routes(routes!(documents::get, versions::update, documents::remove))
        .routes(routes!(versions::list))
        .routes(routes!(versions::restore))
        .routes(routes!(document_text::text))
        .routes(routes!(content::content))
        .routes(routes!(indexing::reindex))
        .routes(routes!(indexing::cancel))
        .routes(routes!(moving::move_to))
        .routes(routes!(moving::copy_to))
        .routes(routes!(search::search))
        .routes(routes!(graph::graph))
        .routes(routes!(graph_nodes::search))
        .routes(routes!(graph_nodes::get))
        .routes(routes!(chat::chat))
        .routes(routes!(conversations::list, conversations::create))
        .routes(routes!(conversations::get, conversations::rename, conversations::remove))
        .routes(routes!(conversations::export))
        .routes(routes!(conversations::messages::ask))
        .routes(routes!(conversations::messages::follow))
        .routes(routes!(conversations::files::list, conversations::files::attach))
        .routes(routes!(conversations::files::remove))
        .routes(routes!(conversations::messages::stop))
        .routes(routes!(models::models))
        .routes(routes!(connections::defaults::get, connections::defaults::set))
        .routes(routes!(connections::list, connections::create))
        .routes(routes!(connections::trial::find))
        .routes(routes!(connections::update, connections::remove))
        .routes(routes!(connections::trial::test))
        .routes(routes!(models::providers))
        .routes(routes!(usage::sums))
        .routes(routes!(usage::export::export))
        .routes(routes!(usage::prices::get, usage::prices::set))
        .routes(routes!(usage::budgets::get, usage::budgets::set))
        .routes(routes!(usage::budgets::mine))
        .routes(routes!(openai::list_models).map(|methods| methods.fallback(openai::wrong_method)))
        .routes(routes!(openai::get_model).map(|methods| methods.fallback(openai::wrong_method)))
        .routes(routes!(openai::complete).map(|methods| methods.fallback(openai::wrong_method)))
        .routes(routes!(openai::responses::respond).map(|methods| methods.fallback(openai::wrong_method)))
        .routes(routes!(openai::embeddings::embed).map(|methods| methods.fallback(openai::wrong_method)))
        .route("/v1/{*path}", any(openai::unknown_path))
        .routes(routes!(mcp::serve))
}

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    let routes = routes().layer(from_fn_with_state(app.clone(), streams::end_with_caller)).with_state(app);
    openapi::handler(routes, &DESCRIPTION, health, door)
}

/// Returns the service's interface, as OpenAPI.
pub fn openapi() -> String {
    openapi::document(routes(), &DESCRIPTION).to_string()
}
