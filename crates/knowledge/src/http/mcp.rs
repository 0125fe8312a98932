//! `POST /mcp`: the Model Context Protocol over streamable HTTP, for programs that use the library as a tool.
//!
//! There are no sessions, and each request is answered as JSON: any process behind a load balancer can answer it, a stop
//! leaves no stream open, and later revisions of the protocol have no sessions either. What the tools do is in `tools`,
//! what they take and return in `catalog`.
//!
//! Host names are not checked: a page that resolves its own name to our address sends that name as `Host`, as a proxy
//! that we do not know does too. Such a page has no credential, since cookies do not count here. An `Origin` that is not
//! ours is refused as the protocol demands.

mod catalog;
mod tools;

use super::App;
use super::caller::{Program, refuse_other_sites};
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::json::MAX_BODY;
use kit::request::read_whole;
use kit::unknown_fields::UnknownFields;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::sync::Arc;
use tools::Tools;

/// Takes a message of the Model Context Protocol.
///
/// The tools are `search`, `graph_neighbors`, `list_documents` and `ask`. Cookies do not count here.
#[utoipa::path(post, path = "/mcp", security(("bearer" = []), ("apiKey" = [])),
    request_body(content = Object, description = "A JSON-RPC message of at most 1 MiB."),
    responses(
        (status = 200, description = "A JSON-RPC answer.", body = Object),
        (status = 202, description = "A notification was taken."),
        (status = 400, description = "`INVALID_REQUEST`: the message cannot be read; or an error of JSON-RPC.",
            body = Object),
        (status = 404, description = "An error of JSON-RPC: there is no such method.", body = Object),
        (status = 406, description = "`INVALID_REQUEST`: `Accept` does not have both `application/json` and \
            `text/event-stream`."),
        (status = 415, description = "`INVALID_REQUEST`: the body is not `application/json`."),
    ))]
pub async fn serve(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    refuse_other_sites(&parts.method, &parts.headers)?;
    let Program(user) = match Program::from_request_parts(&mut parts, &app).await {
        Ok(program) => program,
        Err(error) => return Ok(challenged(error)),
    };
    let body = read_whole(body, MAX_BODY).await?;
    // One for each request, so that every tool runs as the caller of its request.
    let tools = Tools::new(app, user, parts.extensions.get::<UnknownFields>().cloned());
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(NeverSessionManager::default()),
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MAX_BODY)
            .disable_allowed_hosts(),
    );
    let request = http::Request::from_parts(parts, Body::from(body));
    Ok(in_our_shape(service.handle(request).await.map(Body::new)).await)
}

fn challenged(error: ApiError) -> Response {
    let mut response = error.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Turns errors of the protocol's transport, which are plain text, into this service's shape. The protocol's own errors
/// are JSON, and stay as they are.
async fn in_our_shape(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_plain = !kind.is_some_and(|kind| kind.starts_with("application/json"));
    let status = response.status();
    if status.is_success() || !is_plain {
        return response;
    }
    let text = read_whole(response.into_body(), MAX_BODY).await.unwrap_or_default();
    let message = String::from_utf8_lossy(&text).into_owned();
    match status {
        StatusCode::INTERNAL_SERVER_ERROR => ApiError::internal(message).into_response(),
        _ => ApiError::new(status, "INVALID_REQUEST", message).into_response(),
    }
}
