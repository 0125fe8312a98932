//! Whether an administrator's token is still valid, from a cache of seconds before the database and the object store.

use super::changes::{self, Change};
use super::{AdminRecord, Admins, AdminsError, is_username};
use base::token::Verified;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

/// A cached standing that is younger is used as it is.
const FRESH_MS: i64 = 2_000;
/// One that is younger is used while it is read again in the background.
const STALE_MS: i64 = 5_000;
/// One that is younger is used if the database does not answer.
const OUTAGE_MS: i64 = 60_000;
/// How far the clocks of two processes may be apart.
const CLOCK_SKEW_MS: i64 = 6_000;
const MAX_KNOWN: usize = 1024;
/// How often the token of an open stream is checked.
const STREAM_CHECK: Duration = Duration::from_secs(2);

/// The state of an administrator that tokens are compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The generation of the current record.
    pub generation: Option<String>,
    is_removed: bool,
    not_before: i64,
}

impl Standing {
    fn new(record: Option<&AdminRecord>, change: Option<&Change>) -> Self {
        Self {
            generation: record.map(AdminRecord::generation),
            is_removed: change.is_some_and(|change| change.is_removed),
            not_before: change.map_or(0, |change| change.not_before),
        }
    }

    /// Returns whether a token is valid. A token of another tool has no generation: it is valid unless a change is known
    /// that speaks against it.
    fn admits(&self, token: &Verified) -> bool {
        match &token.claims.generation {
            Some(generation) => self.generation.as_ref() == Some(generation),
            None => !self.is_removed && token.issued_at.saturating_mul(1000) > self.not_before,
        }
    }
}

/// A cached standing.
pub(super) struct Known {
    standing: Standing,
    change: Option<Change>,
    read_ms: i64,
    is_being_read: AtomicBool,
}

impl Admins {
    /// Returns whether a token is still valid: false if its administrator was removed or has a new password. Always true
    /// for tokens of other callers. A change in another process takes effect here within seconds.
    pub async fn admits(&self, token: &Verified) -> Result<bool, AdminsError> {
        let name = &token.claims.project_id;
        if !token.claims.has_scope("admin") || !is_username(name) {
            return Ok(true);
        }
        let known = self.known(name).await?;
        let is_newer = known.read_ms > token.issued_at.saturating_mul(1000).saturating_add(CLOCK_SKEW_MS);
        let is_admitted = known.standing.admits(token);
        if is_admitted || is_newer {
            return Ok(is_admitted);
        }
        // The token may have been issued after the last read.
        Ok(self.read_standing(name).await?.standing.admits(token))
    }

    /// Waits until a token that was valid is not valid any more.
    pub async fn until_refused(self, token: Verified) {
        loop {
            tokio::time::sleep(STREAM_CHECK).await;
            let is_refused = matches!(self.admits(&token).await, Ok(false));
            if is_refused || token.token_has_expired(self.0.db.now_ms()) {
                return;
            }
        }
    }

    /// Returns the standing at this moment.
    pub async fn standing(&self, username: &str) -> Result<Standing, AdminsError> {
        Ok(self.read_standing(username).await?.standing.clone())
    }

    /// Returns the standing as it was within the last seconds.
    pub async fn recent_standing(&self, username: &str) -> Result<Standing, AdminsError> {
        Ok(self.known(username).await?.standing.clone())
    }

    pub(super) fn forget(&self, name: &str) {
        self.lock().retain(|known, _| !known.eq_ignore_ascii_case(name));
    }

    async fn known(&self, name: &str) -> Result<Arc<Known>, AdminsError> {
        let known = self.lock().get(name).cloned();
        let Some(known) = known else { return self.read_standing(name).await };
        // After a clock was set back, a cached standing may seem to be from the future.
        match self.0.db.now_ms().saturating_sub(known.read_ms).unsigned_abs() as i64 {
            ..FRESH_MS => Ok(known),
            FRESH_MS..STALE_MS => {
                if !known.is_being_read.swap(true, Ordering::Relaxed) {
                    let (admins, name) = (self.clone(), name.to_owned());
                    tokio::spawn(async move { admins.read_standing(&name).await.map(drop) });
                }
                Ok(known)
            }
            age => match self.read_standing(name).await {
                Err(error) if age < OUTAGE_MS => {
                    tracing::warn!(%error, "an administrator cannot be looked up: what is known is used");
                    Ok(known)
                }
                looked => looked,
            },
        }
    }

