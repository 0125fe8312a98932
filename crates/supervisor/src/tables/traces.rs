//! Traces: the steps of agents, from their start to their end.

use super::AFTER_ALL;
use crate::records::Trace;
use crate::status::{StoredName, TraceStatus};
use kit::fields::Time;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx, placeholders};

const COLUMNS: &str = "id, project_id, run_id, phase, agent, status, progress, provider, model, input_tokens, \
                       output_tokens, error, started_at, ended_at";

/// Inserts a trace at the commit.
pub fn insert(tx: &mut Tx, trace: &Trace) {
    let sql = format!(
        "INSERT INTO traces ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, NULL, NULL, $10, NULL)"
    );
    let statement = tx.later(&sql).bind(&trace.id).bind(&trace.project_id).bind(&trace.run_id);
    let statement = statement.bind(&trace.phase).bind(&trace.agent).bind(trace.status.as_str());
    let statement = statement.bind(trace.progress).bind(&trace.provider).bind(&trace.model);
    statement.bind(trace.started_at.0);
}

pub async fn set_progress(tx: &mut Tx, id: &str, progress: i64) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE traces SET progress = $2 WHERE id = $1").bind(id).bind(progress);
    update.execute(tx.conn()).await?;
    Ok(())
}

/// Ends a trace whose step has made an artifact, at the commit. The provider is stored again: a restart may have changed the settings.
pub fn complete(tx: &mut Tx, trace: &Trace) {
    let update =
        "UPDATE traces SET status = $2, progress = 100, provider = $3, model = $4, input_tokens = $5,
        output_tokens = $6, ended_at = $7 WHERE id = $1";
    let statement = tx.later(update).bind(&trace.id).bind(TraceStatus::Complete.as_str());
    let statement = statement.bind(&trace.provider).bind(&trace.model).bind(trace.input_tokens);
    statement.bind(trace.output_tokens).bind(trace.ended_at.map(|time| time.0));
}

pub async fn fail(tx: &mut Tx, id: &str, error: &str, now: Time) -> Result<(), StoreError> {
    let update = "UPDATE traces SET status = $2, error = $3, ended_at = $4 WHERE id = $1";
    let query = sqlx::query(update).bind(id).bind(TraceStatus::Error.as_str()).bind(error).bind(now.0);
    query.execute(tx.conn()).await?;
    Ok(())
}

/// Ends the running traces of a run, and returns their agents.
pub async fn interrupt_all(tx: &mut Tx, run_id: &str, now: Time) -> Result<Vec<String>, StoreError> {
    let update = "UPDATE traces SET status = $2, ended_at = $3 WHERE run_id = $1 AND status = 'running'
        RETURNING agent";
    let query = sqlx::query(update).bind(run_id).bind(TraceStatus::Interrupted.as_str()).bind(now.0);
    let rows = query.fetch_all(tx.conn()).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Ends the running traces of agents other than these, at the commit: of those that the workflow no longer has.
pub fn interrupt_others(tx: &mut Tx, run_id: &str, agents: &[&str], now: Time) {
    let sql = format!(
        "UPDATE traces SET status = $2, ended_at = $3 WHERE run_id = $1 AND status = 'running'
         AND agent NOT IN ({})",
        placeholders(4, agents.len())
    );
    let mut statement = tx.later(&sql).bind(run_id).bind(TraceStatus::Interrupted.as_str()).bind(now.0);
    for agent in agents {
        statement = statement.bind(*agent);
    }
}

/// Returns the running traces of a run, including those whose process has died.
pub async fn running(db: &Db, run_id: &str) -> Result<Vec<Trace>, StoreError> {
    let sql = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM traces WHERE run_id = $1 AND status = 'running' ORDER BY id"
    ));
    let rows = sqlx::query(sql).bind(run_id).fetch_all(db.read()).await?;
    rows.iter().map(trace_of).collect()
}

/// Returns traces older than `before`, the newest first.
pub async fn page(
    db: &Db,
    project_id: &str,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<Trace>, StoreError> {
    let sql = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM traces WHERE project_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
    ));
    let query = sqlx::query(sql).bind(project_id).bind(before.unwrap_or(AFTER_ALL)).bind(limit as i64);
    query.fetch_all(db.read()).await?.iter().map(trace_of).collect()
}

fn trace_of(row: &AnyRow) -> Result<Trace, StoreError> {
    Ok(Trace {
        id: row.try_get("id")?,
        project_id: row.try_get("project_id")?,
        run_id: row.try_get("run_id")?,
        phase: row.try_get("phase")?,
        agent: row.try_get("agent")?,
        status: StoredName::parse(&row.try_get::<String, _>("status")?)?,
        progress: row.try_get("progress")?,
        provider: row.try_get("provider")?,
        model: row.try_get("model")?,
        input_tokens: row.try_get("input_tokens")?,
        output_tokens: row.try_get("output_tokens")?,
        error: row.try_get("error")?,
        started_at: Time(row.try_get("started_at")?),
        ended_at: row.try_get::<Option<i64>, _>("ended_at")?.map(Time),
    })
}
