//! Sessions, by the hash of their token.

use super::users;
use crate::records::User;
use sqlx::AssertSqlSafe;
use store::{Db, StoreError, Tx};

pub async fn insert(tx: &mut Tx, token_hash: &str, user_id: &str, expires_at: i64) -> Result<(), StoreError> {
    let insert = "INSERT INTO sessions (token_hash, user_id, expires_at) VALUES ($1, $2, $3)";
    sqlx::query(insert).bind(token_hash).bind(user_id).bind(expires_at).execute(tx.conn()).await?;
    Ok(())
}

/// Finds the user of a session that has not expired.
pub async fn user(db: &Db, token_hash: &str, now: i64) -> Result<Option<User>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {} FROM sessions JOIN users ON users.id = sessions.user_id
         WHERE sessions.token_hash = $1 AND sessions.expires_at > $2 AND users.removed = 0
           AND users.disabled = 0",
        users::columns()
    ));
    let row = sqlx::query(select).bind(token_hash).bind(now).fetch_optional(db.read()).await?;
    row.as_ref().map(users::user_of).transpose()
}

pub async fn delete(tx: &mut Tx, token_hash: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sessions WHERE token_hash = $1").bind(token_hash).execute(tx.conn()).await?;
    Ok(())
}

pub async fn delete_of_user(tx: &mut Tx, user_id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sessions WHERE user_id = $1").bind(user_id).execute(tx.conn()).await?;
    Ok(())
}

pub async fn delete_expired(tx: &mut Tx, now: i64) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sessions WHERE expires_at <= $1").bind(now).execute(tx.conn()).await?;
    Ok(())
}
