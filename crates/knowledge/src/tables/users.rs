//! Users and the names that they sign in with. Spaces have a row here as owners of documents; what else there is of them
//! is in `spaces`.

use crate::records::User;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashMap;
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "users.id, users.username, users.email, users.name, users.is_admin, users.goals, \
                       users.goals_summary, users.created_at, users.last_login, users.record_generation, \
                       users.disabled";

/// About how many bytes a user has in a response, without the goals.
const OTHER_BYTES: usize = 2_000;

pub async fn insert(tx: &mut Tx, user: &User) -> Result<(), StoreError> {
    let insert = "INSERT INTO users (id, username, email, name, is_admin, goals, goals_summary, created_at, last_login,
            record_generation)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let query = sqlx::query(insert).bind(&user.id).bind(&user.username).bind(&user.email).bind(&user.name);
    let query = query.bind(i64::from(user.is_admin)).bind(&user.goals).bind(&user.goals_summary);
    let query = query.bind(user.created_at).bind(user.last_login).bind(&user.record_generation);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Returns false if a user has the name already.
pub async fn insert_login_name(
    tx: &mut Tx,
    name: &str,
    user_id: &str,
    verifier: &str,
) -> Result<bool, StoreError> {
    let insert = "INSERT INTO login_names (name, user_id, verifier) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO NOTHING";
    let query = sqlx::query(insert).bind(name).bind(user_id).bind(verifier);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

pub async fn set_verifier(tx: &mut Tx, name: &str, verifier: &str) -> Result<(), StoreError> {
    let update = "UPDATE login_names SET verifier = $2 WHERE name = $1";
    sqlx::query(update).bind(name).bind(verifier).execute(tx.conn()).await?;
    Ok(())
}

/// Stores what an administrator may change of a user.
pub async fn update(tx: &mut Tx, user: &User) -> Result<(), StoreError> {
    let update = "UPDATE users SET email = $2, name = $3, is_admin = $4, disabled = $5, goals = $6,
            goals_summary = $7, record_generation = $8
        WHERE id = $1";
    let query = sqlx::query(update).bind(&user.id).bind(&user.email).bind(&user.name);
    let query = query.bind(i64::from(user.is_admin)).bind(i64::from(user.disabled)).bind(&user.goals);
    let query = query.bind(&user.goals_summary).bind(&user.record_generation);
    query.execute(tx.conn()).await?;
    Ok(())
}

pub async fn delete_login_name(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM login_names WHERE name = $1").bind(name).execute(tx.conn()).await?;
    Ok(())
}

pub async fn verifier_in(tx: &mut Tx, name: &str) -> Result<Option<String>, StoreError> {
    let select = "SELECT verifier FROM login_names WHERE name = $1";
    let row = sqlx::query(select).bind(name).fetch_optional(tx.conn()).await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}

/// Finds the user with this login name, and the name's verifier.
pub async fn find_by_login_name(db: &Db, name: &str) -> Result<Option<(User, String)>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS}, login_names.verifier FROM login_names
         JOIN users ON users.id = login_names.user_id WHERE login_names.name = $1 AND users.removed = 0"
    ));
    let row = sqlx::query(select).bind(name).fetch_optional(db.read()).await?;
    row.map(|row| Ok((user_of(&row)?, row.try_get("verifier")?))).transpose()
}

pub async fn get(db: &Db, id: &str) -> Result<Option<User>, StoreError> {
    let select =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM users WHERE id = $1 AND removed = 0 AND is_space = 0"));
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(user_of).transpose()
}

/// Returns users, the oldest first, that were created after the user `after`.
pub async fn page(db: &Db, after: Option<&str>, limit: usize) -> Result<Vec<User>, StoreError> {
    select_page(db, COLUMNS, after, limit).await?.iter().map(user_of).collect()
}

/// Returns about how many bytes each user of [`page`] has in a response.
pub async fn sizes(db: &Db, after: Option<&str>, limit: usize) -> Result<Vec<usize>, StoreError> {
    let rows = select_page(db, "CAST(octet_length(goals) AS BIGINT)", after, limit).await?;
    rows.iter().map(|row| Ok(row.try_get::<i64, _>(0)? as usize + OTHER_BYTES)).collect()
}

async fn select_page(
    db: &Db,
    columns: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<AnyRow>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {columns} FROM users
         WHERE removed = 0 AND is_space = 0
           AND ($1 = '' OR (created_at, id) > (SELECT created_at, id FROM users WHERE id = $1))
         ORDER BY created_at, id LIMIT $2"
    ));
    let query = sqlx::query(select).bind(after.unwrap_or("")).bind(limit as i64);
    Ok(query.fetch_all(db.read()).await?)
}

