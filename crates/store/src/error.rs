//! What can go wrong in the database half of the store. Blobs have their own: `blobs::BlobError`.

/// No message holds the database URL: it may carry a password.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{0}")]
    Url(String),

    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),

    #[error("cannot prepare the database file `{path}`: {source}")]
    File { path: String, source: std::io::Error },

    #[error("{0}")]
    Migration(String),

    #[error("the lease of job `{job}` is lost: attempt {attempt} is not the current one")]
    LeaseLost { job: i64, attempt: i64 },

    #[error("`{key}` is not as expected: somebody else changed it")]
    Conflict { key: String },

    #[error("{0}")]
    InvalidKey(String),

    #[error("what is stored in {what} cannot be read: {reason}")]
    Corrupt { what: String, reason: String },

    /// Whoever tries again has to look first.
    #[error("whether the transaction was committed is unknown: {0}")]
    Unsure(sqlx::Error),

    #[error("the process is stopping: whether the transaction was committed is unknown")]
    Stopping,
}

impl StoreError {
    /// Whether the database has answered, and does not take what it was given; as opposed to one that is away, busy
    /// or full, where trying later may help.
    pub fn is_refusal(&self) -> bool {
        let Self::Database(sqlx::Error::Database(error)) = self else { return false };
        let code = error.code().unwrap_or_default();
        // PostgreSQL's classes for what is wrong with the data, and SQLite's codes for the same.
        ["22", "23", "54"].iter().any(|class| code.len() == 5 && code.starts_with(class))
            || ["18", "19", "20", "25"].contains(&code.as_ref())
    }
}

/// What the database says is for the log, never for the client.
impl From<StoreError> for kit::error::ApiError {
    fn from(error: StoreError) -> Self {
        Self::internal(error)
    }
}
