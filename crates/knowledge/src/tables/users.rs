//! Users and the names that they sign in with.

use crate::accounts::User;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "users.id, users.username, users.email, users.name, users.is_admin, users.goals, \
                       users.goals_summary, users.created_at, users.last_login, users.record_generation";

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

/// False where somebody has the name already.
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

pub async fn verifier_in(tx: &mut Tx, name: &str) -> Result<Option<String>, StoreError> {
    let select = "SELECT verifier FROM login_names WHERE name = $1";
    let row = sqlx::query(select).bind(name).fetch_optional(tx.conn()).await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}

/// The user with this login name, and the name's verifier.
pub async fn find_by_login_name(db: &Db, name: &str) -> Result<Option<(User, String)>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS}, login_names.verifier FROM login_names
         JOIN users ON users.id = login_names.user_id WHERE login_names.name = $1"
    ));
    let row = sqlx::query(select).bind(name).fetch_optional(db.read()).await?;
    row.map(|row| Ok((user_of(&row)?, row.try_get("verifier")?))).transpose()
}

pub async fn get(db: &Db, id: &str) -> Result<Option<User>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM users WHERE id = $1"));
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(user_of).transpose()
}

pub async fn list(db: &Db) -> Result<Vec<User>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM users ORDER BY created_at, id"));
    sqlx::query(select).fetch_all(db.read()).await?.iter().map(user_of).collect()
}

pub async fn set_last_login(tx: &mut Tx, id: &str, at: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE users SET last_login = $2 WHERE id = $1")
        .bind(id)
        .bind(at)
        .execute(tx.conn())
        .await?;
    Ok(())
}

pub async fn set_admin(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("UPDATE users SET is_admin = 1 WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

pub async fn set_record_generation(tx: &mut Tx, id: &str, generation: &str) -> Result<(), StoreError> {
    let update = "UPDATE users SET record_generation = $2 WHERE id = $1";
    sqlx::query(update).bind(id).bind(generation).execute(tx.conn()).await?;
    Ok(())
}

/// An administrator, and whether they can sign in here.
pub struct Administrator {
    pub username: String,
    pub has_password: bool,
}

pub async fn administrators_in(tx: &mut Tx) -> Result<Vec<Administrator>, StoreError> {
    let select = "SELECT username,
            (SELECT COUNT(*) FROM login_names WHERE user_id = users.id AND verifier <> '')
        FROM users WHERE is_admin = 1";
    let rows = sqlx::query(select).fetch_all(tx.conn()).await?;
    let administrators = rows.iter().map(|row| {
        Ok(Administrator { username: row.try_get(0)?, has_password: row.try_get::<i64, _>(1)? > 0 })
    });
    administrators.collect()
}

/// Locked to the end of `tx`, as it is then.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<User>, StoreError> {
    let update =
        AssertSqlSafe(format!("UPDATE users SET revision = revision WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(update).bind(id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(user_of).transpose()
}

/// With all that hangs on the user: names, sessions, documents, chunks.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    let delete = sqlx::query("DELETE FROM users WHERE id = $1").bind(id);
    Ok(delete.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Locked to the end of `tx`, so that revisions become visible in their order. None where the user is gone.
pub async fn next_revision(tx: &mut Tx, id: &str) -> Result<Option<i64>, StoreError> {
    let update = "UPDATE users SET revision = revision + 1 WHERE id = $1 RETURNING revision";
    let row = sqlx::query(update).bind(id).fetch_optional(tx.conn()).await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}

/// As [`next_revision`], for a change by which a document goes.
pub async fn next_removal(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    let update = "UPDATE users SET revision = revision + 1, removal = revision + 1 WHERE id = $1";
    sqlx::query(update).bind(id).execute(tx.conn()).await?;
    Ok(())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revisions {
    pub last: i64,
    pub removal: i64,
}

pub async fn revisions(db: &Db, id: &str) -> Result<Revisions, StoreError> {
    let select = "SELECT revision, removal FROM users WHERE id = $1";
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
    })
}

pub(super) fn columns() -> &'static str {
    COLUMNS
}