pub async fn set_last_login(tx: &mut Tx, id: &str, at: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE users SET last_login = $2 WHERE id = $1")
        .bind(id)
        .bind(at)
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Makes a user an administrator who can sign in.
pub async fn set_admin(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    let update = "UPDATE users SET is_admin = 1, disabled = 0 WHERE id = $1";
    sqlx::query(update).bind(id).execute(tx.conn()).await?;
    Ok(())
}

pub async fn set_record_generation(tx: &mut Tx, id: &str, generation: &str) -> Result<(), StoreError> {
    let update = "UPDATE users SET record_generation = $2 WHERE id = $1";
    sqlx::query(update).bind(id).bind(generation).execute(tx.conn()).await?;
    Ok(())
}

/// The account of an administrator, and whether its password opens this service.
pub struct AdminAccount {
    pub username: String,
    pub has_password: bool,
    pub is_disabled: bool,
}

const SELECT_ADMINISTRATORS: &str = "SELECT username,
        (SELECT COUNT(*) FROM login_names WHERE user_id = users.id AND verifier <> ''),
        disabled
    FROM users WHERE is_admin = 1";

pub async fn administrators(db: &Db) -> Result<Vec<AdminAccount>, StoreError> {
    administrators_of(&sqlx::query(SELECT_ADMINISTRATORS).fetch_all(db.read()).await?)
}

pub async fn administrators_in(tx: &mut Tx) -> Result<Vec<AdminAccount>, StoreError> {
    administrators_of(&sqlx::query(SELECT_ADMINISTRATORS).fetch_all(tx.conn()).await?)
}

fn administrators_of(rows: &[AnyRow]) -> Result<Vec<AdminAccount>, StoreError> {
    let administrators = rows.iter().map(|row| {
        Ok(AdminAccount {
            username: row.try_get(0)?,
            has_password: row.try_get::<i64, _>(1)? > 0,
            is_disabled: row.try_get::<i64, _>(2)? != 0,
        })
    });
    administrators.collect()
}

/// Locks a user until the end of `tx`, and returns it.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<User>, StoreError> {
    let update = AssertSqlSafe(format!(
        "UPDATE users SET revision = revision WHERE id = $1 AND removed = 0 AND is_space = 0
             RETURNING {COLUMNS}"
    ));
    let row = sqlx::query(update).bind(id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(user_of).transpose()
}

/// Makes a user or a space invisible: personal data is erased; names, sessions and memberships are deleted. The documents
/// stay. Returns false if there is no such user or space.
pub async fn set_removed(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    let update =
        "UPDATE users SET removed = 1, username = '', email = '', name = '', is_admin = 0, goals = '',
            goals_summary = '', revision = revision + 1, removal = revision + 1
        WHERE id = $1 AND removed = 0";
    if sqlx::query(update).bind(id).execute(tx.conn()).await?.rows_affected() == 0 {
        return Ok(false);
    }
    super::sessions::end_of_user(tx, id).await?;
    for table in ["login_names", "space_members", "account_links"] {
        let delete = AssertSqlSafe(format!("DELETE FROM {table} WHERE user_id = $1"));
        sqlx::query(delete).bind(id).execute(tx.conn()).await?;
    }
    Ok(true)
}

/// Inserts an owner that is no user: a space, or what owns the files in a conversation of the user `files_of`.
pub async fn insert_owner(tx: &mut Tx, id: &str, files_of: &str, created_at: i64) -> Result<(), StoreError> {
    let insert = "INSERT INTO users (id, username, email, name, is_admin, goals, goals_summary, created_at, last_login,
            is_space, files_of)
        VALUES ($1, '', '', '', 0, '', '', $2, 0, 1, $3)";
    sqlx::query(insert).bind(id).bind(created_at).bind(files_of).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the user in whose conversation the files of an owner are; none if it is a user or a space.
pub async fn files_of<'c>(
    connection: impl sqlx::AnyExecutor<'c>,
    owner_id: &str,
) -> Result<Option<String>, StoreError> {
    let select = "SELECT files_of FROM users WHERE id = $1 AND files_of <> '' AND removed = 0";
    let row = sqlx::query(select).bind(owner_id).fetch_optional(connection).await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}

