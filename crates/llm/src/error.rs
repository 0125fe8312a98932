//! Why a model gave no answer.

use std::time::Duration;

/// Names the provider, the model and the cause, and never a secret. A budget is not theirs, so its cause stands alone.
#[derive(Debug, thiserror::Error)]
#[error("{}{cause}", self.subject())]
pub struct ChatError {
    pub provider: String,
    pub model: String,
    pub cause: Cause,
}

impl ChatError {
    fn subject(&self) -> String {
        match self.cause {
            Cause::BudgetUsedUp { .. } => String::new(),
            _ => format!("provider `{}`, model `{}`: ", self.provider, self.model),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Cause {
    #[error("the language model is missing: run `stoa models pull` and start again")]
    NoModel,
    #[error("too many answers are being written: try again in a moment")]
    Busy,
    #[error("the question has {tokens} tokens, the model reads at most {most}")]
    TooLong { tokens: usize, most: usize },
    /// The model does not take what the question has.
    #[error("{0}")]
    Lacks(String),
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("answered {status}: {message}")]
    Refused { status: u16, message: String, retry_after: Option<Duration> },
    /// The rules of the model or of its vendor forbid the answer.
    #[error("declined to answer: {0}")]
    Declined(String),
    #[error("said nothing for {} s", .0.as_secs_f32())]
    Silent(Duration),
    #[error("broke off in the middle of its answer: {0}")]
    Broken(String),
    /// The budget of the caller, or of the project, or of all.
    #[error("{message}")]
    BudgetUsedUp { message: String, resets_at_ms: i64 },
    #[error("failed: {0}")]
    Failed(String),
}

impl Cause {
    /// Returns the label of the cause in metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoModel => "no_model",
            Self::Busy => "busy",
            Self::TooLong { .. } => "too_long",
            Self::Lacks(_) => "lacks",
            Self::Unreachable(_) => "unreachable",
            Self::Refused { .. } => "refused",
            Self::Declined(_) => "declined",
            Self::Silent(_) => "silent",
            Self::Broken(_) => "broken",
            Self::BudgetUsedUp { .. } => "budget_used_up",
            Self::Failed(_) => "failed",
        }
    }

    /// Applies `change` to every text that came from a vendor.
    pub(crate) fn with_text(self, change: impl Fn(String) -> String) -> Self {
        match self {
            Self::Unreachable(text) => Self::Unreachable(change(text)),
            Self::Refused { status, message, retry_after } => {
                Self::Refused { status, message: change(message), retry_after }
            }
            Self::Declined(text) => Self::Declined(change(text)),
            Self::Broken(text) => Self::Broken(change(text)),
            Self::Failed(text) => Self::Failed(change(text)),
            other @ (Self::NoModel
            | Self::Busy
            | Self::TooLong { .. }
            | Self::Lacks(_)
            | Self::Silent(_)
            | Self::BudgetUsedUp { .. }) => other,
        }
    }
}
