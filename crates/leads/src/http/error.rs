//! Domain errors as answers.

use crate::intake::Invalid;
use crate::outbox::OutboxError;
use kit::error::ApiError;
use serde::Serialize;
use utoipa::ToSchema;

/// The fields of a form that are wrong.
#[derive(Serialize)]
pub struct WrongFields {
    pub fields: Vec<String>,
}

/// An error that names the fields.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what `ApiError::with` writes")]
pub struct FieldError {
    error: String,
    code: String,
    success: bool,
    fields: Option<Vec<String>>,
}

impl From<OutboxError> for ApiError {
    fn from(error: OutboxError) -> Self {
        let message = error.to_string();
        match error {
            OutboxError::NoLead(_) => Self::not_found(message),
            OutboxError::NotRetryable { .. } => Self::conflict(message),
            OutboxError::Store(error) => error.into(),
        }
    }
}

impl From<Invalid> for ApiError {
    fn from(error: Invalid) -> Self {
        Self::invalid(error.message).with(WrongFields { fields: error.fields })
    }
}