/// Returns the owners of the files in a user's conversations.
pub async fn owners_of_files(tx: &mut Tx, user_id: &str) -> Result<Vec<String>, StoreError> {
    let select = "SELECT id FROM users WHERE files_of <> '' AND files_of = $1 AND removed = 0";
    let rows = sqlx::query(select).bind(user_id).fetch_all(tx.conn()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Inserts a removed user, to own a document that is being deleted.
pub async fn insert_removed(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    let insert = "INSERT INTO users (id, username, email, name, is_admin, goals, goals_summary, created_at, last_login,
            removed)
        VALUES ($1, '', '', '', 0, '', '', 0, 0, 1)";
    sqlx::query(insert).bind(id).execute(tx.conn()).await?;
    Ok(())
}

/// Deletes the row of a removed user.
pub async fn delete_removed(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM users WHERE id = $1 AND removed <> 0").bind(id).execute(tx.conn()).await?;
    Ok(())
}

/// Raises the revision of a user, and locks the user until the end of `tx` so that revisions become visible in their
/// order. Returns none if the user was removed.
pub async fn next_revision(tx: &mut Tx, id: &str) -> Result<Option<i64>, StoreError> {
    raise_revision(tx, id, 1).await
}

/// Does the same for so many changes, and returns the revision of the last.
pub async fn raise_revision(tx: &mut Tx, id: &str, by: i64) -> Result<Option<i64>, StoreError> {
    let update = "UPDATE users SET revision = revision + $2 WHERE id = $1 AND removed = 0 RETURNING revision";
    let row = sqlx::query(update).bind(id).bind(by).fetch_optional(tx.conn()).await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}

/// Does the same for a change that removes a document.
pub async fn next_removal(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    let update = "UPDATE users SET revision = revision + 1, removal = revision + 1 WHERE id = $1";
    sqlx::query(update).bind(id).execute(tx.conn()).await?;
    Ok(())
}

/// What an owner may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    pub is_space: bool,
    /// In bytes; none if the settings decide.
    pub quota: Option<i64>,
}

/// Returns what these owners may have.
pub async fn allowances<'c>(
    connection: impl sqlx::AnyExecutor<'c>,
    owners: &[&str],
) -> Result<HashMap<String, Allowance>, StoreError> {
    if owners.is_empty() {
        return Ok(HashMap::new());
    }
    let places: Vec<String> = (1..=owners.len()).map(|number| format!("${number}")).collect();
    let select =
        AssertSqlSafe(format!("SELECT id, is_space, quota FROM users WHERE id IN ({})", places.join(", ")));
    let query = owners.iter().fold(sqlx::query(select), |query, id| query.bind(*id));
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(allowance_of).collect()
}

fn allowance_of(row: &AnyRow) -> Result<(String, Allowance), StoreError> {
    let allowance = Allowance { is_space: row.try_get::<i64, _>(1)? != 0, quota: row.try_get(2)? };
    Ok((row.try_get(0)?, allowance))
}

/// Sets the quota of a user or a space, in bytes; none if the settings decide.
pub async fn set_quota(tx: &mut Tx, id: &str, quota: Option<i64>) -> Result<(), StoreError> {
    sqlx::query("UPDATE users SET quota = $2 WHERE id = $1").bind(id).bind(quota).execute(tx.conn()).await?;
    Ok(())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revisions {
    pub last: i64,
    pub removal: i64,
}

/// Returns zeros if the user was removed.
pub async fn revisions(db: &Db, id: &str) -> Result<Revisions, StoreError> {
    let select = "SELECT revision, removal FROM users WHERE id = $1 AND removed = 0";
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    let revisions = row.map(|row| Ok(Revisions { last: row.try_get(0)?, removal: row.try_get(1)? }));
    revisions.unwrap_or(Ok(Revisions::default()))
}

pub(super) fn user_of(row: &AnyRow) -> Result<User, StoreError> {
    Ok(User {
        id: row.try_get("id")?,
        username: row.try_get("username")?,
        email: row.try_get("email")?,
        name: row.try_get("name")?,
        is_admin: row.try_get::<i64, _>("is_admin")? != 0,
        goals: row.try_get("goals")?,
        goals_summary: row.try_get("goals_summary")?,
        created_at: row.try_get("created_at")?,
        last_login: row.try_get("last_login")?,
        record_generation: row.try_get("record_generation")?,
        disabled: row.try_get::<i64, _>("disabled")? != 0,
    })
}

pub(super) fn columns() -> &'static str {
    COLUMNS
}
