//! Users who sign in by the provider of single sign-on: the gateway's signed identity names their verified email address.

use super::{AccountError, Accounts, Device, NewUser, SSO_SESSION_LASTS};
use crate::records::User;
use crate::tables;

impl Accounts {
    /// Signs in the user with this email address, which must be verified, and returns the token of a new session. If there
    /// is no such user, one is created if `creates` says so.
    pub async fn sign_in_verified(
        &self,
        email: &str,
        creates: bool,
        device: &Device,
    ) -> Result<(User, String), AccountError> {
        let unknown = || AccountError::NoSuchUser(email.to_owned());
        let mut user = match self.of_email(email).await? {
            Some(user) => user,
            None if creates => self.create_verified(email).await?,
            None => return Err(unknown()),
        };
        if !self.is_current(&user).await? {
            return Err(unknown());
        }
        let mut tx = self.db.begin().await?;
        // None if the user was removed meanwhile.
        if tables::users::lock(&mut tx, &user.id).await?.ok_or_else(unknown)?.disabled {
            return Err(AccountError::Disabled);
        }
        let token = self.open_session(&mut tx, &mut user, device, SSO_SESSION_LASTS).await?;
        tx.commit().await?;
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
