//! The table of keys with waiting leads. A transaction that adds a lead to a key or deletes a key locks the key's row
//! first, so that no lead is added to a key that is being deleted.

use sqlx::Row;
use store::{StoreError, Tx};

/// Locks a key's row to the end of `tx`; inserts it if there is none. Returns the job that sends the key's leads.
pub async fn lock(tx: &mut Tx, key: &str) -> Result<Option<i64>, StoreError> {
    let upsert = "INSERT INTO lead_queues (sequence_key, job_id) VALUES ($1, NULL)
        ON CONFLICT (sequence_key) DO UPDATE SET sequence_key = excluded.sequence_key RETURNING job_id";
    Ok(sqlx::query(upsert).bind(key).fetch_one(tx.conn()).await?.try_get(0)?)
}

/// Returns the key whose leads a job sends, and locks it; none if its leads were erased.
pub async fn lock_of_job(tx: &mut Tx, job: i64) -> Result<Option<String>, StoreError> {
    let update = "UPDATE lead_queues SET job_id = job_id WHERE job_id = $1 RETURNING sequence_key";
    let row = sqlx::query(update).bind(job).fetch_optional(tx.conn()).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

pub async fn set_job(tx: &mut Tx, key: &str, job: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE lead_queues SET job_id = $2 WHERE sequence_key = $1").bind(key);
    update.bind(job).execute(tx.conn()).await?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, key: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM lead_queues WHERE sequence_key = $1").bind(key).execute(tx.conn()).await?;
    Ok(())
}
