//! Errors in a model's files; every reader of this crate returns this type.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The bytes contradict their format, or each other.
    #[error("malformed model file: {0}")]
    Malformed(String),
    /// Well formed, but of a kind that this crate cannot run.
    #[error("unsupported model: {0}")]
    Unsupported(String),
}

impl ModelError {
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed(what.into())
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }
}
