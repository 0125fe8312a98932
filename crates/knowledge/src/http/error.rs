//! Domain errors as answers, each in one `match`.

use crate::accounts::AccountError;
use crate::chat::ChatFailure;
use crate::indexes::IndexError;
use crate::ingest::{IngestError, UploadError};
use crate::search::SearchError;
use http::StatusCode;
use kit::error::ApiError;
use llm::{Cause, ChatError};
use std::time::Duration;
use store::{BlobError, StoreError};

/// A large index takes seconds to read.
const INDEX_RETRY_AFTER: Duration = Duration::from_secs(2);

/// For `?` in handlers: what the store says is never for the client.
pub struct Failure(pub ApiError);

impl axum::response::IntoResponse for Failure {
    fn into_response(self) -> axum::response::Response {
        self.0.into_response()
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(error.into())
    }
}

impl Failure {
    /// `now` is for the time to wait after too many failures.
    pub fn of_account(error: AccountError, now: i64) -> Self {
        let message = error.to_string();
        Self(match error {
            AccountError::Invalid(_) | AccountError::LastAdministrator => ApiError::invalid(message),
            AccountError::WrongPassword | AccountError::NoDigest => ApiError::unauthorized(message),
            AccountError::Throttled { until } => {
                let wait = Duration::from_millis(until.saturating_sub(now).max(0).unsigned_abs());
                ApiError::too_many_requests(message, wait)
            }
            AccountError::NoSuchUser(_) => ApiError::not_found(message),
            AccountError::Admins(error) => error.into(),
            AccountError::Hash(_) => ApiError::internal(message),
            AccountError::Store(error) => error.into(),
        })
    }
}

impl From<UploadError> for Failure {
    fn from(error: UploadError) -> Self {
        let message = error.to_string();
        Self(match error {
            UploadError::TooLarge(_) => ApiError::too_large(message),
            UploadError::Invalid(_) => ApiError::invalid(message),
            UploadError::Io(error) => BlobError::Io(error).into(),
        })
    }
}

impl From<IngestError> for Failure {
    fn from(error: IngestError) -> Self {
        let message = error.to_string();
        Self(match error {
            IngestError::OwnerGone => ApiError::not_found(message),
            IngestError::TooSlow => ApiError::storage_unavailable(message),
            IngestError::Blob(error) => error.into(),
            IngestError::Store(error) => error.into(),
            IngestError::Spool(error) => BlobError::Io(error).into(),
        })
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        let message = error.to_string();
        let unavailable = |code| {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after(INDEX_RETRY_AFTER)
        };
        match error {
            IndexError::Loading { done, passages } => Self(
                unavailable("INDEX_LOADING")
                    .with_field("passagesRead", done)
                    .with_field("passages", passages),
            ),
            // Logged where it happened.
            IndexError::Failed(_) => Self(unavailable("INDEX_UNAVAILABLE")),
            IndexError::Store(error) => error.into(),
        }
    }
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        let message = error.to_string();
        match error {
            SearchError::NoEncoder => ApiError::unavailable(message).into(),
            SearchError::Busy => ApiError::too_many_requests(message, Duration::from_secs(1)).into(),
            SearchError::Engine(error) => ApiError::internal(error).into(),
            SearchError::Index(error) => error.into(),
            SearchError::Store(error) => error.into(),
        }
    }
}

impl From<ChatFailure> for Failure {
    fn from(error: ChatFailure) -> Self {
        match error {
            ChatFailure::UnknownProvider(error) => ApiError::invalid(error.to_string()).into(),
            ChatFailure::TooLong(error) => ApiError::invalid(error.to_string()).into(),
            // 429 is for those who ask too often.
            ChatFailure::Search(SearchError::Busy) => {
                ApiError::unavailable(SearchError::Busy.to_string()).into()
            }
            ChatFailure::Search(error) => error.into(),
            ChatFailure::Index(error) => error.into(),
            ChatFailure::Store(error) => error.into(),
            ChatFailure::Model(error) => error.into(),
        }
    }
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        let status = match error.cause {
            Cause::TooLong { .. } => return ApiError::invalid(error.to_string()).into(),
            Cause::NoModel | Cause::Busy => return ApiError::unavailable(error.to_string()).into(),
            _ => StatusCode::BAD_GATEWAY,
        };
        Self(ApiError::new(status, "PROVIDER_FAILED", Self::said(error)))
    }
}

impl Failure {
    /// What a provider's failure says to the client, who cannot see the log.
    pub fn said(error: ChatError) -> String {
        tracing::warn!(%error, "a provider failed");
        error.to_string()
    }
}
