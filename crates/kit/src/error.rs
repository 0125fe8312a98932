//! The error of a worker's HTTP interface: `{error, code, success: false}` with its status.
//!
//! Domain errors are typed in their own modules and become an [`ApiError`] in one `match` there. What went wrong
//! inside is logged here, once, and never sent. The gateway has a record of its own, by contract.

use crate::serve::Refusal;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::json;

#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// Logs the cause and keeps it from the client.
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
    fn into_response(self) -> Response {
        let body = json!({ "error": self.message, "code": self.code, "success": false });
        (self.status, Json(body)).into_response()
    }
}
