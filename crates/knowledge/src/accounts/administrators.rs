//! Administrators: accounts with a record at the gateway, whose password counts here too.

use super::{AccountError, Accounts, Rights};
use crate::records::User;
use crate::tables;
use std::collections::BTreeMap;
use store::admins::{self, AdminRecord, is_username};
use store::{StoreError, Tx};

/// An administrator, for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Administrator {
    pub username: String,
    /// As the gateway's record has it; none without a record.
    pub role: Option<String>,
    /// Whether there is an account at the knowledge service.
    pub has_account: bool,
}

/// The record that an account gets with a new password.
pub(super) struct NewRecord {
    record: AdminRecord,
    is_first: bool,
    /// Other names of the account under which a tool has made records, which the old password would open.
    others: Vec<String>,
}

impl NewRecord {
    pub async fn plan(new: Option<&Self>, tx: &mut Tx) -> Result<(), StoreError> {
        let Some(new) = new else { return Ok(()) };
        admins::lock(tx).await?;
        admins::put(tx, &new.record, new.is_first).await?;
        for name in &new.others {
            admins::remove(tx, name).await?;
        }
        Ok(())
    }

    pub fn generation(new: Option<&Self>) -> String {
        new.map(|new| new.record.generation()).unwrap_or_default()
    }
}

impl Accounts {
    /// Returns the administrator of this name, whom the gateway has identified. The account is made at the first call if no
    /// user has the name, unless it is that of a removed administrator. It has no password: only the gateway signs it in.
    pub async fn identified(&self, username: &str) -> Result<User, AccountError> {
        match self.account(username).await? {
            Some(user) if user.is_admin && !user.disabled => Ok(user),
            Some(user) => Err(AccountError::NoSuchUser(user.username)),
            None => self.make_identified(username).await,
        }
    }

    /// Returns the user with this id, whom the gateway has identified as a user and not as an administrator.
    pub async fn identified_user(&self, id: &str) -> Result<User, AccountError> {
        let user = self.get(id).await?.filter(|user| !user.is_admin && !user.disabled);
        user.ok_or_else(|| AccountError::NoSuchUser(id.to_owned()))
    }

    /// Returns whether the administrator has an account with the password of the record.
    pub async fn has_administrator(&self, username: &str) -> Result<bool, AccountError> {
        let found = tables::users::find_by_login_name(&self.db, &username.to_lowercase()).await?;
        let Some((user, verifier)) = found else { return Ok(false) };
        Ok(user.is_admin && !verifier.is_empty() && self.is_current(&user).await?)
    }

    /// Creates an administrator, or sets the password of an existing one. Returns the name of the account.
    pub async fn put_administrator(&self, username: &str, password: &str) -> Result<String, AccountError> {
        if let Some(user) = self.account(username).await? {
            if !is_username(&user.username) {
                return Err(AccountError::Invalid(format!(
                    "`{}` cannot sign in at the gateway: expected 1 to 64 of A-Z a-z 0-9 . _ @ -",
                    user.username
                )));
            }
            let administrator = User { is_admin: true, disabled: false, ..user.clone() };
            self.set_password(&administrator, password, None, Rights::OfAdministrator, None).await?;
            return Ok(user.username);
        }
        match self.create_administrator(username, password).await? {
            true => Ok(username.to_owned()),
            false => super::taken(username),
        }
    }

    /// Creates the administrator of a first start. Returns false if there is one already: several processes may start at
    /// once, and only one of them creates it.
    pub async fn create_first(&self, username: &str, password: &str) -> Result<bool, AccountError> {
        // In this order, an administrator who is created in between is seen by one of the two.
        let found = tables::users::find_by_login_name(&self.db, &username.to_lowercase()).await?;
        if !self.admins.names().await?.is_empty() {
            return Ok(false);
        }
        let Some((user, verifier)) = found else {
            return self.create_administrator(username, password).await;
        };
        let user = User { is_admin: true, disabled: false, ..user };
        match self.set_password(&user, password, Some(&verifier), Rights::OfAdministrator, None).await {
            Err(AccountError::WrongPassword) => Ok(false),
            set => set.map(|()| true),
        }
    }

    /// Returns false if a user has the name.
    async fn create_administrator(&self, username: &str, password: &str) -> Result<bool, AccountError> {
        let mut user = self.new_administrator(username);
        let verifier = self.passwords.verifier(username, password).await?;
        let record = self.new_record(&user, password).await?;
        user.record_generation = NewRecord::generation(record.as_ref());
        let mut tx = self.db.begin().await?;
        NewRecord::plan(record.as_ref(), &mut tx).await?;
        tables::users::insert(&mut tx, &user).await?;
        let name = username.to_lowercase();
        if !tables::users::insert_login_name(&mut tx, &name, &user.id, &verifier).await? {
            return Ok(false);
        }
        tx.commit().await?;
        self.finish(&user).await;
        Ok(true)
    }

    /// Sets the password of an existing administrator.
    pub async fn reset_administrator(&self, username: &str, password: &str) -> Result<String, AccountError> {
        let account = self.account(username).await?.filter(|user| user.is_admin);
        let record_name = self.record_name(username).await?;
        if account.is_none() && record_name.is_none() {
            return Err(AccountError::NoSuchUser(username.to_owned()));
        }
        self.put_administrator(&record_name.unwrap_or_else(|| username.to_owned()), password).await
    }

