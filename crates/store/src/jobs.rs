//! Jobs: work that is enqueued in the transaction that asks for it, and done at least once.
//!
//! This file has what callers use; `lease` is what a worker does to a job, `worker` the loop that runs jobs.

mod lease;
mod worker;

pub use lease::{
    Heartbeat, abandoned, claim, complete, complete_held, fail, follow_clock, heartbeat, held, hold, holding,
    release, settle_abandoned,
};
pub use worker::{Handler, Worker};

use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use std::time::Duration;
use strum::{EnumString, IntoStaticStr};

use crate::{Db, StoreError, Tx, parse_stored};

/// Woken by every new job.
const TOPIC: &str = "jobs";
const COLUMNS: &str = "id, kind, payload, priority, state, attempt, released, max_attempts, due_at, error, \
                       created_at, finished_at";
const PRUNE_BATCH: i64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum State {
    Queued,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl State {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A job to be enqueued.
pub struct NewJob {
    pub kind: String,
    pub payload: Value,
    /// Higher goes first.
    pub priority: i64,
    pub max_attempts: i64,
    /// Milliseconds since 1970; at once if absent.
    pub run_at: Option<i64>,
}

impl NewJob {
    pub fn new(kind: &str, payload: Value) -> Self {
        Self { kind: kind.to_owned(), payload, priority: 0, max_attempts: 5, run_at: None }
    }

    /// Makes a job that is retried, with backoff, until it succeeds or its handler gives it up.
    pub fn retried_forever(kind: &str, payload: Value) -> Self {
        Self { max_attempts: i64::MAX, ..Self::new(kind, payload) }
    }
}

#[derive(Clone, Debug)]
pub struct Job {
    pub id: i64,
    pub kind: String,
    pub payload: Value,
    pub priority: i64,
    pub state: State,
    /// The fencing token: rises with each claim, and a worker that holds an older number has lost the job.
    pub attempt: i64,
    pub max_attempts: i64,
    /// When a queued job may run, or when the lease of a running one ends.
    pub due_at: i64,
    pub error: Option<String>,
    pub created_at: i64,
    pub finished_at: Option<i64>,
    released: i64,
}

/// Why an attempt failed, and whether the job is retried.
#[derive(Clone, Debug, PartialEq)]
pub struct JobError {
    pub message: String,
    pub retry: Retry,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retry {
    /// After a pause that grows with each attempt.
    Backoff,
    After(Duration),
    Never,
}

impl JobError {
    pub fn retry(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: Retry::Backoff }
    }

    pub fn never(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: Retry::Never }
    }
}

impl From<StoreError> for JobError {
    fn from(error: StoreError) -> Self {
        Self::retry(error.to_string())
    }
}

/// When a job is due that need not wait. Not "now": after the clock was set back, that would still be to come.
const AT_ONCE: i64 = 0;

/// Adds a job in `tx` and returns its id.
pub async fn enqueue(tx: &mut Tx, job: NewJob) -> Result<i64, StoreError> {
    let now = tx.now_ms();
    let insert =
        "INSERT INTO jobs (kind, payload, priority, state, max_attempts, due_at, created_at, scheduled_at)
        VALUES ($1, $2, $3, 'queued', $4, $5, $6, $6) RETURNING id";
    let query = sqlx::query(insert).bind(job.kind).bind(job.payload.to_string()).bind(job.priority);
    let query = query.bind(job.max_attempts).bind(job.run_at.unwrap_or(AT_ONCE)).bind(now);
    let id = query.fetch_one(tx.conn()).await?.try_get(0)?;
    tx.wake(TOPIC);
    Ok(id)
}

pub async fn get(db: &Db, id: i64) -> Result<Option<Job>, StoreError> {
    let select = AssertSqlSafe(format!("SELECT {COLUMNS} FROM jobs WHERE id = $1"));
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(job_of).transpose()
}

/// What a request to cancel a job has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// The job had not started, and will not.
    Cancelled,
    /// The job runs; its worker is asked to stop.
    Requested,
    /// The job had ended before, or does not exist.
    Ended,
}

/// Cancels a job, or asks its worker to stop.
pub async fn cancel(tx: &mut Tx, id: i64) -> Result<Cancel, StoreError> {
    let now = tx.now_ms();
    let update = "UPDATE jobs SET cancel_requested = 1,
            finished_at = CASE WHEN state = 'queued' THEN $2 ELSE finished_at END,
            state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END
        WHERE id = $1 AND state IN ('queued', 'running') RETURNING state";
    let row = sqlx::query(update).bind(id).bind(now).fetch_optional(tx.conn()).await?;
    let Some(row) = row else { return Ok(Cancel::Ended) };
    match parse_stored::<State>("a job's state", &row.try_get::<String, _>(0)?)? {
        State::Cancelled => Ok(Cancel::Cancelled),
        _ => {
            tx.wake(&cancel_topic(id));
            Ok(Cancel::Requested)
        }
    }
}

/// Removes the jobs that ended longer than `age` ago, in small transactions, and returns how many.
pub async fn prune(db: &Db, age: Duration) -> Result<u64, StoreError> {
    let cutoff = db.now_ms().saturating_sub(milliseconds(age));
    let delete = "DELETE FROM jobs WHERE id IN
        (SELECT id FROM jobs WHERE finished_at IS NOT NULL AND finished_at < $1 LIMIT $2)";
    let mut removed = 0;
    loop {
        let mut tx = db.begin().await?;
        let query = sqlx::query(delete).bind(cutoff).bind(PRUNE_BATCH);
        let batch = query.execute(tx.conn()).await?.rows_affected();
        tx.commit().await?;
        removed += batch;
        if batch < PRUNE_BATCH.unsigned_abs() {
            return Ok(removed);
        }
    }
}

fn cancel_topic(id: i64) -> String {
    format!("jobs/cancel/{id}")
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn job_of(row: &AnyRow) -> Result<Job, StoreError> {
    let id: i64 = row.try_get("id")?;
    let payload: String = row.try_get("payload")?;
    let payload = serde_json::from_str(&payload)
        .map_err(|error| StoreError::Corrupt { what: format!("job `{id}`"), reason: error.to_string() })?;
    Ok(Job {
        id,
        kind: row.try_get("kind")?,
        payload,
        priority: row.try_get("priority")?,
        state: parse_stored("a job's state", &row.try_get::<String, _>("state")?)?,
        attempt: row.try_get("attempt")?,
        max_attempts: row.try_get("max_attempts")?,
        due_at: row.try_get("due_at")?,
        error: row.try_get("error")?,
        created_at: row.try_get("created_at")?,
        finished_at: row.try_get("finished_at")?,
        released: row.try_get("released")?,
    })
}
