//! Domain errors as answers.

use crate::shelf::ShelfError;
use http::StatusCode;
use kit::error::ApiError;
use store::StoreError;

impl From<ShelfError> for ApiError {
    fn from(error: ShelfError) -> Self {
        let message = error.to_string();
        match error {
            ShelfError::NotFound(..) => Self::not_found(message),
            ShelfError::Invalid(_) => Self::invalid(message),
            ShelfError::Conflict(_) | ShelfError::Store(StoreError::Conflict { .. }) => {
                Self::conflict(message)
            }
            ShelfError::Stale(..) => {
                Self::new(StatusCode::PRECONDITION_FAILED, "PRECONDITION_FAILED", message)
            }
            ShelfError::Store(error) => error.into(),
        }
    }
}
