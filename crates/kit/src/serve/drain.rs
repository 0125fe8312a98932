//! Asking everything to end: the process stops accepting, streams close, connections get a moment to finish.

use tokio_util::sync::CancellationToken;

/// Shared by all listeners of the process and by every stream that would otherwise go on.
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

    /// For parts that take a token of their own.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}
