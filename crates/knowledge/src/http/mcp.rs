//! `POST /mcp`: the Model Context Protocol over streamable HTTP, for programs that use the library as a tool.
//!
//! Without sessions, each request answered as JSON: whichever process a load balancer picks can answer it, a stop leaves
//! no stream open, and later revisions of the protocol have no sessions either. What the tools do is in `tools`, what they
//! take in `catalog`.
//!
//! A page that resolves its own name to our address sends our host's name as its own, so names of hosts cannot tell it
//! from a proxy's, which we do not know. It has nothing to sign in with: cookies do not count here. An `Origin` that is
//! not ours is refused all the same, as the protocol wants it.

mod catalog;
mod tools;

use super::App;
use super::caller::{Program, refuse_other_sites};
use super::error::Failure;
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

pub async fn serve(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    let (mut parts, body) = request.into_parts();
    refuse_other_sites(&parts.method, &parts.headers)?;
    let Program(user) = match Program::from_request_parts(&mut parts, &app).await {
        Ok(program) => program,
        Err(failure) => return Ok(challenged(failure)),
    };
    let body = read_whole(body, MAX_BODY).await?;
    // One for each request, so that no tool can be reached but as its caller.
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

fn challenged(failure: Failure) -> Response {
    let mut response = failure.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The protocol's own errors are JSON; those of its transport are plain words, which we put as all our errors.
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
