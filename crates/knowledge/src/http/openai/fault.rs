//! Errors as OpenAI's clients read them: `{error: {message, type, param, code}}`, and `success: false` as everywhere.

use crate::http::error::Failure;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use kit::error::ApiError;
use llm::ChatError;
use serde_json::{Value, json};
use store::StoreError;

#[derive(Debug)]
pub struct Fault {
    error: ApiError,
    param: Option<Box<str>>,
    /// Where the status alone does not say it.
    code: Option<&'static str>,
}

impl Fault {
    /// A field that is wrong, and what about it.
    pub fn of_field(param: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self { error: ApiError::invalid(message), param: Some(param.into()), code: None }
    }

    pub fn unknown_model(name: &str) -> Self {
        let message = format!("no model `{name}`: GET /v1/models lists those that there are");
        let error = ApiError::not_found(message);
        Self { error, param: Some("model".into()), code: Some("model_not_found") }
    }

    /// What stands below `error`.
    fn described(&self) -> Value {
        let (kind, code) = match self.error.status() {
            StatusCode::UNAUTHORIZED => ("invalid_request_error", Some("invalid_api_key")),
            StatusCode::FORBIDDEN => ("permission_error", None),
            StatusCode::NOT_FOUND => ("invalid_request_error", Some("not_found")),
            StatusCode::TOO_MANY_REQUESTS => ("rate_limit_error", Some("rate_limit_exceeded")),
            StatusCode::BAD_GATEWAY => ("server_error", Some("provider_failed")),
            status if status.is_server_error() => ("server_error", None),
            _ => ("invalid_request_error", None),
        };
        let code = self.code.or(code);
        json!({ "message": self.error.message(), "type": kind, "param": self.param, "code": code })
    }

    /// In the middle of a stream.
    pub fn to_json(&self) -> Value {
        json!({ "error": self.described(), "success": false })
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let (body, status) = (self.to_json(), self.error.status());
        let mut response = self.error.respond_with(body);
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Self {
        Self { error, param: None, code: None }
    }
}

impl From<Failure> for Fault {
    fn from(Failure(error): Failure) -> Self {
        error.into()
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Failure::from(error).into()
    }
}

impl From<ChatError> for Fault {
    fn from(error: ChatError) -> Self {
        Failure::from(error).into()
    }
}

pub async fn unknown_path() -> Fault {
    ApiError::not_found("no such path below /v1: /v1/chat/completions and /v1/models are there").into()
}

pub async fn wrong_method() -> Fault {
    let message = "this path does not take that method: the `Allow` header names those it takes";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message).into()
}
