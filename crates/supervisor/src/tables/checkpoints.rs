//! Checkpoints. Those that are `waiting` are approvals.

use super::projects::{bind, condition};
use crate::access::Visible;
use crate::records::{Checkpoint, EXCERPT};
use crate::status::StoredName;
use kit::fields::Time;
use sqlx::any::AnyRow;
use sqlx::{Any, AssertSqlSafe, Executor, Row};
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "id, project_id, run_id, phase, agent, step, status, artifact_id, feedback, decided_by, decided_at, created_at";

/// Inserts a checkpoint at the commit.
pub fn insert(tx: &mut Tx, checkpoint: &Checkpoint) {
    let sql = format!(
        "INSERT INTO checkpoints ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    );
    let statement = tx.later(&sql).bind(&checkpoint.id).bind(&checkpoint.project_id);
    let statement = statement.bind(&checkpoint.run_id).bind(&checkpoint.phase).bind(&checkpoint.agent);
    let statement = statement.bind(checkpoint.step).bind(checkpoint.status.as_str());
    let statement = statement.bind(&checkpoint.artifact_id).bind(&checkpoint.feedback);
    let statement = statement.bind(&checkpoint.decided_by).bind(checkpoint.decided_at.map(|time| time.0));
    statement.bind(checkpoint.created_at.0);
}

/// Stores the answer to an approval. Returns false if it was answered before.
pub async fn decide(tx: &mut Tx, decided: &Checkpoint) -> Result<bool, StoreError> {
    let update = "UPDATE checkpoints SET status = $2, artifact_id = $3, feedback = $4, decided_by = $5, decided_at = $6
        WHERE id = $1 AND status = 'waiting'";
    let query =
        sqlx::query(update).bind(&decided.id).bind(decided.status.as_str()).bind(&decided.artifact_id);
    let query = query.bind(&decided.feedback).bind(&decided.decided_by);
    let query = query.bind(decided.decided_at.map(|time| time.0));
    Ok(query.execute(tx.conn()).await?.rows_affected() == 1)
}

/// Puts another artifact in the place of one that a run goes on from or that waits for approval.
pub async fn replace_artifact(tx: &mut Tx, run_id: &str, old: &str, new: &str) -> Result<(), StoreError> {
    let update = "UPDATE checkpoints SET artifact_id = $3 WHERE run_id = $1 AND artifact_id = $2";
    sqlx::query(update).bind(run_id).bind(old).bind(new).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the checkpoints of a run, the oldest first.
pub async fn of_run(db: &Db, run_id: &str) -> Result<Vec<Checkpoint>, StoreError> {
    select_of_run(db.read(), run_id).await
}

/// Returns the checkpoints of a run, the oldest first, in a transaction that has locked its project.
pub async fn of_run_locked(tx: &mut Tx, run_id: &str) -> Result<Vec<Checkpoint>, StoreError> {
    select_of_run(tx.conn(), run_id).await
}

async fn select_of_run(
    executor: impl Executor<'_, Database = Any>,
    run_id: &str,
) -> Result<Vec<Checkpoint>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM checkpoints WHERE run_id = $1 ORDER BY step, id"));
    let rows = sqlx::query(sql).bind(run_id).fetch_all(executor).await?;
    rows.iter().map(checkpoint_of).collect()
}

/// Returns a checkpoint of a project, in a transaction that has locked the project.
pub async fn get_locked(tx: &mut Tx, project_id: &str, id: &str) -> Result<Option<Checkpoint>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM checkpoints WHERE id = $1 AND project_id = $2"));
    let row = sqlx::query(sql).bind(id).bind(project_id).fetch_optional(tx.conn()).await?;
    row.as_ref().map(checkpoint_of).transpose()
}

/// Approvals that can be answered: their run waits for nothing else, and was not cancelled.
const WAITING: &str = "FROM checkpoints JOIN projects ON projects.id = checkpoints.project_id
    WHERE checkpoints.status = 'waiting'
    AND EXISTS (SELECT 1 FROM runs WHERE runs.id = checkpoints.run_id AND runs.status = 'interrupted')";

/// Returns the approvals of visible projects that can be answered, the oldest first.
pub async fn waiting(
    db: &Db,
    visible: &Visible,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Checkpoint>, StoreError> {
    let columns: Vec<String> = COLUMNS.split(", ").map(|column| format!("checkpoints.{column}")).collect();
    let sql = AssertSqlSafe(format!(
        "SELECT {} {WAITING} AND checkpoints.id > $1 AND {} ORDER BY checkpoints.id LIMIT $2",
        columns.join(", "),
        condition(visible, 3)
    ));
    let query = sqlx::query(sql).bind(after.unwrap_or("")).bind(limit as i64);
    bind(query, visible).fetch_all(db.read()).await?.iter().map(checkpoint_of).collect()
}

/// Returns how many approvals of visible projects can be answered.
pub async fn count_waiting(db: &Db, visible: &Visible) -> Result<i64, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT COUNT(*) {WAITING} AND {}", condition(visible, 1)));
    Ok(bind(sqlx::query(sql), visible).fetch_one(db.read()).await?.try_get(0)?)
}

/// Returns the newest checkpoints of a project, the newest first. Long feedback is cut to one character more than is
/// shown, so that its length can be seen.
pub async fn newest(db: &Db, project_id: &str, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
    let columns = COLUMNS.replace("feedback", &format!("substr(feedback, 1, {}) AS feedback", EXCERPT + 1));
    let sql = AssertSqlSafe(format!(
        "SELECT {columns} FROM checkpoints WHERE project_id = $1 ORDER BY id DESC LIMIT $2"
    ));
    let rows = sqlx::query(sql).bind(project_id).bind(limit as i64).fetch_all(db.read()).await?;
    rows.iter().map(checkpoint_of).collect()
}

fn checkpoint_of(row: &AnyRow) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        id: row.try_get("id")?,
        project_id: row.try_get("project_id")?,
        run_id: row.try_get("run_id")?,
        phase: row.try_get("phase")?,
        agent: row.try_get("agent")?,
        step: row.try_get("step")?,
        status: StoredName::parse(&row.try_get::<String, _>("status")?)?,
        artifact_id: row.try_get("artifact_id")?,
        feedback: row.try_get("feedback")?,
        decided_by: row.try_get("decided_by")?,
        decided_at: row.try_get::<Option<i64>, _>("decided_at")?.map(Time),
        created_at: Time(row.try_get("created_at")?),
    })
}
