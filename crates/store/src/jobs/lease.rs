//! What a worker does to a job: claims it with a lease, extends the lease, ends the job, releases it. Every statement
//! names the attempt that it belongs to, so a worker that has lost its lease changes nothing.

use base::Backoff;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::cmp::Reverse;
use std::time::Duration;

use super::{AT_ONCE, COLUMNS, Job, JobError, Retry, State, TOPIC, job_of, milliseconds};
use crate::{CLOCK_DIFFERENCE, Db, Dialect, StoreError, Tx, placeholders};

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10 * 60));
/// `$1` is now.
const ABANDONED: &str =
    "state = 'running' AND due_at <= $1 AND (attempt - released >= max_attempts OR cancel_requested = 1)";
const COMPLETE: &str = "UPDATE jobs SET state = 'done', finished_at = $3, error = NULL
    WHERE id = $1 AND attempt = $2 AND state = 'running'";
const WORKER_DIED: &str = "its worker stopped without a word, too many times";

/// Claims at most `most` jobs that are due, the most urgent: the highest priority first, then the oldest. A running job
/// whose lease has ended is due as well.
pub async fn claim(
    db: &Db,
    kinds: &[String],
    worker: &str,
    lease: Duration,
    most: usize,
) -> Result<Vec<Job>, StoreError> {
    let skip_locked = match db.dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => "FOR UPDATE SKIP LOCKED",
    };
    // Materialised: PostgreSQL could read the list twice, and lock more jobs the second time.
    let sql = format!(
        "WITH due AS MATERIALIZED (
             SELECT id FROM jobs
             WHERE state IN ('queued', 'running') AND kind IN ({kinds}) AND due_at <= $3
                 AND (state = 'queued' OR (attempt - released < max_attempts AND cancel_requested = 0))
             ORDER BY priority DESC, id LIMIT $4 {skip_locked})
         UPDATE jobs SET state = 'running', attempt = attempt + 1, worker = $1, due_at = $2, scheduled_at = $3
         WHERE id IN (SELECT id FROM due) RETURNING {COLUMNS}",
        kinds = placeholders(5, kinds.len()),
    );
    // A job that is not committed yet may be among them: it is returned only if both are.
    let mut tx = db.begin_in_group().await?;
    // Not before: it may have waited for other transactions.
    let now = db.now_ms();
    let query = sqlx::query(AssertSqlSafe(sql)).bind(worker).bind(now + milliseconds(lease)).bind(now);
    let mut query = query.bind(most as i64);
    for kind in kinds {
        query = query.bind(kind);
    }
    let rows = query.fetch_all(tx.conn()).await?;
    tx.commit().await?;
    let mut jobs = readable(&rows);
    jobs.sort_by_key(|job| (Reverse(job.priority), job.id));
    Ok(jobs)
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
    let extend = "UPDATE jobs SET due_at = $3, scheduled_at = $4
        WHERE id = $1 AND attempt = $2 AND state = 'running' RETURNING cancel_requested";
    let mut tx = db.begin().await?;
    let now = db.now_ms();
    let query = sqlx::query(extend).bind(job.id).bind(job.attempt).bind(now + milliseconds(lease)).bind(now);
    let row = query.fetch_optional(tx.conn()).await?;
    tx.commit().await?;
    heartbeat_of(row)
}

/// Returns how the job is, and leaves its lease as it is.
pub(super) async fn look(db: &Db, job: &Job) -> Result<Heartbeat, StoreError> {
    let select = "SELECT cancel_requested FROM jobs WHERE id = $1 AND attempt = $2 AND state = 'running'";
    let query = sqlx::query(select).bind(job.id).bind(job.attempt);
    heartbeat_of(query.fetch_optional(db.read()).await?)
}

fn heartbeat_of(row: Option<AnyRow>) -> Result<Heartbeat, StoreError> {
    let Some(row) = row else { return Ok(Heartbeat::Lost) };
    match row.try_get::<i64, _>(0)? {
        0 => Ok(Heartbeat::Continue),
        _ => Ok(Heartbeat::Cancelled),
    }
}

/// Fails with [`StoreError::LeaseLost`] if another worker has the job by now. If not, none can claim it until `tx` ends:
/// what `tx` writes is written by the job's only worker. Returns whether the job is to be cancelled.
pub async fn hold(tx: &mut Tx, job: &Job) -> Result<bool, StoreError> {
    let sql = holding(tx.db().dialect(), 1);
    let query = sqlx::query(AssertSqlSafe(sql)).bind(job.id).bind(job.attempt);
    let row = query.fetch_optional(tx.conn()).await?;
    held(job, row.map(|row| row.try_get(0)).transpose()?)
}

/// Returns the query of [`hold`], for a statement that has it as a column: the parameters from `first` on are the job's id
/// and attempt. What it answers goes to [`held`].
pub fn holding(dialect: Dialect, first: usize) -> String {
    let lock = match dialect {
        Dialect::Sqlite => "",
        Dialect::Postgres => "FOR SHARE",
    };
    let attempt = first + 1;
    format!(
        "SELECT cancel_requested FROM jobs WHERE id = ${first} AND attempt = ${attempt} AND state = 'running' {lock}"
    )
}

/// Returns what [`hold`] returns for an answer of [`holding`].
pub fn held(job: &Job, cancel_requested: Option<i64>) -> Result<bool, StoreError> {
    let cancel_requested =
        cancel_requested.ok_or(StoreError::LeaseLost { job: job.id, attempt: job.attempt })?;
    Ok(cancel_requested != 0)
}

/// Ends a job in the transaction of its results. On [`StoreError::LeaseLost`], drop `tx` to undo them.
pub async fn complete(tx: &mut Tx, job: &Job) -> Result<(), StoreError> {
    let now = tx.now_ms();
    let query = sqlx::query(COMPLETE).bind(job.id).bind(job.attempt).bind(now);
    check_lease(job, query.execute(tx.conn()).await?.rows_affected())
}

/// As [`complete`], at the commit. For a transaction that holds the job, and so cannot lose it.
pub fn complete_held(tx: &mut Tx, job: &Job) {
    let now = tx.now_ms();
    let statement = tx.later(COMPLETE).bind(job.id).bind(job.attempt);
    statement.bind(now);
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
    Ok(readable(&query.fetch_all(db.read()).await?))
}

/// Returns the jobs that can be read. One that cannot does not keep the others from being run.
fn readable(rows: &[AnyRow]) -> Vec<Job> {
    let jobs = rows
        .iter()
        .map(|row| job_of(row).inspect_err(|error| tracing::error!(%error, "a job cannot be read")));
    jobs.filter_map(Result::ok).collect()
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
