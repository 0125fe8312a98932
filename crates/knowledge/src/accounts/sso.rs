//! Users who sign in by the provider of single sign-on: the gateway's signed identity names their verified email address.

use super::{AccountError, Accounts, NewUser, token_hash};
use crate::records::User;
use crate::tables;
use std::time::Duration;

/// As long as a session of single sign-on at the portal, so that a user whom the provider has removed is soon out.
pub const SSO_SESSION_LASTS: Duration = Duration::from_secs(8 * 60 * 60);

impl Accounts {
    /// Signs in the user with this email address, which must be verified, and returns the token of a new session. If there
    /// is no such user, one is created if `creates` says so.
    pub async fn sign_in_verified(&self, email: &str, creates: bool) -> Result<(User, String), AccountError> {
        let unknown = || AccountError::NoSuchUser(email.to_owned());
        let mut user = match self.of_email(email).await? {
            Some(user) => user,
            None if creates => self.create_verified(email).await?,
            None => return Err(unknown()),
        };
        if !self.is_current(&user).await? {
            return Err(unknown());
        }
        let now = self.clock.now_ms();
        let token = self.random.hex::<32>();
        let mut tx = self.db.begin().await?;
        tables::sessions::delete_expired(&mut tx, now).await?;
        // None if the user was removed meanwhile.
        let locked = tables::users::lock(&mut tx, &user.id).await?.ok_or_else(unknown)?;
        if locked.disabled {
            return Err(AccountError::Disabled);
        }
        let expires_at = now + SSO_SESSION_LASTS.as_millis() as i64;
        tables::sessions::insert(&mut tx, &token_hash(&token), &user.id, expires_at).await?;
        tables::users::set_last_login(&mut tx, &user.id, now).await?;
        tx.commit().await?;
        user.last_login = now;
        Ok((user, token))
    }

    /// Returns the user with this email address. A user whose username is the address of another one is not meant.
    async fn of_email(&self, email: &str) -> Result<Option<User>, AccountError> {
        let found = tables::users::find_by_login_name(&self.db, &email.to_lowercase()).await?;
        let user = found.map(|(user, _)| user);
        Ok(user.filter(|user| user.email.to_lowercase() == email.to_lowercase()))
    }

    /// Creates a user with a password that is told to no one.
    async fn create_verified(&self, email: &str) -> Result<User, AccountError> {
        let new = NewUser {
            username: None,
            email: email.to_owned(),
            name: email.to_owned(),
            password: self.random.hex::<32>(),
            goals: String::new(),
            is_admin: false,
        };
        match self.create(new, String::new()).await {
            // Two requests at the same moment create one user.
            Err(AccountError::Invalid(why)) => self.of_email(email).await?.ok_or(AccountError::Invalid(why)),
            created => created,
        }
    }
}
