//! Statements of the deep check: leads that will not be sent.

use sqlx::Row;
use store::{Db, StoreError};

/// Faults that are read; more would not be shown.
const MOST_FAULTS: i64 = 100;

pub async fn count_queued(db: &Db) -> Result<u64, StoreError> {
    let select = sqlx::query("SELECT COUNT(*) FROM leads WHERE status = 'queued'");
    Ok(select.fetch_one(db.bulk()).await?.try_get::<i64, _>(0)?.unsigned_abs())
}

/// Returns the leads that wait, and no job will send them.
pub async fn without_job(db: &Db) -> Result<Vec<String>, StoreError> {
    let select = "SELECT l.id FROM leads l
        LEFT JOIN lead_queues q ON q.sequence_key = l.sequence_key
        LEFT JOIN jobs j ON j.id = q.job_id AND j.state IN ('queued', 'running')
        WHERE l.status = 'queued' AND j.id IS NULL ORDER BY l.id LIMIT $1";
    let rows = sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
