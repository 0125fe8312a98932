//! The front door: every route of the service, and which file answers it.

mod auth;
mod caller;
mod chat;
mod documents;
mod error;
mod events;
mod form;
mod graph;
mod ingest;
mod limit;
mod mcp;
mod openai;
mod root;
mod scope;
mod search;
mod signup;
mod streams;
mod users;

use crate::{Inner, OPENAPI};
use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::routing::{any, delete, get, post};
use kit::health::{Health, Reader};
use kit::serve::{AxumHandler, Door, keep_private};
use std::sync::Arc;

pub type App = Arc<Inner>;

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    let routes = Router::new()
        .route("/", get(root::describe))
        .route("/api/health", get(root::health))
        .route("/api/auth/login", post(auth::login))
        .route("/api/auth/logout", post(auth::logout))
        .route("/api/auth/password", post(auth::change_password))
        .route("/api/auth/me", get(auth::me))
        .route("/api/signup", post(signup::signup))
        .route("/api/users", get(users::list))
        .route("/api/users/{id}", delete(users::remove))
        .route("/api/ingest", post(ingest::ingest))
        .route("/api/documents", get(documents::list))
        .route("/api/documents/reindex", post(documents::reindex))
        .route("/api/documents/purge-errors", delete(documents::purge_errors))
        .route("/api/documents/events", get(events::follow))
        .route("/api/documents/{id}", get(documents::get).delete(documents::remove))
        .route("/api/documents/{id}/content", get(documents::content))
        .route("/api/search", get(search::search))
        .route("/api/graph", get(graph::graph))
        .route("/api/chat", post(chat::chat))
        .route("/v1/models", get(openai::list_models).fallback(openai::wrong_method))
        .route("/v1/models/{*id}", get(openai::get_model).fallback(openai::wrong_method))
        .route("/v1/chat/completions", post(openai::complete).fallback(openai::wrong_method))
        .route("/v1/{*path}", any(openai::unknown_path))
        .route("/mcp", post(mcp::serve))
        .layer(from_fn_with_state(app.clone(), streams::end_with_caller))
        .with_state(app)
        .merge(health.routes(Reader::Public).split_for_parts().0)
        .layer(map_response(keep_private));
    AxumHandler::new(routes, door).naming_unknown_fields(&serde_json::from_str(OPENAPI).unwrap_or_default())
}
