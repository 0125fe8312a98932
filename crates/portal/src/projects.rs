//! Whether a project exists, by what the supervisor tells the caller.

use base::token::{Claims, Tokens};
use http::StatusCode;
use kit::headers::IDENTITY;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// What the supervisor says of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Exists,
    /// There is none, or the caller may not see it.
    Missing,
    /// The supervisor does not answer, or does not tell this caller.
    Untold,
}

/// Asks the supervisor for a project, as the caller. Without a supervisor, every project counts as there.
pub async fn look_up(
    client: &reqwest::Client,
    supervisors: &[String],
    tokens: &Tokens,
    caller: &Claims,
    id: &str,
) -> Known {
    if supervisors.is_empty() {
        return Known::Exists;
    }
    // Of an address, this could be another path.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
        return Known::Missing;
    }
    let Ok(identity) = tokens.issue_identity(caller) else { return Known::Untold };
    for base in supervisors {
        let request = client.get(format!("{base}/api/projects/{id}")).timeout(TIMEOUT);
        match request.header(IDENTITY, &identity).send().await.map(|answer| answer.status()) {
            Ok(StatusCode::NOT_FOUND) => return Known::Missing,
            Ok(status) if status.is_success() => return Known::Exists,
            Ok(status) => {
                tracing::warn!(%status, "the supervisor does not tell whether a project exists");
                return Known::Untold;
            }
            Err(error) => {
                tracing::warn!(error = %error.without_url(), "the supervisor does not answer");
            }
        }
    }
    Known::Untold
}
