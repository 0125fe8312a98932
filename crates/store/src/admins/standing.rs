//! Whether a token is still valid, from a cache of seconds before the database and the object store.

use super::changes::{self, Change};
use super::{AdminRecord, Admins, AdminsError, is_username};
use crate::grants;
use crate::recent::Known;
use base::token::Verified;
use std::sync::Arc;
use std::time::Duration;

/// How far the clocks of two processes may be apart.
const CLOCK_SKEW_MS: i64 = 6_000;
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

/// A standing, and the change that it was read with.
pub(super) struct Looked {
    standing: Standing,
    change: Option<Change>,
}

impl Admins {
    /// Returns whether a token is still valid: false if the session that it was issued for has ended, or if its
    /// administrator was removed or has a new password. A change in another process takes effect here within seconds.
    pub async fn admits(&self, token: &Verified) -> Result<bool, AdminsError> {
        if let Some(grant) = &token.claims.grant
            && !self.has_grant(grant).await?
        {
            return Ok(false);
        }
        let name = &token.claims.project_id;
        if !token.claims.has_scope("admin") || !is_username(name) {
            return Ok(true);
        }
        let known = self.known(name).await?;
        let is_newer = known.read_ms > token.issued_at.saturating_mul(1000).saturating_add(CLOCK_SKEW_MS);
        let is_admitted = known.value.standing.admits(token);
        if is_admitted || is_newer {
            return Ok(is_admitted);
        }
        // The token may have been issued after the last read.
        Ok(self.read_standing(name).await?.value.standing.admits(token))
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
        Ok(self.read_standing(username).await?.value.standing.clone())
    }

    /// Returns the standing as it was within the last seconds.
    pub async fn recent_standing(&self, username: &str) -> Result<Standing, AdminsError> {
        Ok(self.known(username).await?.value.standing.clone())
    }

    pub(super) fn forget(&self, name: &str) {
        self.0.standings.forget(|known| known.eq_ignore_ascii_case(name));
    }

    async fn known(&self, name: &str) -> Result<Arc<Known<Looked>>, AdminsError> {
        let read = || {
            let (admins, name) = (self.clone(), name.to_owned());
            async move { admins.read_standing(&name).await }
        };
        self.0.standings.get(name, self.0.db.now_ms(), read).await
    }

    /// Reads the standing and caches it.
    async fn read_standing(&self, name: &str) -> Result<Arc<Known<Looked>>, AdminsError> {
        let read_ms = self.0.db.now_ms();
        let (standing, change) = match self.look_up(name).await {
            Ok((record, change)) => (Standing::new(record.as_ref(), change.as_ref()), change),
            Err(AdminsError::Store(error)) => return Err(error.into()),
            Err(error) => self.unchanged(name, error).await?,
        };
        Ok(self.0.standings.keep(name, Looked { standing, change }, read_ms))
    }

    /// Returns the cached standing while the object store does not answer, unless the database has a later change.
    async fn unchanged(
        &self,
        name: &str,
        error: AdminsError,
    ) -> Result<(Standing, Option<Change>), AdminsError> {
        let known = self.0.standings.peek(name);
        let change = changes::get(&self.0.db, &name.to_lowercase()).await?;
        match known.filter(|known| known.value.change == change) {
            Some(known) => {
                tracing::warn!(%error, "an administrator's record cannot be read: the last one is used");
                Ok((known.value.standing.clone(), change))
            }
            None => Err(error),
        }
    }

    /// Returns whether the session behind a token goes on. A grant never comes back, so no token is refused too soon.
    async fn has_grant(&self, id: &str) -> Result<bool, AdminsError> {
        let now = self.0.db.now_ms();
        let read = || {
            let (admins, id) = (self.clone(), id.to_owned());
            async move {
                let expiry = grants::expiry(&admins.0.db, &id).await?;
                Ok::<_, AdminsError>(admins.0.grants.keep(&id, expiry, now))
            }
        };
        let known = self.0.grants.get(id, now, read).await?;
        Ok(known.value.is_some_and(|expires_at| expires_at > now))
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
            username: None,
            generation: generation.map(str::to_owned),
            grant: None,
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
