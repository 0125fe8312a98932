//! Statements of the deep check: rows that contradict each other.

use crate::run_job;
use sqlx::Row;
use store::{Db, StoreError};

/// Faults that are read; more would not be shown.
const MOST_FAULTS: i64 = 100;

/// Counts the runs that are at work.
pub async fn count_running(db: &Db) -> Result<u64, StoreError> {
    count(db, "SELECT COUNT(*) FROM runs WHERE status = 'running'").await
}

/// Returns the runs that are `running`, and no job will work on them.
pub async fn runs_without_job(db: &Db) -> Result<Vec<String>, StoreError> {
    let select =
        "SELECT r.id FROM runs r LEFT JOIN jobs j ON j.id = r.job_id AND j.state IN ('queued', 'running')
        WHERE r.status = 'running' AND j.id IS NULL ORDER BY r.id LIMIT $1";
    let rows = sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the jobs of runs that are to be executed.
pub async fn open_jobs(db: &Db) -> Result<Vec<i64>, StoreError> {
    let select =
        "SELECT id FROM jobs WHERE kind = $1 AND state IN ('queued', 'running') AND cancel_requested = 0
        ORDER BY id";
    let rows = sqlx::query(select).bind(run_job::KIND).fetch_all(db.bulk()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Counts the artifacts, each with all its versions as one.
pub async fn count_artifacts(db: &Db) -> Result<u64, StoreError> {
    count(db, "SELECT COUNT(*) FROM (SELECT 1 FROM artifacts GROUP BY project_id, phase, agent) each_one")
        .await
}

/// Returns projects with an artifact that lacks one of the versions from 1 to the last.
pub async fn projects_with_gaps(db: &Db) -> Result<Vec<String>, StoreError> {
    let select = "SELECT project_id FROM artifacts GROUP BY project_id, phase, agent
        HAVING COUNT(*) <> MAX(version) OR MIN(version) <> 1 ORDER BY project_id LIMIT $1";
    let rows = sqlx::query(select).bind(MOST_FAULTS).fetch_all(db.bulk()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

async fn count(db: &Db, select: &'static str) -> Result<u64, StoreError> {
    Ok(sqlx::query(select).fetch_one(db.bulk()).await?.try_get::<i64, _>(0)?.unsigned_abs())
}
