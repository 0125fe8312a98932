//! `GET /` and `GET /api/health`: what the service is, and that it runs.

use super::App;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

const SERVICE: &str = "stoa-knowledge";
const ENDPOINTS: Endpoints = Endpoints {
    health: "/api/health",
    auth: "/api/auth/login",
    signup: "/api/signup",
    ingest: "/api/ingest",
    documents: "/api/documents",
    search: "/api/search",
    graph: "/api/graph",
    chat: "/api/chat",
    completions: "/v1/chat/completions",
    responses: "/v1/responses",
    embeddings: "/v1/embeddings",
    mcp: "/mcp",
};

#[derive(Serialize, ToSchema)]
#[schema(as = Service)]
pub struct ServiceView {
    #[schema(example = "stoa-knowledge")]
    service: &'static str,
    #[schema(example = "0.1.0")]
    version: &'static str,
    #[schema(example = "ok")]
    status: &'static str,
    endpoints: Endpoints,
}

/// The paths of the service.
#[derive(Serialize, ToSchema)]
pub struct Endpoints {
    #[schema(example = "/api/health")]
    health: &'static str,
    #[schema(example = "/api/auth/login")]
    auth: &'static str,
    #[schema(example = "/api/signup")]
    signup: &'static str,
    #[schema(example = "/api/ingest")]
    ingest: &'static str,
    #[schema(example = "/api/documents")]
    documents: &'static str,
    #[schema(example = "/api/search")]
    search: &'static str,
    #[schema(example = "/api/graph")]
    graph: &'static str,
    #[schema(example = "/api/chat")]
    chat: &'static str,
    #[schema(example = "/v1/chat/completions")]
    completions: &'static str,
    #[schema(example = "/v1/responses")]
    responses: &'static str,
    #[schema(example = "/v1/embeddings")]
    embeddings: &'static str,
    #[schema(example = "/mcp")]
    mcp: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthView {
    #[schema(example = "ok")]
    status: &'static str,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    timestamp: i64,
    #[schema(example = "stoa-knowledge")]
    service: &'static str,
}

/// Describes the service.
#[utoipa::path(get, path = "/", security(()), responses((status = 200, body = ServiceView)))]
pub async fn describe() -> Json<ServiceView> {
    let version = env!("CARGO_PKG_VERSION");
    Json(ServiceView { service: SERVICE, version, status: "ok", endpoints: ENDPOINTS })
}

/// Tells that the service runs.
#[utoipa::path(get, path = "/api/health", security(()), responses((status = 200, body = HealthView)))]
pub async fn health(State(app): State<App>) -> Json<HealthView> {
    Json(HealthView { status: "ok", timestamp: app.clock.now_ms(), service: SERVICE })
}