    /// Reads the standing and caches it.
    async fn read_standing(&self, name: &str) -> Result<Arc<Known>, AdminsError> {
        let read_ms = self.0.db.now_ms();
        let (standing, change) = match self.look_up(name).await {
            Ok((record, change)) => (Standing::new(record.as_ref(), change.as_ref()), change),
            Err(AdminsError::Store(error)) => return Err(error.into()),
            Err(error) => self.unchanged(name, error).await?,
        };
        let is_being_read = AtomicBool::new(false);
        let known = Arc::new(Known { standing, change, read_ms, is_being_read });
        let mut all = self.lock();
        if all.len() >= MAX_KNOWN {
            all.clear();
        }
        all.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    /// Returns the cached standing while the object store does not answer, unless the database has a later change.
    async fn unchanged(
        &self,
        name: &str,
        error: AdminsError,
    ) -> Result<(Standing, Option<Change>), AdminsError> {
        let known = self.lock().get(name).cloned();
        let change = changes::get(&self.0.db, &name.to_lowercase()).await?;
        match known.filter(|known| known.change == change) {
            Some(known) => {
                tracing::warn!(%error, "an administrator's record cannot be read: the last one is used");
                Ok((known.standing.clone(), change))
            }
            None => Err(error),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Known>>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::token::{Claims, Route, Tokens};
    use base::{Clock, Random};

    const NOW: i64 = 1_794_709_061_500;

    fn token(generation: Option<&str>) -> Verified {
        let claims = Claims {
            project_id: "ada".into(),
            route: Route::Auth,
            scopes: vec!["admin".into()],
            environment: String::new(),
            issued_by: String::new(),
            generation: generation.map(str::to_owned),
        };
        let tokens = Tokens::new(&[7; 32], "stoa", "stoa", Clock::fixed(NOW));
        tokens.verify(&tokens.issue(&claims, Duration::from_secs(60)).unwrap()).unwrap()
    }

    #[test]
    fn a_token_is_valid_for_the_record_it_was_issued_for() {
        let random = Random::seeded(1);
        let (record, other) = (AdminRecord::new("ada", "x", &random), AdminRecord::new("ada", "x", &random));
        let good = token(Some(&record.generation()));
        let removed = Change { record: None, is_removed: true, is_pending: false, not_before: 0 };
        // The time of the change does not matter: it may be within the second of the token's issue.
        let changed = Change { is_removed: false, not_before: NOW, ..removed.clone() };
        assert!(Standing::new(Some(&record), None).admits(&good));
        assert!(Standing::new(Some(&record), Some(&changed)).admits(&good));
        assert!(!Standing::new(Some(&other), Some(&changed)).admits(&good));
        assert!(!Standing::new(None, None).admits(&good));
        assert!(!Standing::new(None, Some(&removed)).admits(&good));
    }

    #[test]
    fn a_token_of_another_tool_is_valid_until_a_change_speaks_against_it() {
        let record = AdminRecord::new("ada", "x", &Random::seeded(1));
        let changed =
            |not_before, is_removed| Change { record: None, is_removed, is_pending: false, not_before };
        let of_tool = token(None);
        assert!(Standing::new(None, None).admits(&of_tool));
        assert!(Standing::new(Some(&record), None).admits(&of_tool));
        assert!(Standing::new(Some(&record), Some(&changed(NOW - 1000, false))).admits(&of_tool));
        assert!(!Standing::new(Some(&record), Some(&changed(NOW, false))).admits(&of_tool));
        assert!(!Standing::new(None, Some(&changed(NOW - 1000, true))).admits(&of_tool));
    }
}
