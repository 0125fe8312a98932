//! What is changed of an account: by administrators, and by the user.

use super::administrators::refuse_the_last;
use super::{AccountError, Accounts, LONGEST_NAME, Rights, check_email, check_password, invalid, taken};
use crate::records::User;
use crate::tables;
use store::admins;
use store::{StoreError, Tx};

/// Fields to change; what is none stays as it is.
#[derive(Default)]
pub struct UserChanges {
    pub disabled: Option<bool>,
    pub is_admin: Option<bool>,
    pub name: Option<String>,
    pub email: Option<String>,
    pub goals: Option<Goals>,
}

pub struct Goals {
    pub text: String,
    pub summary: String,
}

impl UserChanges {
    pub fn check(&self) -> Result<(), AccountError> {
        self.name.as_deref().map_or(Ok(()), check_name)?;
        self.email.as_deref().map_or(Ok(()), check_email)
    }

    /// Returns whether this takes something from the user that they need to work here.
    pub fn takes_rights(&self) -> bool {
        self.disabled == Some(true) || self.is_admin == Some(false)
    }

    fn apply(self, user: User) -> User {
        let (goals, goals_summary) = match self.goals {
            Some(goals) => (goals.text, goals.summary),
            None => (user.goals, user.goals_summary),
        };
        User {
            disabled: self.disabled.unwrap_or(user.disabled),
            is_admin: self.is_admin.unwrap_or(user.is_admin),
            name: self.name.map_or(user.name, |name| name.trim().to_owned()),
            email: self.email.unwrap_or(user.email),
            goals,
            goals_summary,
            ..user
        }
    }
}

impl Accounts {
    /// Changes a user. Sessions of one who is disabled end, and gateway tokens of one who has other rights. The gateway's record of one who is no longer an active
    /// administrator is removed; the next new password makes another one.
    pub async fn update(&self, id: &str, changes: UserChanges) -> Result<User, AccountError> {
        changes.check()?;
        let records = self.record_names().await;
        let mut tx = self.db.begin().await?;
        admins::lock(&mut tx).await?;
        let user = tables::users::lock(&mut tx, id).await?;
        let user = user.ok_or_else(|| AccountError::NoSuchUser(id.to_owned()))?;
        let mut changed = changes.apply(user.clone());
        if user.is_active_admin() && !changed.is_active_admin() {
            let names = user.login_names();
            refuse_the_last(&mut tx, &names, &records).await?;
            for name in &names {
                admins::remove(&mut tx, name).await?;
            }
            changed.record_generation = String::new();
        }
        change_email(&mut tx, &user, &changed, &records).await?;
        if changed.disabled {
            tables::sessions::end_of_user(&mut tx, id).await?;
        } else if changed.is_admin != user.is_admin {
            tables::sessions::end_grants(&mut tx, id).await?;
        }
        tables::users::update(&mut tx, &changed).await?;
        tx.commit().await?;
        self.finish(&user).await;
        Ok(changed)
    }

    /// Sets the name of a user.
    pub async fn rename(&self, id: &str, name: &str) -> Result<User, AccountError> {
        check_name(name)?;
        let mut tx = self.db.begin().await?;
        let user = tables::users::lock(&mut tx, id).await?;
        let user = user.ok_or_else(|| AccountError::NoSuchUser(id.to_owned()))?;
        let renamed = User { name: name.trim().to_owned(), ..user };
        tables::users::update(&mut tx, &renamed).await?;
        tx.commit().await?;
        Ok(renamed)
    }

    /// Sets a password without knowing the current one, and ends every session of the user.
    pub async fn reset_password(&self, id: &str, password: &str) -> Result<(), AccountError> {
        check_password("password", password)?;
        let user = self.get(id).await?.ok_or_else(|| AccountError::NoSuchUser(id.to_owned()))?;
        self.set_password(&user, password, None, Rights::Kept, None).await
    }
}

impl User {
    fn is_active_admin(&self) -> bool {
        self.is_admin && !self.disabled
    }
}

/// Replaces the login name of the old email address. The new one has no verifier, because that is made from the address
/// and the password: it opens the account after the next change of the password.
async fn change_email(
    tx: &mut Tx,
    user: &User,
    changed: &User,
    records: &[String],
) -> Result<(), AccountError> {
    let username = user.username.to_lowercase();
    let (old, new) = (user.email.to_lowercase(), changed.email.to_lowercase());
    if old == new {
        return Ok(());
    }
    if old != username {
        delete_login_name(tx, &old).await?;
    }
    if new == username {
        return Ok(());
    }
    let is_record = records.iter().any(|record| record.to_lowercase() == new);
    if is_record || !tables::users::insert_login_name(tx, &new, &user.id, "").await? {
        return taken(&changed.email);
    }
    Ok(())
}

async fn delete_login_name(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    match name {
        "" => Ok(()),
        name => tables::users::delete_login_name(tx, name).await,
    }
}

fn check_name(name: &str) -> Result<(), AccountError> {
    match name.trim().is_empty() || name.len() > LONGEST_NAME {
        true => invalid("`name` is empty or too long: 1 to 254 bytes"),
        false => Ok(()),
    }
}
