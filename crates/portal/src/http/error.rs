//! Domain errors as answers.

use crate::cache::EntryError;
use http::StatusCode;
use kit::error::ApiError;
use store::StoreError;

impl From<EntryError> for ApiError {
    fn from(error: EntryError) -> Self {
        let message = error.to_string();
        match error {
            EntryError::NotFound(..) => Self::not_found(message),
            EntryError::Invalid(_) => Self::invalid(message),
            EntryError::Conflict(_) | EntryError::Store(StoreError::Conflict { .. }) => {
                Self::conflict(message)
            }
            EntryError::Stale(..) => {
                Self::new(StatusCode::PRECONDITION_FAILED, "PRECONDITION_FAILED", message)
            }
            EntryError::Store(error) => error.into(),
        }
    }
}
