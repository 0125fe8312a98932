//! Keys that have waiting leads. Whoever adds a lead to a key, or finds that it has none left, locks its row first: no lead
//! slips in between.

use sqlx::Row;
use store::{StoreError, Tx};

/// Locks the key's row to the end of `tx`, and makes it where there is none. Returned is the job that sends its leads.
pub async fn enter(tx: &mut Tx, key: &str) -> Result<Option<i64>, StoreError> {
    let upsert = "INSERT INTO lead_queues (sequence_key, job_id) VALUES ($1, NULL)
        ON CONFLICT (sequence_key) DO UPDATE SET sequence_key = excluded.sequence_key RETURNING job_id";
    Ok(sqlx::query(upsert).bind(key).fetch_one(tx.conn()).await?.try_get(0)?)
}

/// The key whose leads a job sends, locked as well; none where they were erased.
pub async fn enter_of_job(tx: &mut Tx, job: i64) -> Result<Option<String>, StoreError> {
    let update = "UPDATE lead_queues SET job_id = job_id WHERE job_id = $1 RETURNING sequence_key";
    let row = sqlx::query(update).bind(job).fetch_optional(tx.conn()).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

pub async fn set_job(tx: &mut Tx, key: &str, job: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE lead_queues SET job_id = $2 WHERE sequence_key = $1").bind(key);
    update.bind(job).execute(tx.conn()).await?;
    Ok(())
}

pub async fn leave(tx: &mut Tx, key: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM lead_queues WHERE sequence_key = $1").bind(key).execute(tx.conn()).await?;
    Ok(())
}
