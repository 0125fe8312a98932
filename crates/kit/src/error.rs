//! The error of a service's HTTP interface: `{error, code, success: false}` with its status.
//!
//! Domain errors are typed in their own modules and become an [`ApiError`] in one `match` there. The cause of an internal
//! error is logged here, once, and never sent. The gateway has its own error record, by the contract.

use crate::serve::Refusal;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;
use utoipa::ToSchema;

pub const STORAGE_UNAVAILABLE: &str =
    "the database or the object store does not answer: try again after `Retry-After` seconds";
pub const STORAGE_FULL: &str = "no space is left to store this: nothing of it was kept";
pub const STORAGE_WAIT: Duration = Duration::from_secs(5);

/// The body of every error.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody {
    /// What is wrong, for people.
    #[schema(example = "`limit` is `0`: expected 1 to 1000")]
    pub error: String,
    /// What is wrong, for programs.
    #[schema(example = "INVALID_REQUEST")]
    pub code: String,
    #[schema(example = false)]
    pub success: bool,
    /// What some errors say besides; their operations name these fields.
    #[serde(flatten)]
    #[schema(ignore)]
    pub details: Map<String, Value>,
}

/// The body of an error that says more: what [`ApiError::with`] adds.
#[derive(Serialize, ToSchema)]
pub struct ErrorWith<T> {
    #[serde(flatten)]
    pub error: ErrorBody,
    #[serde(flatten)]
    pub details: T,
}

/// An error response.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Map<String, Value>,
    retry_after_seconds: Option<u64>,
}

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), details: Map::new(), retry_after_seconds: None }
    }

    /// Adds the fields of a struct to the body.
    pub fn with(mut self, details: impl Serialize) -> Self {
        if let Ok(Value::Object(details)) = serde_json::to_value(details) {
            self.details.extend(details);
        }
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

    pub fn code(&self) -> &'static str {
        self.code
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
        let details = std::mem::take(&mut self.details);
        let (error, code) = (self.message.clone(), self.code.to_owned());
        self.respond_with(ErrorBody { error, code, success: false, details })
    }
}

impl ApiError {
    /// Responds with a body of another format, for protocols that have their own.
    pub fn respond_with(self, body: impl Serialize) -> Response {
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after_seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
