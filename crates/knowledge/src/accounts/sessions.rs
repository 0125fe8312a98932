//! Sessions: signing in and out, and the grants that gateway tokens rely on.

use super::{AccountError, Accounts, is_login_name};
use crate::passwords::is_digest;
use crate::records::{Session, User};
use crate::tables;
use aws_lc_rs::digest;
use base::hex;
use std::net::IpAddr;
use std::time::Duration;
use store::{StoreError, Tx};

pub const SESSION_LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// As long as a session of single sign-on at the portal, so that a user whom the provider has removed is soon out.
pub const SSO_SESSION_LASTS: Duration = Duration::from_secs(8 * 60 * 60);
const MAX_BROWSER_BYTES: usize = 256;
/// How exactly the last use of a session is known.
const USE_NOTED_EVERY_MS: i64 = 5 * 60_000;

/// Where a sign-in comes from.
pub struct Device {
    pub address: IpAddr,
    /// The header `User-Agent`.
    pub browser: String,
}

impl Session {
    /// Returns a name of the session that is no secret.
    pub fn id(&self) -> &str {
        self.token_hash.get(..32).unwrap_or_default()
    }

    /// Returns whether this is the session with a token.
    pub fn has_token(&self, token: &str) -> bool {
        self.token_hash == token_hash(token)
    }
}

impl Accounts {
    /// Signs a user in with the digest that the caller sends, and returns the token of a new session.
    pub async fn sign_in(
        &self,
        name: &str,
        digest: &str,
        device: &Device,
    ) -> Result<(User, String), AccountError> {
        let name = name.to_lowercase();
        let counted = is_login_name(&name).then_some(name.as_str());
        let attempt = self.count_attempt("knowledge-login", counted, device.address).await?;
        if !is_digest(digest) {
            return Err(AccountError::NoDigest);
        }
        let found = match counted {
            Some(name) => tables::users::find_by_login_name(&self.db, name).await?,
            None => None,
        };
        let verifier = found.as_ref().map(|(_, verifier)| verifier.as_str());
        let accepted = self.passwords.verify(digest, verifier).await?;
        let Some((mut user, verifier)) = found.filter(|_| accepted) else {
            return Err(AccountError::WrongPassword);
        };
        let is_of_record = match user.is_admin {
            true => self.admins.standing(&user.username).await.map(|standing| user.is_of(&standing)),
            false => Ok(true),
        };
        if let Ok(false) = is_of_record {
            tracing::warn!(username = user.username, "another tool has changed the administrator's record");
            return Err(AccountError::WrongPassword);
        }
        attempt.forgive(&self.db).await?;
        is_of_record?;
        if user.disabled {
            return Err(AccountError::Disabled);
        }

        let mut tx = self.db.begin().await?;
        // A change of the password ends all sessions: none may be added with the old password after that.
        let locked = tables::users::lock(&mut tx, &user.id).await?;
        if locked.is_some_and(|locked| locked.disabled) {
            return Err(AccountError::Disabled);
        }
        if tables::users::verifier_in(&mut tx, &name).await? != Some(verifier) {
            return Err(AccountError::WrongPassword);
        }
        let token = self.open_session(&mut tx, &mut user, device, SESSION_LASTS).await?;
        tx.commit().await?;
        Ok((user, token))
    }

    /// Adds a session of a user who is locked, and returns its token.
    pub(super) async fn open_session(
        &self,
        tx: &mut Tx,
        user: &mut User,
        device: &Device,
        lasts: Duration,
    ) -> Result<String, StoreError> {
        let now = self.clock.now_ms();
        let token = self.random.hex::<32>();
        let session = Session {
            token_hash: token_hash(&token),
            grant: String::new(),
            created_at: now,
            last_used_at: now,
            expires_at: now + lasts.as_millis() as i64,
            address: device.address.to_string(),
            browser: device.browser[..device.browser.floor_char_boundary(MAX_BROWSER_BYTES)].to_owned(),
        };
        tables::sessions::delete_expired(tx, now).await?;
        tables::sessions::insert(tx, &user.id, &session).await?;
        tables::users::set_last_login(tx, &user.id, now).await?;
        user.last_login = now;
        Ok(token)
    }

    pub async fn of_session(&self, token: &str) -> Result<Option<User>, AccountError> {
        let now = self.clock.now_ms();
        let found = tables::sessions::find(&self.db, &token_hash(token), now).await?;
        let Some((user, session)) = found else { return Ok(None) };
        if !self.is_current(&user).await? {
            return Ok(None);
        }
        if now - session.last_used_at > USE_NOTED_EVERY_MS {
            tokio::spawn(self.clone().note_use(session.token_hash, now));
        }
        Ok(Some(user))
    }

    async fn note_use(self, token_hash: String, now: i64) {
        let noting = async {
            let mut tx = self.db.begin().await?;
            tables::sessions::touch(&mut tx, &token_hash, now).await?;
            tx.commit().await
        };
        if let Err(error) = noting.await {
            tracing::debug!(%error, "the use of a session is not noted");
        }
    }

    /// Returns the user of a session, and the grant for gateway tokens, which is made with the first one. A change of the
    /// user's rights ends the grant.
    pub async fn grant(&self, token: &str) -> Result<(User, String), AccountError> {
        let (hash, now) = (token_hash(token), self.clock.now_ms());
        let (user, session) =
            tables::sessions::find(&self.db, &hash, now).await?.ok_or(AccountError::NoSession)?;
        if !session.grant.is_empty() {
            return Ok((user, session.grant));
        }
        let grant = self.random.hex::<16>();
        let mut tx = self.db.begin().await?;
        // Locked: rights that change at the same time end the grants of before.
        let user = tables::users::lock(&mut tx, &user.id).await?.ok_or(AccountError::NoSession)?;
        if tables::sessions::add_grant(&mut tx, &hash, &grant).await? {
            tx.commit().await?;
            return Ok((user, grant));
        }
        drop(tx);
        // Another request has made it at the same time, or the session has ended.
        let found = tables::sessions::find(&self.db, &hash, now).await?;
        let (user, session) =
            found.filter(|(_, session)| !session.grant.is_empty()).ok_or(AccountError::NoSession)?;
        Ok((user, session.grant))
    }

    /// Returns the sessions of a user, the newest first.
    pub async fn sessions(&self, user_id: &str) -> Result<Vec<Session>, StoreError> {
        tables::sessions::of_user(&self.db, user_id, self.clock.now_ms()).await
    }

    pub async fn end_session(&self, user_id: &str, id: &str) -> Result<(), AccountError> {
        let mut tx = self.db.begin().await?;
        if !tables::sessions::end_one(&mut tx, user_id, id).await? {
            return Err(AccountError::NoSuchSession(id.to_owned()));
        }
        Ok(tx.commit().await?)
    }

    /// Ends the sessions of a user but one, and returns how many.
    pub async fn end_sessions(&self, user_id: &str, kept: Option<&Session>) -> Result<usize, StoreError> {
        let mut tx = self.db.begin().await?;
        let ended = match kept {
            Some(kept) => tables::sessions::end_others(&mut tx, user_id, &kept.token_hash).await?,
            None => tables::sessions::end_of_user(&mut tx, user_id).await?,
        };
        tx.commit().await?;
        Ok(ended)
    }

    pub async fn sign_out(&self, token: &str) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        tables::sessions::end(&mut tx, &token_hash(token)).await?;
        tx.commit().await
    }
}

pub(super) fn token_hash(token: &str) -> String {
    hex(digest::digest(&digest::SHA256, token.as_bytes()).as_ref())
}
