//! Domain errors as answers, each in one `match`. What went wrong inside is logged, never sent.

use super::limit::LimitDetails;
use crate::accounts::AccountError;
use crate::chat::ChatFailure;
use crate::connections::ConnectionError;
use crate::conversations::ConversationError;
use crate::indexes::IndexError;
use crate::ingest::{IngestError, MoveError, RestoreError, UploadError};
use crate::search::SearchError;
use crate::sources::SourceError;
use crate::spaces::SpaceError;
use http::StatusCode;
use kit::error::ApiError;
use llm::{Cause, ChatError};
use serde::Serialize;
use std::time::Duration;
use store::BlobError;
use utoipa::ToSchema;

/// A large index takes seconds to read.
const INDEX_RETRY_AFTER: Duration = Duration::from_secs(2);

/// The code of an answer that a budget forbids.
pub const BUDGET_USED_UP: &str = "BUDGET_USED_UP";

/// What an error with the code `INDEX_LOADING` says besides.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadProgress {
    /// With the code `INDEX_LOADING`: how many passages are in memory already.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 12000)]
    passages_read: Option<u64>,
    /// With the code `INDEX_LOADING`: how many passages there are to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 90000)]
    passages: Option<u64>,
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        let message = error.to_string();
        match error {
            AccountError::Invalid(_) | AccountError::LastAdministrator => Self::invalid(message),
            AccountError::WrongPassword | AccountError::NoDigest | AccountError::NoSession => {
                Self::unauthorized(message)
            }
            AccountError::Throttled { wait } => Self::too_many_requests(message, wait),
            AccountError::Disabled => Self::forbidden(message),
            AccountError::ChangedMeanwhile => Self::conflict(message),
            AccountError::NoSuchUser(_) | AccountError::NoSuchSession(_) | AccountError::NoSuchLink => {
                Self::not_found(message)
            }
            AccountError::Admins(error) => error.into(),
            AccountError::Hash(_) | AccountError::Unsigned(_) => Self::internal(message),
            AccountError::Store(error) => error.into(),
        }
    }
}

impl From<UploadError> for ApiError {
    fn from(error: UploadError) -> Self {
        let message = error.to_string();
        match error {
            UploadError::TooLarge(_) => Self::too_large(message),
            UploadError::Invalid(_) => Self::invalid(message),
            UploadError::Io(error) => BlobError::Io(error).into(),
        }
    }
}

impl From<IngestError> for ApiError {
    fn from(error: IngestError) -> Self {
        let message = error.to_string();
        match error {
            IngestError::OwnerGone | IngestError::RunEnded => Self::not_found(message),
            IngestError::OverQuota { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "QUOTA_EXCEEDED", message)
            }
            IngestError::TooSlow => Self::storage_unavailable(message),
            IngestError::Blob(error) => error.into(),
            IngestError::Store(error) => error.into(),
            IngestError::Spool(error) => BlobError::Io(error).into(),
        }
    }
}

impl From<MoveError> for ApiError {
    fn from(error: MoveError) -> Self {
        let message = error.to_string();
        match error {
            MoveError::OfSource | MoveError::InWork | MoveError::FilesInWork => Self::conflict(message),
            MoveError::Gone | MoveError::NoFile => Self::not_found(message),
            MoveError::Ingest(error) => error.into(),
            MoveError::Store(error) => error.into(),
        }
    }
}

impl From<IndexError> for ApiError {
    fn from(error: IndexError) -> Self {
        let message = error.to_string();
        let unavailable =
            |code| Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after(INDEX_RETRY_AFTER);
        match error {
            IndexError::Loading { done, passages } => {
                let progress = LoadProgress { passages_read: Some(done), passages: Some(passages) };
                unavailable("INDEX_LOADING").with(progress)
            }
            // The task that failed has logged the cause.
            IndexError::Failed(_) => unavailable("INDEX_UNAVAILABLE"),
            IndexError::Store(error) => error.into(),
        }
    }
}

impl From<SearchError> for ApiError {
    fn from(error: SearchError) -> Self {
        let message = error.to_string();
        match error {
            SearchError::NoEncoder => Self::unavailable(message),
            SearchError::NoSuchSpace => Self::not_found(message),
            SearchError::Busy => Self::too_many_requests(message, Duration::from_secs(1)),
            SearchError::Engine(error) => Self::internal(error),
            SearchError::Index(error) => error.into(),
            SearchError::Store(error) => error.into(),
        }
    }
}

