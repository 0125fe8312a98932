//! Runs of phases.

use crate::records::Run;
use crate::status::{Signal, StoredName};
use kit::fields::Time;
use sqlx::any::AnyRow;
use sqlx::{Any, AssertSqlSafe, Executor, Row};
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "id, project_id, phase, status, signal, reason, provider, model, caller, guest_address, job_id, \
                       first_event, last_event, created_at, ended_at";

/// Inserts a run at the commit.
pub fn insert(tx: &mut Tx, run: &Run) {
    let sql = format!(
        "INSERT INTO runs ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
    );
    let statement = tx.later(&sql).bind(&run.id).bind(&run.project_id).bind(&run.phase);
    let statement = statement.bind(run.status.as_str()).bind(run.signal.map(StoredName::as_str));
    let statement = statement.bind(&run.reason).bind(&run.provider).bind(&run.model).bind(&run.caller);
    let statement = statement.bind(&run.guest_address).bind(run.job_id).bind(run.first_event);
    statement.bind(run.last_event).bind(run.created_at.0).bind(run.ended_at.map(|time| time.0));
}

/// Stores everything that may change in a run, at the commit.
pub fn update(tx: &mut Tx, run: &Run) {
    let update =
        "UPDATE runs SET status = $2, signal = $3, reason = $4, caller = $5, job_id = $6, last_event = $7,
        ended_at = $8, provider = $9, model = $10, guest_address = $11 WHERE id = $1";
    let statement = tx.later(update).bind(&run.id).bind(run.status.as_str());
    let statement = statement.bind(run.signal.map(StoredName::as_str)).bind(&run.reason).bind(&run.caller);
    let statement = statement.bind(run.job_id).bind(run.last_event).bind(run.ended_at.map(|time| time.0));
    statement.bind(&run.provider).bind(&run.model).bind(&run.guest_address);
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Run>, StoreError> {
    select(db.read(), id).await
}

/// Returns the run as it is now, in a transaction that has locked its project.
pub async fn get_locked(tx: &mut Tx, id: &str) -> Result<Option<Run>, StoreError> {
    select(tx.conn(), id).await
}

async fn select(executor: impl Executor<'_, Database = Any>, id: &str) -> Result<Option<Run>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM runs WHERE id = $1"));
    let row = sqlx::query(sql).bind(id).fetch_optional(executor).await?;
    row.as_ref().map(run_of).transpose()
}

/// Returns the project's latest run, in a transaction that has locked the project. If a run is open, it is the latest.
pub async fn latest_locked(tx: &mut Tx, project_id: &str) -> Result<Option<Run>, StoreError> {
    select_latest(tx.conn(), project_id).await
}

pub async fn latest(db: &Db, project_id: &str) -> Result<Option<Run>, StoreError> {
    select_latest(db.read(), project_id).await
}

async fn select_latest(
    executor: impl Executor<'_, Database = Any>,
    project_id: &str,
) -> Result<Option<Run>, StoreError> {
    let sql = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM runs WHERE project_id = $1 ORDER BY first_event DESC LIMIT 1"
    ));
    let row = sqlx::query(sql).bind(project_id).fetch_optional(executor).await?;
    row.as_ref().map(run_of).transpose()
}

/// Returns the run that has the first event after `event`, or will have it.
pub async fn after_event(db: &Db, project_id: &str, event: i64) -> Result<Option<Run>, StoreError> {
    let sql = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM runs WHERE project_id = $1 AND (last_event IS NULL OR last_event > $2)
         ORDER BY first_event LIMIT 1"
    ));
    let row = sqlx::query(sql).bind(project_id).bind(event).fetch_optional(db.read()).await?;
    row.as_ref().map(run_of).transpose()
}

/// Returns runs older than the run `before`, the newest first.
pub async fn page(
    db: &Db,
    project_id: &str,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<Run>, StoreError> {
    let sql = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM runs WHERE project_id = $1
         AND ($2 = '' OR first_event < (SELECT first_event FROM runs WHERE id = $2))
         ORDER BY first_event DESC LIMIT $3"
    ));
    let query = sqlx::query(sql).bind(project_id).bind(before.unwrap_or("")).bind(limit as i64);
    query.fetch_all(db.read()).await?.iter().map(run_of).collect()
}

fn run_of(row: &AnyRow) -> Result<Run, StoreError> {
    let signal: Option<String> = row.try_get("signal")?;
    Ok(Run {
        id: row.try_get("id")?,
        project_id: row.try_get("project_id")?,
        phase: row.try_get("phase")?,
        status: StoredName::parse(&row.try_get::<String, _>("status")?)?,
        signal: signal.as_deref().map(<Signal as StoredName>::parse).transpose()?,
        reason: row.try_get("reason")?,
        provider: row.try_get("provider")?,
        model: row.try_get("model")?,
        caller: row.try_get("caller")?,
        guest_address: row.try_get("guest_address")?,
        job_id: row.try_get("job_id")?,
        first_event: row.try_get("first_event")?,
        last_event: row.try_get("last_event")?,
        created_at: Time(row.try_get("created_at")?),
        ended_at: row.try_get::<Option<i64>, _>("ended_at")?.map(Time),
    })
}
