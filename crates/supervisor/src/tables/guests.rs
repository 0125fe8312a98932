//! Counts of the projects and runs of guests, in a transaction that has locked the counts.

use sqlx::Row;
use store::{StoreError, Tx};

/// Locks the counts until the end of `tx`, so that they stay true until then.
pub async fn lock(tx: &mut Tx) -> Result<(), StoreError> {
    sqlx::query("UPDATE guest_lock SET id = id WHERE id = 1").execute(tx.conn()).await?;
    Ok(())
}

/// Counts the projects that guests created.
pub async fn projects(tx: &mut Tx) -> Result<i64, StoreError> {
    let query = sqlx::query("SELECT COUNT(*) FROM projects WHERE by_guest = 1");
    Ok(query.fetch_one(tx.conn()).await?.try_get(0)?)
}

/// Counts the running runs of guests: those of one address, and all.
pub async fn runs(tx: &mut Tx, address: &str) -> Result<(i64, i64), StoreError> {
    let select = "SELECT COUNT(CASE WHEN guest_address = $1 THEN 1 END), COUNT(*) FROM runs
        WHERE status = 'running' AND guest_address IS NOT NULL";
    let row = sqlx::query(select).bind(address).fetch_one(tx.conn()).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}
