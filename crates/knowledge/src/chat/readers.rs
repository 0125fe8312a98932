//! Reads one question of a user at a time, so that many of one user do not all compete with those of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OwnedMutexGuard;

#[derive(Default)]
pub struct Readers {
    users: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Readers {
    /// Waits until no other question of the user is being read. The turn ends when it is dropped.
    pub async fn turn(&self, user_id: &str) -> OwnedMutexGuard<()> {
        let own = {
            let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
            users.retain(|_, turn| Arc::strong_count(turn) > 1);
            users.entry(user_id.to_owned()).or_default().clone()
        };
        own.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn a_user_waits_for_the_own_questions_only() {
        let readers = Readers::default();
        let first = readers.turn("ada").await;
        let mut second = Box::pin(readers.turn("ada"));
        assert!((&mut second).now_or_never().is_none());
        assert!(readers.turn("bob").now_or_never().is_some());
        drop(first);
        drop(second.now_or_never().unwrap());
        drop(readers.turn("cyd").await);
        assert_eq!(readers.users.lock().unwrap().len(), 1, "users without questions are forgotten");
    }
}
