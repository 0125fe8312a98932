//! Why a request about a run is refused.

use crate::guests::GuestError;
use std::time::Duration;
use store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    Invalid(String),
    #[error("no project `{0}`")]
    NoProject(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    TooMany(String, Duration),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<GuestError> for RunError {
    fn from(error: GuestError) -> Self {
        match error {
            GuestError::TooMany { message, wait } => Self::TooMany(message, wait),
            GuestError::Store(error) => Self::Store(error),
        }
    }
}
