//! What a worker does to a job: claims it with a lease, extends the lease, ends the job, releases it. Every statement
//! names the attempt that it belongs to, so a worker that has lost its lease changes nothing.

use base::Backoff;
use sqlx::{AssertSqlSafe, Row};
use std::time::Duration;

use super::{AT_ONCE, COLUMNS, Job, JobError, Retry, State, TOPIC, job_of, milliseconds};
use crate::{CLOCK_DIFFERENCE, Db, Dialect, StoreError, Tx, placeholders};

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10 * 60));
/// `$1` is now.
const ABANDONED: &str =
    "state = 'running' AND due_at <= $1 AND (attempt - released >= max_attempts OR cancel_requested = 1)";
const WORKER_DIED: &str = "its worker stopped without a word, too many times";

/// Claims the most urgent job that is due: the highest priority first, then the oldest. A running job whose lease has
/// ended is due as well.
pub async fn claim(
    db: &Db,
    kinds: &[String],
    worker: &str,
    lease: Duration,
) -> Result<Option<Job>, StoreError> {
    let now = db.now_ms();
    let skip_locked = match db.dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => "FOR UPDATE SKIP LOCKED",
    };
    let sql = format!(
        "UPDATE jobs SET state = 'running', attempt = attempt + 1, worker = $1, due_at = $2, scheduled_at = $3
         WHERE id = (
             SELECT id FROM jobs
             WHERE state IN ('queued', 'running') AND kind IN ({kinds}) AND due_at <= $3
                 AND (state = 'queued' OR (attempt - released < max_attempts AND cancel_requested = 0))
             ORDER BY priority DESC, id LIMIT 1 {skip_locked})
         RETURNING {COLUMNS}",
        kinds = placeholders(4, kinds.len()),
    );
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(worker).bind(now + milliseconds(lease)).bind(now);
    for kind in kinds {
        query = query.bind(kind);
    }
    let mut tx = db.begin().await?;
    let row = query.fetch_optional(tx.conn()).await?;
    tx.commit().await?;
    row.as_ref().map(job_of).transpose()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    Continue,
    /// A caller has cancelled it.
    Cancelled,
    /// Another worker has it, or it has ended.
    Lost,
}

/// Extends the lease: it ends `lease` from now.
pub async fn heartbeat(db: &Db, job: &Job, lease: Duration) -> Result<Heartbeat, StoreError> {
    let now = db.now_ms();
    let extend = "UPDATE jobs SET due_at = $3, scheduled_at = $4
        WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING cancel_requested";
    let mut tx = db.begin().await?;
    let query = sqlx::query(extend).bind(job.id).bind(job.attempt).bind(now + milliseconds(lease)).bind(now);
    let row = query.fetch_optional(tx.conn()).await?;
    tx.commit().await?;
    let Some(row) = row else { return Ok(Heartbeat::Lost) };
    match row.try_get::<i64, _>(0)? {
        0 => Ok(Heartbeat::Continue),
        _ => Ok(Heartbeat::Cancelled),
    }
}

/// Fails with [`StoreError::LeaseLost`] if another worker has the job by now. If not, none can claim it until `tx` ends:
/// what `tx` writes is written by the job's only worker.
pub async fn hold(tx: &mut Tx, job: &Job) -> Result<(), StoreError> {
    let lock = match tx.db().dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => "FOR SHARE",
    };
    let sql = format!("SELECT 1 FROM jobs WHERE id = $1 AND attempt = $2 AND state = 'running' {lock}");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(job.id).bind(job.attempt);
    let found = query.fetch_optional(tx.conn()).await?;
    check_lease(job, u64::from(found.is_some()))
}

/// Ends a job in the transaction of its results. On [`StoreError::LeaseLost`], drop `tx` to undo them.
pub async fn complete(tx: &mut Tx, job: &Job) -> Result<(), StoreError> {
    let now = tx.now_ms();
    let update = "UPDATE jobs SET state = 'done', finished_at = $3, error = NULL
        WHERE id = $1 AND attempt = $2 AND state = 'running'";
    let query = sqlx::query(update).bind(job.id).bind(job.attempt).bind(now);
    check_lease(job, query.execute(tx.conn()).await?.rows_affected())
}

