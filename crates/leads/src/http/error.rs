//! Domain errors as answers.

use crate::intake::Invalid;
use crate::outbox::OutboxError;
use kit::error::ApiError;

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
        Self::invalid(error.message).with("fields", error.fields)
    }
}
