//! Sources, and what their runs have done.

use crate::records::{Run, RunCounts, Source};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx, placeholders};

const COLUMNS: &str = "id, owner_id, created_by, created_at, name, settings, secret, every, paused, job_id, next_run_at, run, \
                       run_job, started_at, ended_at, error, failures, added, changed, unchanged, skipped, failed, \
                       removed, copy_bytes";

pub async fn insert(tx: &mut Tx, source: &Source) -> Result<(), StoreError> {
    let insert = "INSERT INTO sources (id, owner_id, created_by, created_at, name, settings, secret, every, job_id, next_run_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let query = sqlx::query(insert).bind(&source.id).bind(&source.owner_id).bind(&source.created_by);
    let settings = serde_json::to_string(&source.settings).unwrap_or_default();
    let query = query.bind(source.created_at).bind(&source.name).bind(settings).bind(&source.secret);
    query.bind(source.every).bind(source.job_id).bind(source.next_run_at).execute(tx.conn()).await?;
    Ok(())
}

/// Stores what may be changed of a source, and its next run.
pub async fn update(tx: &mut Tx, source: &Source) -> Result<(), StoreError> {
    let update =
        "UPDATE sources SET name = $2, settings = $3, secret = $4, every = $5, paused = $6, job_id = $7,
            next_run_at = $8
        WHERE id = $1";
    let settings = serde_json::to_string(&source.settings).unwrap_or_default();
    let query = sqlx::query(update).bind(&source.id).bind(&source.name).bind(settings).bind(&source.secret);
    let query = query.bind(source.every).bind(i64::from(source.is_paused)).bind(source.job_id);
    query.bind(source.next_run_at).execute(tx.conn()).await?;
    Ok(())
}

/// Stores the last run.
pub async fn set_run(tx: &mut Tx, id: &str, run: &Run) -> Result<(), StoreError> {
    let update = "UPDATE sources SET run = $2, run_job = $3, started_at = $4, ended_at = $5, error = $6, failures = $7,
            added = $8, changed = $9, unchanged = $10, skipped = $11, failed = $12, removed = $13
        WHERE id = $1";
    let query = sqlx::query(update).bind(id).bind(run.number).bind(run.job).bind(run.started_at);
    let query = query.bind(run.ended_at).bind(&run.error).bind(run.failures).bind(run.counts.added);
    let query = query.bind(run.counts.changed).bind(run.counts.unchanged).bind(run.counts.skipped);
    query.bind(run.counts.failed).bind(run.counts.removed).execute(tx.conn()).await?;
    Ok(())
}

/// Stores how many bytes a copy of the place takes.
pub async fn set_copy_bytes(tx: &mut Tx, id: &str, bytes: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE sources SET copy_bytes = $2 WHERE id = $1").bind(id).bind(bytes);
    update.execute(tx.conn()).await?;
    Ok(())
}

/// Returns a source whose owner was not removed.
pub async fn get(db: &Db, id: &str) -> Result<Option<Source>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM sources WHERE id = $1
             AND EXISTS (SELECT 1 FROM users WHERE users.id = owner_id AND removed = 0)"
    ));
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(source_of).transpose()
}

/// Locks a source until the end of `tx`, and returns it.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<Source>, StoreError> {
    let update = AssertSqlSafe(format!("UPDATE sources SET id = id WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(update).bind(id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(source_of).transpose()
}

/// Locks a source until the end of `tx`. Returns false if it has another job than this one by now.
pub async fn hold(tx: &mut Tx, id: &str, job_id: i64) -> Result<bool, StoreError> {
    let update = "UPDATE sources SET job_id = job_id WHERE id = $1 AND job_id = $2";
    let query = sqlx::query(update).bind(id).bind(job_id);
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Returns which of these ids are those of sources.
pub async fn existing(db: &Db, ids: &[String]) -> Result<Vec<String>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let select =
        AssertSqlSafe(format!("SELECT id FROM sources WHERE id IN ({})", placeholders(1, ids.len())));
    let query = ids.iter().fold(sqlx::query(select), |query, id| query.bind(id));
    query.fetch_all(db.read()).await?.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the sources of an owner, the oldest first.
pub async fn of_owner(db: &Db, owner_id: &str) -> Result<Vec<Source>, StoreError> {
    let select =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM sources WHERE owner_id = $1 ORDER BY created_at, id"));
    sqlx::query(select).bind(owner_id).fetch_all(db.read()).await?.iter().map(source_of).collect()
}

/// Returns the sources that are folders and not paused.
pub async fn watched(db: &Db) -> Result<Vec<Source>, StoreError> {
    let select = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM sources WHERE paused = 0 AND settings LIKE '%\"kind\":\"folder\"%'"
    ));
    sqlx::query(select).fetch_all(db.read()).await?.iter().map(source_of).collect()
}

pub async fn count(tx: &mut Tx, owner_id: &str) -> Result<i64, StoreError> {
    let select = "SELECT COUNT(*) FROM sources WHERE owner_id = $1";
    Ok(sqlx::query(select).bind(owner_id).fetch_one(tx.conn()).await?.try_get(0)?)
}

/// Deletes a source with its items. The documents stay.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM sources WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

fn source_of(row: &AnyRow) -> Result<Source, StoreError> {
    let id: String = row.try_get("id")?;
    let settings = serde_json::from_str(&row.try_get::<String, _>("settings")?);
    let settings = settings.map_err(|error| StoreError::Corrupt {
        what: format!("the settings of source `{id}`"),
        reason: error.to_string(),
    })?;
    Ok(Source {
        id,
        owner_id: row.try_get("owner_id")?,
        created_by: row.try_get("created_by")?,
        created_at: row.try_get("created_at")?,
        name: row.try_get("name")?,
        settings,
        secret: row.try_get("secret")?,
        every: row.try_get("every")?,
        is_paused: row.try_get::<i64, _>("paused")? != 0,
        job_id: row.try_get("job_id")?,
        next_run_at: row.try_get("next_run_at")?,
        copy_bytes: row.try_get("copy_bytes")?,
        last_run: Run {
            number: row.try_get("run")?,
            job: row.try_get("run_job")?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
            error: row.try_get("error")?,
            failures: row.try_get("failures")?,
            counts: RunCounts {
                added: row.try_get("added")?,
                changed: row.try_get("changed")?,
                unchanged: row.try_get("unchanged")?,
                skipped: row.try_get("skipped")?,
                failed: row.try_get("failed")?,
                removed: row.try_get("removed")?,
            },
        },
    })
}