/// Ends a failed attempt. The job goes back to the queue, or ends as failed, or as cancelled if that was requested.
/// Returns the job as it is then.
pub async fn fail(tx: &mut Tx, job: &Job, error: &JobError) -> Result<Job, StoreError> {
    let now = tx.now_ms();
    let spent = job.attempt - job.released;
    let delay = match error.retry {
        Retry::Never => None,
        _ if spent >= job.max_attempts => None,
        Retry::After(delay) => Some(milliseconds(delay)),
        Retry::Backoff => Some(milliseconds(BACKOFF.pause(spent, tx.db().random()))),
    };
    let (state, due_at, finished_at) = match delay {
        Some(delay) => (State::Queued, now.saturating_add(delay), None),
        None => (State::Failed, job.due_at, Some(now)),
    };
    let sql = format!(
        "UPDATE jobs SET error = $4, due_at = $5, scheduled_at = $7,
             state = CASE WHEN cancel_requested = 1 THEN 'cancelled' ELSE $3 END,
             finished_at = CASE WHEN cancel_requested = 1 THEN $7 ELSE $6 END
         WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING {COLUMNS}"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(job.id).bind(job.attempt).bind(state.as_str());
    let query = query.bind(&error.message).bind(due_at).bind(finished_at).bind(now);
    let row = query.fetch_optional(tx.conn()).await?;
    match row {
        Some(row) => job_of(&row),
        None => Err(StoreError::LeaseLost { job: job.id, attempt: job.attempt }),
    }
}

/// Returns a job to the queue at once, without using up one of its attempts.
pub async fn release(tx: &mut Tx, job: &Job) -> Result<(), StoreError> {
    let update = "UPDATE jobs SET state = 'queued', released = released + 1, due_at = $3
        WHERE id = $1 AND attempt = $2 AND state = 'running'";
    let query = sqlx::query(update).bind(job.id).bind(job.attempt).bind(AT_ONCE);
    check_lease(job, query.execute(tx.conn()).await?.rows_affected())?;
    tx.wake(TOPIC);
    Ok(())
}

/// Corrects times that were set before the clock was set back: a job waits, or a lease lasts, as long from now as it was
/// meant to. Returns how many there were.
pub async fn follow_clock(db: &Db) -> Result<u64, StoreError> {
    let now = db.now_ms();
    let ahead = now + milliseconds(CLOCK_DIFFERENCE);
    let update = "UPDATE jobs SET due_at = $1 + due_at - scheduled_at, scheduled_at = $1
        WHERE state IN ('queued', 'running') AND scheduled_at > $2";
    let mut tx = db.begin().await?;
    if tx.db().dialect() == Dialect::Postgres && server_time(&mut tx).await? > ahead {
        tracing::warn!("the clock of this process is behind that of the database: set it right");
        return Ok(0);
    }
    let query = sqlx::query(update).bind(now).bind(ahead);
    let corrected = query.execute(tx.conn()).await?.rows_affected();
    tx.commit().await?;
    if corrected > 0 {
        tracing::warn!(jobs = corrected, "the clock was set back: jobs that waited for it wait no longer");
    }
    Ok(corrected)
}

/// Returns the time of PostgreSQL's clock. Processes whose clocks differ must not correct each other's times.
async fn server_time(tx: &mut Tx) -> Result<i64, StoreError> {
    let select = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
    Ok(sqlx::query(select).fetch_one(tx.conn()).await?.try_get(0)?)
}

/// Returns the jobs whose workers died and that [`claim`] does not return any more: their attempts are used up, or they
/// were cancelled. [`settle_abandoned`] ends each of them.
pub async fn abandoned(db: &Db, kinds: &[String]) -> Result<Vec<Job>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs
         WHERE state IN ('queued', 'running') AND {ABANDONED} AND kind IN ({kinds})",
        kinds = placeholders(2, kinds.len()),
    );
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(db.now_ms());
    for kind in kinds {
        query = query.bind(kind);
    }
    let rows = query.fetch_all(db.read()).await?;
    rows.iter().map(job_of).collect()
}

/// Ends an abandoned job as `failed` or `cancelled` and returns it; none if it is not abandoned any more.
pub async fn settle_abandoned(tx: &mut Tx, job: &Job) -> Result<Option<Job>, StoreError> {
    let now = tx.now_ms();
    let sql = format!(
        "UPDATE jobs SET finished_at = $1, error = $2,
             state = CASE WHEN cancel_requested = 1 THEN 'cancelled' ELSE 'failed' END
         WHERE {ABANDONED} AND id = $3 AND attempt = $4 RETURNING {COLUMNS}"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(now).bind(WORKER_DIED).bind(job.id).bind(job.attempt);
    query.fetch_optional(tx.conn()).await?.as_ref().map(job_of).transpose()
}

/// Fails unless a statement that names the attempt has found its row.
fn check_lease(job: &Job, changed_rows: u64) -> Result<(), StoreError> {
    match changed_rows {
        0 => Err(StoreError::LeaseLost { job: job.id, attempt: job.attempt }),
        _ => Ok(()),
    }
}
