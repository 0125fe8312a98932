//! Links that administrators hand out, by the hash of their token.

use crate::records::AccountLink;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "token_hash, user_id, name, email, created_by, created_at, expires_at";
/// A link lasts no longer than the rights of the administrator who has made it.
const IS_VALID: &str =
    "expires_at > $1 AND EXISTS (SELECT 1 FROM users WHERE users.id = account_links.created_by
    AND users.is_admin = 1 AND users.disabled = 0 AND users.removed = 0)";

pub async fn insert(tx: &mut Tx, link: &AccountLink) -> Result<(), StoreError> {
    let insert =
        "INSERT INTO account_links (token_hash, user_id, name, email, created_by, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let query = sqlx::query(insert).bind(&link.token_hash).bind(link.user_id.as_deref()).bind(&link.name);
    let query = query.bind(&link.email).bind(&link.created_by).bind(link.created_at).bind(link.expires_at);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Returns the links that can still be used, the newest first.
pub async fn all(db: &Db, now: i64) -> Result<Vec<AccountLink>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM account_links WHERE {IS_VALID} ORDER BY created_at DESC, token_hash"
    ));
    let rows = sqlx::query(select).bind(now).fetch_all(db.read()).await?;
    rows.iter().map(link_of).collect()
}

/// Finds a link that can still be used.
pub async fn find(db: &Db, token_hash: &str, now: i64) -> Result<Option<AccountLink>, StoreError> {
    let select =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM account_links WHERE {IS_VALID} AND token_hash = $2"));
    let row = sqlx::query(select).bind(now).bind(token_hash).fetch_optional(db.read()).await?;
    row.as_ref().map(link_of).transpose()
}

/// Uses a link up. Returns false if it cannot be used any more.
pub async fn take(tx: &mut Tx, token_hash: &str, now: i64) -> Result<bool, StoreError> {
    let delete = AssertSqlSafe(format!("DELETE FROM account_links WHERE {IS_VALID} AND token_hash = $2"));
    let query = sqlx::query(delete).bind(now).bind(token_hash);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Removes the link with this [`AccountLink::id`]. Returns false if there is none.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    let delete = "DELETE FROM account_links WHERE substr(token_hash, 1, 32) = $1";
    Ok(sqlx::query(delete).bind(id).execute(tx.conn()).await?.rows_affected() > 0)
}

pub async fn delete_of_user(tx: &mut Tx, user_id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM account_links WHERE user_id = $1").bind(user_id).execute(tx.conn()).await?;
    Ok(())
}

pub async fn delete_expired(tx: &mut Tx, now: i64) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM account_links WHERE expires_at <= $1").bind(now).execute(tx.conn()).await?;
    Ok(())
}

fn link_of(row: &AnyRow) -> Result<AccountLink, StoreError> {
    Ok(AccountLink {
        token_hash: row.try_get("token_hash")?,
        user_id: row.try_get("user_id")?,
        name: row.try_get("name")?,
        email: row.try_get("email")?,
        created_by: row.try_get("created_by")?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
    })
}
