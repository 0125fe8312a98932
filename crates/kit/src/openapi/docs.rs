//! `/docs`: the OpenAPI document as a page to browse and try. All of it comes from here, and its addresses are relative,
//! so that it works behind a prefix as well.

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use serde_json::Value;

const PAGE: &str = include_str!("docs/page.html");
const SCRIPT: &str = include_str!("docs/page.js");
const STYLE: &str = include_str!("docs/page.css");
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /openapi.json`, `GET /docs`, and the files of that page.
pub fn routes(document: &Value) -> Router {
    let document = Bytes::from(document.to_string());
    Router::new()
        .route("/openapi.json", get(async move || file("application/json", document)))
        .route("/docs", get(async || file("text/html; charset=utf-8", PAGE)))
        .route("/docs/page.js", get(async || file("text/javascript; charset=utf-8", SCRIPT)))
        .route("/docs/page.css", get(async || file("text/css; charset=utf-8", STYLE)))
}

fn file(kind: &'static str, content: impl IntoResponse) -> Response {
    let headers =
        [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, content).into_response()
}
