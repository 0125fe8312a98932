//! What the service is, and that it is there.

use super::App;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

const SERVICE: &str = "stoa-knowledge";

pub async fn describe() -> Json<Value> {
    Json(json!({
        "service": SERVICE,
        "version": env!("CARGO_PKG_VERSION"),
        "status": "ok",
        "endpoints": {
            "health": "/api/health",
            "auth": "/api/auth/login",
            "signup": "/api/signup",
            "ingest": "/api/ingest",
            "documents": "/api/documents",
            "search": "/api/search",
            "graph": "/api/graph",
            "chat": "/api/chat",
            "completions": "/v1/chat/completions",
            "mcp": "/mcp",
        },
    }))
}

pub async fn health(State(app): State<App>) -> Json<Value> {
    Json(json!({ "status": "ok", "timestamp": app.clock.now_ms(), "service": SERVICE }))
}
