//! Users and their passwords.
//!
//! An administrator's account has a record at the gateway too. Every change is made here, to both in one transaction.
//! `administrators` has what concerns administrators alone, `changes` what they change of other users, `sessions` who is
//! signed in.

mod administrators;
mod changes;
mod gateway_token;
mod links;
mod sessions;
mod sso;

pub use administrators::Administrator;
pub use changes::{Goals, UserChanges};
pub use gateway_token::GatewayTokenSettings;
pub use links::{Chosen, LinkFor};
pub use sessions::{Device, SESSION_LASTS, SSO_SESSION_LASTS};

use crate::passwords::{HashFailed, Passwords, login_digest};
use crate::records::{AccountLink, User};
use crate::{removal, tables};
use administrators::{NewRecord, refuse_the_last};
use base::{Clock, Random};
use kit::page::{self, PAGE_BYTES};
use std::net::IpAddr;
use std::time::Duration;
use store::admins::{self, Admins, AdminsError, Standing};
use store::throttle::{self, Attempt, Counted};
use store::{Db, StoreError, Tx};

const SHORTEST_PASSWORD: usize = 8;
const LONGEST_PASSWORD: usize = 1024;
const LONGEST_NAME: usize = 254;

impl User {
    /// Returns whether an administrator's password here is the one of the gateway's record; true for users without a record.
    fn is_of(&self, standing: &Standing) -> bool {
        !self.is_admin
            || self.record_generation.is_empty()
            || standing.generation.as_ref() == Some(&self.record_generation)
    }

