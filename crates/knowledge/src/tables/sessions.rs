//! Sessions, by the hash of their token. Whatever ends a session also ends its grant, and with it its gateway tokens.

use super::users;
use crate::records::{Session, User};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx, grants};

const COLUMNS: &str = "sessions.token_hash, sessions.grant_id, sessions.created_at AS session_created_at,
    sessions.last_used_at, sessions.expires_at, sessions.address, sessions.browser";

pub async fn insert(tx: &mut Tx, user_id: &str, session: &Session) -> Result<(), StoreError> {
    let insert =
        "INSERT INTO sessions (token_hash, user_id, created_at, last_used_at, expires_at, address, browser)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let query = sqlx::query(insert).bind(&session.token_hash).bind(user_id).bind(session.created_at);
    let query = query.bind(session.last_used_at).bind(session.expires_at);
    query.bind(&session.address).bind(&session.browser).execute(tx.conn()).await?;
    Ok(())
}

/// Finds a session that has not expired, and its user.
pub async fn find(db: &Db, token_hash: &str, now: i64) -> Result<Option<(User, Session)>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {}, {COLUMNS} FROM sessions JOIN users ON users.id = sessions.user_id
         WHERE sessions.token_hash = $1 AND sessions.expires_at > $2 AND users.removed = 0
           AND users.disabled = 0",
        users::columns()
    ));
    let row = sqlx::query(select).bind(token_hash).bind(now).fetch_optional(db.read()).await?;
    row.map(|row| Ok((users::user_of(&row)?, session_of(&row)?))).transpose()
}

/// Returns the sessions of a user that have not expired, the newest first.
pub async fn of_user(db: &Db, user_id: &str, now: i64) -> Result<Vec<Session>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM sessions WHERE user_id = $1 AND expires_at > $2
         ORDER BY created_at DESC, token_hash"
    ));
    let rows = sqlx::query(select).bind(user_id).bind(now).fetch_all(db.read()).await?;
    rows.iter().map(session_of).collect()
}

/// Notes the use of a session.
pub async fn touch(tx: &mut Tx, token_hash: &str, now: i64) -> Result<(), StoreError> {
    let update = "UPDATE sessions SET last_used_at = $2 WHERE token_hash = $1 AND last_used_at < $2";
    sqlx::query(update).bind(token_hash).bind(now).execute(tx.conn()).await?;
    Ok(())
}

/// Adds a grant to a session that has none. Returns false if it has one, or has ended.
pub async fn add_grant(tx: &mut Tx, token_hash: &str, grant: &str) -> Result<bool, StoreError> {
    let update =
        "UPDATE sessions SET grant_id = $2 WHERE token_hash = $1 AND grant_id = '' RETURNING expires_at";
    let row = sqlx::query(update).bind(token_hash).bind(grant).fetch_optional(tx.conn()).await?;
    let Some(row) = row else { return Ok(false) };
    grants::add(tx, grant, row.try_get(0)?).await?;
    Ok(true)
}

/// Ends the gateway tokens of a user, and not the sessions. The user is locked.
pub async fn end_grants(tx: &mut Tx, user_id: &str) -> Result<(), StoreError> {
    let select = "SELECT grant_id FROM sessions WHERE user_id = $1";
    let rows = sqlx::query(select).bind(user_id).fetch_all(tx.conn()).await?;
    end_all(tx, &rows).await?;
    let update = "UPDATE sessions SET grant_id = '' WHERE user_id = $1";
    sqlx::query(update).bind(user_id).execute(tx.conn()).await?;
    Ok(())
}

pub async fn end(tx: &mut Tx, token_hash: &str) -> Result<(), StoreError> {
    end_where(tx, "token_hash = $1", token_hash, "").await.map(drop)
}

/// Ends the session of a user with this [`Session::id`]. Returns false if there is none.
pub async fn end_one(tx: &mut Tx, user_id: &str, id: &str) -> Result<bool, StoreError> {
    let condition = "user_id = $1 AND substr(token_hash, 1, 32) = $2";
    Ok(end_where(tx, condition, user_id, id).await? > 0)
}

pub async fn end_of_user(tx: &mut Tx, user_id: &str) -> Result<usize, StoreError> {
    end_where(tx, "user_id = $1", user_id, "").await
}

/// Ends the sessions of a user but one.
pub async fn end_others(tx: &mut Tx, user_id: &str, kept_hash: &str) -> Result<usize, StoreError> {
    end_where(tx, "user_id = $1 AND token_hash <> $2", user_id, kept_hash).await
}

pub async fn delete_expired(tx: &mut Tx, now: i64) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sessions WHERE expires_at <= $1").bind(now).execute(tx.conn()).await?;
    Ok(())
}

/// Ends sessions with their grants, and returns how many.
async fn end_where(
    tx: &mut Tx,
    condition: &'static str,
    first: &str,
    second: &str,
) -> Result<usize, StoreError> {
    let delete = AssertSqlSafe(format!("DELETE FROM sessions WHERE {condition} RETURNING grant_id"));
    let query = sqlx::query(delete).bind(first);
    let query = if condition.contains("$2") { query.bind(second) } else { query };
    let rows = query.fetch_all(tx.conn()).await?;
    end_all(tx, &rows).await?;
    Ok(rows.len())
}

async fn end_all(tx: &mut Tx, rows: &[AnyRow]) -> Result<(), StoreError> {
    for row in rows {
        let grant: String = row.try_get(0)?;
        if !grant.is_empty() {
            grants::end(tx, &grant).await?;
        }
    }
    Ok(())
}

fn session_of(row: &AnyRow) -> Result<Session, StoreError> {
    Ok(Session {
        token_hash: row.try_get("token_hash")?,
        grant: row.try_get("grant_id")?,
        created_at: row.try_get("session_created_at")?,
        last_used_at: row.try_get("last_used_at")?,
        expires_at: row.try_get("expires_at")?,
        address: row.try_get("address")?,
        browser: row.try_get("browser")?,
    })
}
