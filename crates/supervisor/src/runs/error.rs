//! Why a request about a run is refused.

use crate::events::DecisionKind;
use crate::guests::GuestError;
use kit::fields::Time;
use std::time::Duration;
use store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    Invalid(String),
    #[error("no project `{0}`")]
    NoProject(String),
    #[error("the project has no artifact `{0}`")]
    NoArtifact(String),
    #[error("{0}")]
    Conflict(String),
    /// The approval was answered before.
    #[error("approval `{approval_id}` was answered before: {by} decided `{}`", <&str>::from(*.decision))]
    Decided { approval_id: String, decision: DecisionKind, by: String, at: Option<Time> },
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