    /// Returns the names to sign in with, in lower case and without duplicates. An administrator may have no email address.
    fn login_names(&self) -> Vec<String> {
        let mut names = vec![self.username.to_lowercase(), self.email.to_lowercase()];
        names.retain(|name| !name.is_empty());
        names.dedup();
        names
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("{0}")]
    Invalid(String),
    #[error("unknown user or wrong password")]
    WrongPassword,
    #[error(
        "`password` is not a digest: send the hex SHA-256 of the username followed by the password, 64 digits"
    )]
    NoDigest,
    #[error("the session has ended: sign in again")]
    NoSession,
    #[error("no session `{0}`")]
    NoSuchSession(String),
    #[error("this link is not valid any more, or was used already: ask an administrator for another one")]
    NoSuchLink,
    #[error("too many failed sign-ins: wait as long as `Retry-After` says")]
    Throttled { wait: Duration },
    #[error("this account is disabled: contact an administrator")]
    Disabled,
    #[error("the account was changed at the same time: try again")]
    ChangedMeanwhile,
    #[error("no user `{0}`")]
    NoSuchUser(String),
    #[error("the last administrator cannot be removed: make another one first")]
    LastAdministrator,
    #[error(transparent)]
    Admins(#[from] AdminsError),
    #[error("the token cannot be signed")]
    Unsigned(#[from] base::token::SigningFailed),
    #[error(transparent)]
    Hash(#[from] HashFailed),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub struct NewUser {
    pub username: Option<String>,
    pub email: String,
    pub name: String,
    pub password: String,
    pub goals: String,
    pub is_admin: bool,
}

/// What a new password does to an account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    Kept,
    /// It becomes that of an administrator who can sign in.
    OfAdministrator,
}

#[derive(Clone)]
pub struct Accounts {
    db: Db,
    clock: Clock,
    random: Random,
    passwords: Passwords,
    admins: Admins,
}

impl Accounts {
    /// Brings the service's tables up to date.
    pub async fn open(db: Db, admins: Admins, clock: Clock, random: Random) -> Result<Self, StoreError> {
        db.migrate(tables::SCOPE, tables::MIGRATIONS).await?;
        let passwords = Passwords::new(random.clone());
        Ok(Self { db, clock, random, passwords, admins })
    }

    /// Checks whether the fields of a new user are acceptable.
    pub fn check(new: &NewUser) -> Result<(), AccountError> {
        if new.name.trim().is_empty() || new.name.len() > LONGEST_NAME {
            return invalid("`name` is missing: 1 to 254 bytes");
        }
        check_email(&new.email)?;
        if new.username.as_ref().is_some_and(|name| !is_login_name(name)) {
            return invalid("`username` has spaces or control characters, or is longer than 254 bytes");
        }
        check_password("password", &new.password)
    }

    pub async fn create(&self, new: NewUser, goals_summary: String) -> Result<User, AccountError> {
        self.create_by_link(new, goals_summary, None).await
    }

    /// Creates a user, and uses the link up that they were invited with.
    async fn create_by_link(
        &self,
        new: NewUser,
        goals_summary: String,
        link: Option<&AccountLink>,
    ) -> Result<User, AccountError> {
        Self::check(&new)?;
        let mut user = User {
            id: self.random.uuid_v4().to_string(),
            username: new.username.unwrap_or_else(|| new.email.clone()),
            email: new.email,
            name: new.name.trim().to_owned(),
            is_admin: new.is_admin,
            disabled: false,
            goals: new.goals,
            goals_summary,
            created_at: self.clock.now_ms(),
            last_login: 0,
            record_generation: String::new(),
        };
        let names = user.login_names();
        if let Some(name) = self.record_names().await.iter().find(|name| names.contains(&name.to_lowercase()))
        {
            return taken(name);
        }
        let verifiers = self.verifiers(&user, &new.password).await?;
        let record = self.new_record(&user, &new.password).await?;
        user.record_generation = NewRecord::generation(record.as_ref());
        let mut tx = self.db.begin().await?;
        NewRecord::plan(record.as_ref(), &mut tx).await?;
        self.use_up(&mut tx, link).await?;
        tables::users::insert(&mut tx, &user).await?;
        for (name, verifier) in verifiers {
            if !tables::users::insert_login_name(&mut tx, &name, &user.id, &verifier).await? {
                return taken(&name);
            }
        }
        tx.commit().await?;
        self.finish(&user).await;
        Ok(user)
    }

    /// Changes a password and ends every session of the user. An administrator's password is the one of the gateway's record.
    pub async fn change_password(
        &self,
        user: &User,
        current: &str,
        new: &str,
        client: IpAddr,
    ) -> Result<(), AccountError> {
        let attempt = self.count_attempt("knowledge-password", Some(&user.id), client).await?;
        let name = user.username.to_lowercase();
        let found = tables::users::find_by_login_name(&self.db, &name).await?;
        let verifier = found.map(|(_, verifier)| verifier).unwrap_or_default();
        let record = if user.is_admin { self.admins.find(&user.username).await? } else { None };
        let accepted = match record {
            Some(record) => record.accepts(current),
            None => self.passwords.verify(&login_digest(&user.username, current), Some(&verifier)).await?,
        };
        if !accepted {
            return Err(AccountError::WrongPassword);
        }
        attempt.forgive(&self.db).await?;
        check_password("newPassword", new)?;
        self.set_password(user, new, Some(&verifier), Rights::Kept, None).await
    }

    pub async fn get(&self, id: &str) -> Result<Option<User>, StoreError> {
        tables::users::get(&self.db, id).await
    }

    /// Returns at most `limit` users and at most a page of bytes, the oldest first, after the user `after`; and whether
    /// more follow. A user's goals may be long.
    pub async fn page(&self, after: Option<&str>, limit: usize) -> Result<(Vec<User>, bool), StoreError> {
        let sizes = tables::users::sizes(&self.db, after, limit + 1).await?;
        let fitting = page::fitting(sizes.iter().copied(), limit, PAGE_BYTES);
        Ok((tables::users::page(&self.db, after, fitting).await?, sizes.len() > fitting))
    }

    /// Removes a user with everything that they have. Tokens of an administrator are refused from then on.
    pub async fn remove(&self, id: &str) -> Result<(), AccountError> {
        let is_admin = self.get(id).await?.is_some_and(|user| user.is_admin);
        let records = if is_admin { self.record_names().await } else { Vec::new() };
        let mut tx = self.db.begin().await?;
        admins::lock(&mut tx).await?;
        let user = tables::users::lock(&mut tx, id).await?;
        let user = user.ok_or_else(|| AccountError::NoSuchUser(id.to_owned()))?;
        if user.is_admin {
            let names = user.login_names();
            refuse_the_last(&mut tx, &names, &records).await?;
            for name in &names {
                admins::remove(&mut tx, name).await?;
            }
        }
        removal::remove_user(&mut tx, id).await?;
        tx.commit().await?;
        self.finish(&user).await;
        Ok(())
    }

    async fn count_attempt(
        &self,
        door: &str,
        name: Option<&str>,
        client: IpAddr,
    ) -> Result<Attempt, AccountError> {
        match throttle::count(&self.db, door, name, client).await? {
            Counted::Allowed(attempt) => Ok(attempt),
            Counted::RefusedUntil(until) => {
                let wait = until.saturating_sub(self.clock.now_ms()).max(0).unsigned_abs();
                Err(AccountError::Throttled { wait: Duration::from_millis(wait) })
            }
        }
    }

    /// Sets a password. `expected` is the verifier that was checked, so that of two changes at once only one succeeds.
    /// `link` is used up, and others for the user are worth nothing.
    async fn set_password(
        &self,
        user: &User,
        password: &str,
        expected: Option<&str>,
        rights: Rights,
        link: Option<&AccountLink>,
    ) -> Result<(), AccountError> {
        let verifiers = self.verifiers(user, password).await?;
        let record = self.new_record(user, password).await?;
        let mut tx = self.db.begin().await?;
        NewRecord::plan(record.as_ref(), &mut tx).await?;
        let Some(locked) = tables::users::lock(&mut tx, &user.id).await? else {
            return Err(AccountError::NoSuchUser(user.username.clone()));
        };
        let is_as_read = (locked.is_admin, locked.disabled) == (user.is_admin, user.disabled);
        if rights == Rights::Kept && !is_as_read {
            return Err(AccountError::ChangedMeanwhile);
        }
        let current = tables::users::verifier_in(&mut tx, &user.username.to_lowercase()).await?;
        if expected.is_some() && current.as_deref() != expected {
            return Err(AccountError::WrongPassword);
        }
        if rights == Rights::OfAdministrator {
            tables::users::set_admin(&mut tx, &user.id).await?;
        }
        for (name, verifier) in &verifiers {
            tables::users::set_verifier(&mut tx, name, verifier).await?;
        }
        let generation = NewRecord::generation(record.as_ref());
        tables::users::set_record_generation(&mut tx, &user.id, &generation).await?;
        self.use_up(&mut tx, link).await?;
        tables::account_links::delete_of_user(&mut tx, &user.id).await?;
        tables::sessions::end_of_user(&mut tx, &user.id).await?;
        tx.commit().await?;
        self.finish(user).await;
        Ok(())
    }

    async fn use_up(&self, tx: &mut Tx, link: Option<&AccountLink>) -> Result<(), AccountError> {
        let Some(link) = link else { return Ok(()) };
        match tables::account_links::take(tx, &link.token_hash, self.clock.now_ms()).await? {
            true => Ok(()),
            false => Err(AccountError::NoSuchLink),
        }
    }

    /// Makes a verifier for each login name, in the spelling that the user has.
    async fn verifiers(&self, user: &User, password: &str) -> Result<Vec<(String, String)>, AccountError> {
        let mut verifiers = Vec::new();
        for name in user.login_names() {
            let written = if name == user.username.to_lowercase() { &user.username } else { &user.email };
            let verifier = self.passwords.verifier(written, password).await?;
            verifiers.push((name, verifier));
        }
        Ok(verifiers)
    }
}

fn is_login_name(name: &str) -> bool {
    let fits = |character: char| !character.is_whitespace() && !character.is_control();
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(fits)
}

fn check_email(email: &str) -> Result<(), AccountError> {
    match base::split_email(email).is_some() && is_login_name(email) {
        true => Ok(()),
        false => invalid("`email` is not an email address"),
    }
}

fn check_password(field: &str, password: &str) -> Result<(), AccountError> {
    match password.chars().count() {
        0..SHORTEST_PASSWORD => invalid(format!("`{field}` is too short: at least 8 characters")),
        _ if password.len() > LONGEST_PASSWORD => {
            invalid(format!("`{field}` is too long: at most 1024 bytes"))
        }
        _ => Ok(()),
    }
}

fn taken<T>(name: &str) -> Result<T, AccountError> {
    invalid(format!("`{name}` is taken: choose another username or email address"))
}

fn invalid<T>(message: impl Into<String>) -> Result<T, AccountError> {
    Err(AccountError::Invalid(message.into()))
}
