//! Links that administrators hand out: invitations, and links to set a new password. Each can be used once.

use super::sessions::token_hash;
use super::{AccountError, Accounts, LONGEST_NAME, NewUser, Rights, check_password, invalid, taken};
use crate::records::{AccountLink, User};
use crate::tables;
use std::net::IpAddr;
use std::time::Duration;
use store::StoreError;

/// Whom a new link is for.
pub enum LinkFor {
    /// A new user. Both may be empty.
    Invited { name: String, email: String },
    /// The id of a user who gets a new password.
    User(String),
}

/// What the person with the link has chosen. An existing user only chooses a password.
pub struct Chosen {
    pub username: Option<String>,
    pub email: Option<String>,
    pub name: String,
    pub password: String,
}

impl AccountLink {
    /// Returns a name of the link that is no secret.
    pub fn id(&self) -> &str {
        self.token_hash.get(..32).unwrap_or_default()
    }
}

impl Accounts {
    /// Makes a link and returns it with its token. A new one for a user takes the place of the one before.
    pub async fn create_link(
        &self,
        admin: &User,
        link_for: LinkFor,
        lasts: Duration,
    ) -> Result<(AccountLink, String), AccountError> {
        let token = self.random.hex::<32>();
        let now = self.clock.now_ms();
        let (user_id, name, email) = match link_for {
            LinkFor::Invited { name, email } => (None, name.trim().to_owned(), email),
            LinkFor::User(id) => (Some(id), String::new(), String::new()),
        };
        let link = AccountLink {
            token_hash: token_hash(&token),
            user_id,
            name,
            email,
            created_by: admin.id.clone(),
            created_at: now,
            expires_at: now + lasts.as_millis() as i64,
        };
        self.check_link(&link).await?;
        let mut tx = self.db.begin().await?;
        if let Some(id) = &link.user_id {
            let user = tables::users::lock(&mut tx, id).await?;
            user.ok_or_else(|| AccountError::NoSuchUser(id.clone()))?;
            tables::account_links::delete_of_user(&mut tx, id).await?;
        }
        tables::account_links::delete_expired(&mut tx, now).await?;
        tables::account_links::insert(&mut tx, &link).await?;
        tx.commit().await?;
        Ok((link, token))
    }

    /// Returns the links that can still be used, the newest first.
    pub async fn links(&self) -> Result<Vec<AccountLink>, StoreError> {
        tables::account_links::all(&self.db, self.clock.now_ms()).await
    }

    pub async fn remove_link(&self, id: &str) -> Result<(), AccountError> {
        let mut tx = self.db.begin().await?;
        if !tables::account_links::delete(&mut tx, id).await? {
            return Err(AccountError::NoSuchLink);
        }
        Ok(tx.commit().await?)
    }

    /// Returns the link with this token, and the user whose password it sets. Guesses are counted as failed sign-ins are.
    pub async fn open_link(
        &self,
        token: &str,
        client: IpAddr,
    ) -> Result<(AccountLink, Option<User>), AccountError> {
        let attempt = self.count_attempt("knowledge-link", None, client).await?;
        let found = tables::account_links::find(&self.db, &token_hash(token), self.clock.now_ms()).await?;
        let link = found.ok_or(AccountError::NoSuchLink)?;
        attempt.forgive(&self.db).await?;
        let user = match &link.user_id {
            Some(id) => Some(self.get(id).await?.ok_or(AccountError::NoSuchLink)?),
            None => None,
        };
        Ok((link, user))
    }

    /// Uses a link: makes the account of an invited person, or sets a password and ends every session of the user.
    pub async fn accept_link(
        &self,
        token: &str,
        chosen: Chosen,
        client: IpAddr,
    ) -> Result<User, AccountError> {
        let (link, user) = self.open_link(token, client).await?;
        if let Some(user) = user {
            check_password("password", &chosen.password)?;
            self.set_password(&user, &chosen.password, None, Rights::Kept, Some(&link)).await?;
            return Ok(user);
        }
        // An address that the administrator has named says who was invited.
        let email = if link.email.is_empty() { chosen.email.unwrap_or_default() } else { link.email.clone() };
        let new = NewUser {
            username: chosen.username,
            email,
            name: chosen.name,
            password: chosen.password,
            goals: String::new(),
            is_admin: false,
        };
        self.create_by_link(new, String::new(), Some(&link)).await
    }

    async fn check_link(&self, link: &AccountLink) -> Result<(), AccountError> {
        if link.name.len() > LONGEST_NAME || link.name.contains('\0') {
            return invalid("`name` is too long: at most 254 bytes");
        }
        if link.email.is_empty() {
            return Ok(());
        }
        super::check_email(&link.email)?;
        let name = link.email.to_lowercase();
        match tables::users::find_by_login_name(&self.db, &name).await? {
            Some(_) => taken(&link.email),
            None => Ok(()),
        }
    }
}
