//! The shutdown: the process stops accepting, streams close, connections get some time to finish.

use tokio_util::sync::CancellationToken;

/// Shared by all listeners of the process and by every stream that has no end of its own.
#[derive(Clone, Default)]
pub struct Drain {
    token: CancellationToken,
}

impl Drain {
    pub fn start(&self) {
        self.token.cancel();
    }

    pub fn has_started(&self) -> bool {
        self.token.is_cancelled()
    }

    pub async fn started(&self) {
        self.token.cancelled().await;
    }

    /// Returns the token for code that takes one.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}
