//! Turns errors of the service into answers.

use super::control::EarlierDecision;
use crate::guests::GuestError;
use crate::runs::RunError;
use kit::error::ApiError;

impl From<RunError> for ApiError {
    fn from(error: RunError) -> Self {
        let message = error.to_string();
        match error {
            RunError::Invalid(_) => Self::invalid(message),
            RunError::NoProject(_) | RunError::NoArtifact(_) => Self::not_found(message),
            RunError::Conflict(_) => Self::conflict(message),
            RunError::Decided { decision, by, at, .. } => {
                let (decision, decided_by) = (Some(decision), Some(by));
                Self::conflict(message).with(EarlierDecision { decision, decided_by, decided_at: at })
            }
            RunError::TooMany(_, wait) => Self::too_many_requests(message, wait),
            RunError::Store(error) => error.into(),
        }
    }
}

impl From<GuestError> for ApiError {
    fn from(error: GuestError) -> Self {
        RunError::from(error).into()
    }
}