impl From<ChatFailure> for ApiError {
    fn from(error: ChatFailure) -> Self {
        match error {
            ChatFailure::UnknownProvider(error) => Self::invalid(error.to_string()),
            ChatFailure::TooLong(error) => Self::invalid(error.to_string()),
            // In answers of the chat, 429 means that the caller asks too often.
            ChatFailure::Search(SearchError::Busy) => Self::unavailable(SearchError::Busy.to_string()),
            ChatFailure::Search(error) => error.into(),
            ChatFailure::Index(error) => error.into(),
            ChatFailure::Store(error) => error.into(),
            ChatFailure::Files(error) => error.into(),
            ChatFailure::Model(error) => model_error(error),
        }
    }
}

impl From<ConversationError> for ApiError {
    fn from(error: ConversationError) -> Self {
        let message = error.to_string();
        match error {
            ConversationError::NoSuchConversation(_)
            | ConversationError::NoSuchMessage(_)
            | ConversationError::OwnerGone => Self::not_found(message),
            ConversationError::NotAQuestion | ConversationError::NotAnAnswer => Self::invalid(message),
            ConversationError::Running | ConversationError::TooMany | ConversationError::Full => {
                Self::conflict(message)
            }
            ConversationError::Store(error) => error.into(),
        }
    }
}

impl From<SpaceError> for ApiError {
    fn from(error: SpaceError) -> Self {
        let message = error.to_string();
        match error {
            SpaceError::NoSuchSpace(_) | SpaceError::NoSuchUser(_) | SpaceError::NotAMember => {
                Self::not_found(message)
            }
            SpaceError::NotAnEditor | SpaceError::NotAManager | SpaceError::OnlyAdministratorsCreate => {
                Self::forbidden(message)
            }
            SpaceError::TooMany => Self::conflict(message),
            SpaceError::Store(error) => error.into(),
        }
    }
}

impl From<RestoreError> for ApiError {
    fn from(error: RestoreError) -> Self {
        let message = error.to_string();
        match error {
            RestoreError::NoSuchVersion(_) | RestoreError::Gone => Self::not_found(message),
            RestoreError::Store(error) => error.into(),
        }
    }
}

impl From<ConnectionError> for ApiError {
    fn from(error: ConnectionError) -> Self {
        let message = error.to_string();
        match error {
            ConnectionError::NoSuchConnection(_) => Self::not_found(message),
            ConnectionError::KeyOfAnother => Self::invalid(message),
            ConnectionError::NameTaken(_) | ConnectionError::TooMany => Self::conflict(message),
            ConnectionError::NoKey => Self::unavailable(message),
            ConnectionError::Store(error) => error.into(),
        }
    }
}

impl From<SourceError> for ApiError {
    fn from(error: SourceError) -> Self {
        let message = error.to_string();
        match error {
            SourceError::NoSuchSource(_) | SourceError::OwnerGone => Self::not_found(message),
            SourceError::Settings(_) | SourceError::SecretOfAnother => Self::invalid(message),
            SourceError::TooMany | SourceError::Paused => Self::conflict(message),
            SourceError::NoKey => Self::unavailable(message),
            SourceError::Store(error) => error.into(),
        }
    }
}

fn model_error(error: ChatError) -> ApiError {
    match error.cause {
        Cause::TooLong { .. } | Cause::Lacks(_) => ApiError::invalid(error.to_string()),
        Cause::BudgetUsedUp { message, resets_at_ms } => {
            let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, BUDGET_USED_UP, message.as_str());
            error.with(LimitDetails { message, reset_at: resets_at_ms })
        }
        Cause::NoModel | Cause::Busy => ApiError::unavailable(error.to_string()),
        _ => ApiError::new(StatusCode::BAD_GATEWAY, "PROVIDER_FAILED", provider_message(&error)),
    }
}

/// Logs that a model did not answer, and returns what the client is told, who cannot see the log.
pub fn provider_message(error: &ChatError) -> String {
    tracing::warn!(%error, "a model did not answer");
    error.to_string()
}
