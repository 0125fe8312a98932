//! The front door: every route of the service, and which file answers it.

mod caller;
mod entries;
mod error;
mod leads;
mod overview;
mod sso;

use crate::kinds::{KINDS, Kind};
use crate::{Inner, OPENAPI};
use axum::Router;
use axum::middleware::map_response;
use axum::routing::{MethodRouter, any, get, post};
use kit::health::{Health, Reader};
use kit::serve::{AxumHandler, Door, keep_private};
use std::sync::Arc;

pub type App = Arc<Inner>;

pub fn handler(app: App, health: Health, door: Door) -> AxumHandler {
    let mut routes = Router::new()
        .route("/api/portal/search", get(overview::search))
        .route("/api/portal/status", get(overview::status))
        .route("/api/portal/org-matrix", get(overview::org_matrix))
        .route("/api/portal/sso/login", get(sso::login))
        .route("/api/portal/sso/callback", get(sso::callback))
        .route("/api/portal/sso/logout", post(sso::logout))
        .route("/api/leads", any(leads::forward))
        .route("/api/leads/{*path}", any(leads::forward));
    for kind in KINDS {
        let path = format!("/api/portal/{}", kind.plural);
        routes = routes.route(&path, collection(kind)).route(&format!("{path}/{{id}}"), single(kind));
    }
    let routes = routes
        .with_state(app)
        .merge(health.routes(Reader::Public).split_for_parts().0)
        .layer(map_response(keep_private));
    AxumHandler::new(routes, door).naming_unknown_fields(&serde_json::from_str(OPENAPI).unwrap_or_default())
}

fn collection(kind: &'static Kind) -> MethodRouter<App> {
    get(move |app, caller, params, headers| entries::list(kind, app, caller, params, headers))
        .post(move |app, admin, body| entries::create(kind, app, admin, body))
}

fn single(kind: &'static Kind) -> MethodRouter<App> {
    get(move |app, caller, id, headers| entries::get(kind, app, caller, id, headers))
        .patch(move |app, admin, id, headers, body| entries::patch(kind, app, admin, id, headers, body))
        .delete(move |app, admin, id, headers| entries::remove(kind, app, admin, id, headers))
}
