//! Grants: what the gateway tokens of a session rely on. A token names the grant of its session; once that is gone, every
//! service refuses the token ([`crate::admins::Admins::admits`]).
//!
//! The knowledge service adds a grant with the first token of a session, and ends it in the transaction that ends the
//! session or changes the rights of its user.

use crate::{Db, StoreError, Tx};
use sqlx::Row;

/// Adds a grant for a session that lasts until `expires_at`, in milliseconds since 1970.
pub async fn add(tx: &mut Tx, id: &str, expires_at: i64) -> Result<(), StoreError> {
    let insert = "INSERT INTO token_grants (id, expires_at) VALUES ($1, $2)";
    sqlx::query(insert).bind(id).bind(expires_at).execute(tx.conn()).await?;
    Ok(())
}

pub async fn end(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM token_grants WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

/// Removes the grants that have expired and returns how many.
pub async fn prune(db: &Db) -> Result<u64, StoreError> {
    let now = db.now_ms();
    let mut tx = db.begin().await?;
    let delete = sqlx::query("DELETE FROM token_grants WHERE expires_at <= $1").bind(now);
    let removed = delete.execute(tx.conn()).await?.rows_affected();
    tx.commit().await?;
    Ok(removed)
}

/// Returns when a grant expires; none if it has ended.
pub(crate) async fn expiry(db: &Db, id: &str) -> Result<Option<i64>, StoreError> {
    let select = "SELECT expires_at FROM token_grants WHERE id = $1";
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.map(|row| Ok(row.try_get(0)?)).transpose()
}