    /// Removes an administrator, with the account and all that it has.
    pub async fn remove_administrator(&self, username: &str) -> Result<(), AccountError> {
        if let Some(user) = self.account(username).await?.filter(|user| user.is_admin) {
            return self.remove(&user.id).await;
        }
        if self.record_name(username).await?.is_none() {
            return Err(AccountError::NoSuchUser(username.to_owned()));
        }
        let records = self.record_names().await;
        let mut tx = self.db.begin().await?;
        admins::lock(&mut tx).await?;
        refuse_the_last(&mut tx, &[username.to_lowercase()], &records).await?;
        admins::remove(&mut tx, username).await?;
        tx.commit().await?;
        Ok(self.admins.finish(username).await?)
    }

    pub async fn administrators(&self) -> Result<Vec<Administrator>, AccountError> {
        let mut all = BTreeMap::new();
        for username in self.admins.names().await? {
            if let Some(record) = self.admins.find(&username).await? {
                let role = Some(record.role);
                all.insert(username.to_lowercase(), Administrator { username, role, has_account: false });
            }
        }
        for user in tables::users::administrators(&self.db).await? {
            let key = user.username.to_lowercase();
            let known = all.entry(key).or_insert(Administrator {
                username: user.username,
                role: None,
                has_account: true,
            });
            known.has_account = true;
        }
        Ok(all.into_values().collect())
    }

    /// Returns whether the password that an administrator has signed in with is still the right one.
    pub(super) async fn is_current(&self, user: &User) -> Result<bool, AccountError> {
        if !user.is_admin {
            return Ok(true);
        }
        // The recent standing is seconds old, and may be from before the last change.
        Ok(user.is_of(&self.admins.recent_standing(&user.username).await?)
            || user.is_of(&self.admins.standing(&user.username).await?))
    }

    /// Returns none for users whom the gateway does not know, or is not to know.
    pub(super) async fn new_record(
        &self,
        user: &User,
        password: &str,
    ) -> Result<Option<NewRecord>, AccountError> {
        if !user.is_admin || user.disabled || !is_username(&user.username) {
            return Ok(None);
        }
        let mut record = AdminRecord::new(&user.username, password, &self.random);
        let present = self.admins.find(&user.username).await?;
        let is_first = present.is_none();
        if let Some(present) = present {
            record.role = present.role;
        }
        let mut others = Vec::new();
        if !user.email.eq_ignore_ascii_case(&user.username) && self.record_name(&user.email).await?.is_some()
        {
            others.push(user.email.clone());
        }
        Ok(Some(NewRecord { record, is_first, others }))
    }

    /// Brings a committed change to the gateway's record. If that fails, the next reader of the record does it.
    pub(super) async fn finish(&self, user: &User) {
        for name in user.login_names() {
            if let Err(error) = self.admins.finish(&name).await {
                tracing::warn!(name, %error, "an administrator's record is not written yet");
            }
        }
    }

    /// If the object store does not answer, only accounts count.
    pub(super) async fn record_names(&self) -> Vec<String> {
        let names = self.admins.names().await.inspect_err(|error| {
            tracing::warn!(%error, "the administrators' records cannot be listed");
        });
        names.unwrap_or_default()
    }

    async fn account(&self, username: &str) -> Result<Option<User>, StoreError> {
        let found = tables::users::find_by_login_name(&self.db, &username.to_lowercase()).await?;
        Ok(found.map(|(user, _)| user))
    }

    /// Finds the name of the record, which may differ in case.
    async fn record_name(&self, username: &str) -> Result<Option<String>, AccountError> {
        let names = self.admins.names().await?;
        Ok(names.into_iter().find(|name| name.eq_ignore_ascii_case(username)))
    }

    async fn make_identified(&self, username: &str) -> Result<User, AccountError> {
        let user = self.new_administrator(username);
        let name = username.to_lowercase();
        let mut tx = self.db.begin().await?;
        // The gateway may have signed the identity before the removal.
        admins::lock(&mut tx).await?;
        if admins::removed(&mut tx).await?.contains(&name) {
            return Err(AccountError::NoSuchUser(username.to_owned()));
        }
        tables::users::insert(&mut tx, &user).await?;
        if tables::users::insert_login_name(&mut tx, &name, &user.id, "").await? {
            tx.commit().await?;
            return Ok(user);
        }
        drop(tx);
        // Another request has made the account at the same time.
        let made = self.account(username).await?.filter(|user| user.is_admin);
        made.ok_or_else(|| AccountError::NoSuchUser(username.to_owned()))
    }

    fn new_administrator(&self, username: &str) -> User {
        User {
            id: self.random.uuid_v4().to_string(),
            username: username.to_owned(),
            email: String::new(),
            name: username.to_owned(),
            is_admin: true,
            disabled: false,
            goals: String::new(),
            goals_summary: String::new(),
            created_at: self.clock.now_ms(),
            last_login: 0,
            record_generation: String::new(),
        }
    }
}

/// Refuses to remove the administrator of these `names` if no other can sign in. `records` are those of the gateway, and
/// may be older than `tx`, which holds the lock on administrators.
pub(super) async fn refuse_the_last(
    tx: &mut Tx,
    names: &[String],
    records: &[String],
) -> Result<(), AccountError> {
    let removed = admins::removed(tx).await?;
    let is_other = |name: &str| !names.contains(&name.to_lowercase());
    let has_record = |name: &str| {
        !removed.contains(&name.to_lowercase())
            && records.iter().any(|record| record.eq_ignore_ascii_case(name))
    };
    let accounts = tables::users::administrators_in(tx).await?;
    let mut accounts = accounts.iter().filter(|account| is_other(&account.username) && !account.is_disabled);
    let is_left = accounts.any(|account| account.has_password || has_record(&account.username))
        || records.iter().any(|record| is_other(record) && has_record(record));
    if is_left { Ok(()) } else { Err(AccountError::LastAdministrator) }
}
