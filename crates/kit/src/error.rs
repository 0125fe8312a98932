//! The error of a worker's HTTP interface: `{error, code, success: false}` with its status.
//!
//! Domain errors are typed in their own modules and become an [`ApiError`] in one `match` there. The cause of an internal
//! error is logged here, once, and never sent. The gateway has its own error record, by the contract.

use crate::serve::Refusal;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value};
use std::time::Duration;

pub const STORAGE_UNAVAILABLE: &str =
    "the database or the object store does not answer: try again after `Retry-After` seconds";
pub const STORAGE_FULL: &str = "no space is left to store this: nothing of it was kept";
pub const STORAGE_WAIT: Duration = Duration::from_secs(5);

/// An error response.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    more: Map<String, Value>,
    retry_after_seconds: Option<u64>,
}

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), more: Map::new(), retry_after_seconds: None }
    }

    /// Adds a field to the body.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a `Retry-After` of at least a second.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after_seconds = Some(wait.as_millis().div_ceil(1000).max(1) as u64);
        self
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
    }

    pub fn too_many_requests(message: impl Into<String>, wait: Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", message).retry_after(wait)
    }

    /// Logs the cause, which the client does not get.
    pub fn storage_unavailable(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "the storage does not answer");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "STORAGE_UNAVAILABLE", STORAGE_UNAVAILABLE)
            .retry_after(STORAGE_WAIT)
    }

    /// Logs the cause, which the client does not get.
    pub fn storage_full(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "the storage is full");
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "INSUFFICIENT_STORAGE", STORAGE_FULL)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", message)
    }

    /// Logs the cause, which the client does not get.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "a request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL_ERROR",
            "something went wrong inside: the log has it under this answer's `X-Request-Id`",
        )
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let (status, code, message) = refusal.describe();
        Self::new(status, code, message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(mut self) -> Response {
        let mut body = std::mem::take(&mut self.more);
        body.insert("error".to_owned(), self.message.clone().into());
        body.insert("code".to_owned(), self.code.into());
        body.insert("success".to_owned(), false.into());
        self.respond_with(Value::Object(body))
    }
}

impl ApiError {
    /// Responds with a body of another format, for protocols that have their own.
    pub fn respond_with(self, body: Value) -> Response {
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
