//! Errors of the store as answers. What the storage says is for the log, never for the client.

use crate::error::ApiError;
use std::fmt::Display;
use store::admins::AdminsError;
use store::{BlobError, Outage, StoreError};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

impl From<&StoreError> for ApiError {
    fn from(error: &StoreError) -> Self {
        answer(error.outage(), error)
    }
}

impl From<BlobError> for ApiError {
    fn from(error: BlobError) -> Self {
        answer(error.outage(), error)
    }
}

impl From<AdminsError> for ApiError {
    fn from(error: AdminsError) -> Self {
        answer(error.outage(), error)
    }
}

fn answer(outage: Option<Outage>, cause: impl Display) -> ApiError {
    match outage {
        Some(Outage::Full) => ApiError::storage_full(cause),
        Some(Outage::Away) => ApiError::storage_unavailable(cause),
        None => ApiError::internal(cause),
    }
}
