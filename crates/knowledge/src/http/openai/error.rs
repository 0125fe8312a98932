//! Errors as OpenAI's clients read them: `{error: {message, type, param, code}}`, and `success: false` as everywhere.

use super::names;
use crate::ModelFile;
use crate::chat::ChatFailure;
use crate::http::error::BUDGET_USED_UP;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use kit::error::ApiError;
use kit::request::FieldFault;
use llm::ChatError;
use serde::Serialize;
use store::StoreError;
use utoipa::{IntoResponses, ToSchema};

#[derive(Debug)]
pub struct OpenAiError {
    error: ApiError,
    param: Option<Box<str>>,
    /// If the status alone does not say it.
    code: Option<&'static str>,
}

/// The body of an error of OpenAI's protocol.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiError)]
pub struct OpenAiErrorBody {
    error: ErrorDescription,
    #[schema(example = false)]
    success: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiErrorDescription)]
pub struct ErrorDescription {
    #[schema(example = "`temperature` is not a number from 0 to 2")]
    message: String,
    #[serde(rename = "type")]
    #[schema(example = "invalid_request_error")]
    kind: &'static str,
    /// The field that is wrong; null if it is none.
    #[schema(value_type = Option<String>, example = "temperature")]
    param: Option<Box<str>>,
    #[schema(example = "model_not_found")]
    code: Option<&'static str>,
}

/// The errors that every request of OpenAI's protocol may meet, for the document.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only described")]
pub enum AnyError {
    /// `invalid_request_error`: a field is wrong, or asks for what is not supported.
    #[response(status = 400)]
    Invalid(#[to_schema] OpenAiErrorBody),
    /// `invalid_api_key`: the request does not say who calls.
    #[response(status = 401)]
    Unauthorized(#[to_schema] OpenAiErrorBody),
    /// `permission_error`: the caller may not do this, or what they came with does not verify.
    #[response(status = 403)]
    Forbidden(#[to_schema] OpenAiErrorBody),
    /// `invalid_request_error`: the request came too slowly.
    #[response(status = 408)]
    TooSlow(#[to_schema] OpenAiErrorBody),
    /// `invalid_request_error`: the body is larger than 4 MiB.
    #[response(status = 413)]
    TooLarge(#[to_schema] OpenAiErrorBody),
    /// `server_error`: the log has the cause under the answer's `X-Request-Id`.
    #[response(status = 500)]
    Internal(#[to_schema] OpenAiErrorBody),
    /// `server_error`: the model, the index or the storage is not available. Try again after `Retry-After` seconds.
    #[response(status = 503)]
    Unavailable(#[to_schema] OpenAiErrorBody),
    /// `server_error`: no space is left, and nothing of the request was kept.
    #[response(status = 507)]
    Full(#[to_schema] OpenAiErrorBody),
}

impl OpenAiError {
    /// Makes the error of a field that is wrong.
    pub fn of_field(param: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        Self { error: ApiError::invalid(message), param: Some(param.into()), code: None }
    }

    pub fn unknown_model(name: &str) -> Self {
        let message = format!("no model `{name}`: GET /v1/models lists those that there are");
        let error = ApiError::not_found(message);
        Self { error, param: Some("model".into()), code: Some("model_not_found") }
    }

    pub fn unknown_encoder(name: &str, files: &[ModelFile]) -> Self {
        let own = names::encoder(files).map(|(own, _)| format!(": there is `{own}`")).unwrap_or_default();
        let error = ApiError::not_found(format!("no embedding model `{name}`{own}"));
        Self { error, param: Some("model".into()), code: Some("model_not_found") }
    }

    pub fn message(&self) -> String {
        self.error.message().to_owned()
    }

    pub fn body(&self) -> OpenAiErrorBody {
        let (kind, code) = match self.error.status() {
            StatusCode::UNAUTHORIZED => ("invalid_request_error", Some("invalid_api_key")),
            StatusCode::FORBIDDEN => ("permission_error", None),
            StatusCode::NOT_FOUND => ("invalid_request_error", Some("not_found")),
            _ if self.error.code() == BUDGET_USED_UP => ("insufficient_quota", Some("insufficient_quota")),
            StatusCode::TOO_MANY_REQUESTS => ("rate_limit_error", Some("rate_limit_exceeded")),
            StatusCode::BAD_GATEWAY => ("server_error", Some("provider_failed")),
            status if status.is_server_error() => ("server_error", None),
            _ => ("invalid_request_error", None),
        };
        let message = self.error.message().to_owned();
        let error = ErrorDescription { message, kind, param: self.param.clone(), code: self.code.or(code) };
        OpenAiErrorBody { error, success: false }
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let (body, status) = (self.body(), self.error.status());
        let mut response = self.error.respond_with(body);
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<ApiError> for OpenAiError {
    fn from(error: ApiError) -> Self {
        Self { error, param: None, code: None }
    }
}

impl From<FieldFault> for OpenAiError {
    fn from(fault: FieldFault) -> Self {
        Self { error: ApiError::invalid(fault.message), param: fault.field.map(Into::into), code: None }
    }
}

impl From<StoreError> for OpenAiError {
    fn from(error: StoreError) -> Self {
        ApiError::from(error).into()
    }
}

impl From<ChatFailure> for OpenAiError {
    fn from(error: ChatFailure) -> Self {
        ApiError::from(error).into()
    }
}

impl From<ChatError> for OpenAiError {
    fn from(error: ChatError) -> Self {
        ChatFailure::from(error).into()
    }
}

pub async fn unknown_path() -> OpenAiError {
    let message = "no such path below /v1: /v1/chat/completions, /v1/responses, /v1/embeddings and /v1/models are there";
    ApiError::not_found(message).into()
}

pub async fn wrong_method() -> OpenAiError {
    let message = "this path does not take that method: the `Allow` header names those it takes";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message).into()
}
