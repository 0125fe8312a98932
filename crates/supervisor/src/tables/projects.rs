//! Projects and their seeds.

use super::AFTER_ALL;
use crate::records::Project;
use crate::status::{ProjectStatus, RunStatus, StoredName};
use kit::fields::Time;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::jobs::{self, Job};
use store::{Db, StoreError, Tx};

const COLUMNS: &str =
    "id, name, seed_excerpt, seed_length, current_phase, status, by_guest, created_at, updated_at";

pub async fn insert(tx: &mut Tx, project: &Project, product_seed: &str) -> Result<(), StoreError> {
    let sql = format!("INSERT INTO projects ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
    let query = sqlx::query(AssertSqlSafe(sql)).bind(&project.id).bind(&project.name);
    let query = query.bind(&project.seed_excerpt).bind(project.seed_length).bind(&project.current_phase);
    let query = query.bind(project.status.as_str()).bind(i64::from(project.by_guest));
    query.bind(project.created_at.0).bind(project.updated_at.0).execute(tx.conn()).await?;
    let insert = sqlx::query("INSERT INTO seeds (project_id, product_seed) VALUES ($1, $2)");
    insert.bind(&project.id).bind(product_seed).execute(tx.conn()).await?;
    Ok(())
}

/// Returns the name of a project and its whole seed. None if there is no such project.
pub async fn name_and_seed(db: &Db, id: &str) -> Result<Option<(String, String)>, StoreError> {
    let select = "SELECT name, product_seed FROM projects JOIN seeds ON seeds.project_id = projects.id
        WHERE projects.id = $1";
    let row = sqlx::query(select).bind(id).fetch_optional(db.read()).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

/// Returns the whole seed of a project. None if there is no such project.
pub async fn seed(db: &Db, id: &str) -> Result<Option<String>, StoreError> {
    let query = sqlx::query("SELECT product_seed FROM seeds WHERE project_id = $1").bind(id);
    Ok(query.fetch_optional(db.read()).await?.map(|row| row.try_get(0)).transpose()?)
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Project>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM projects WHERE id = $1"));
    let row = sqlx::query(sql).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(project_of).transpose()
}

/// Locks the project until the end of `tx`. Every change to a project does this first.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<Project>, StoreError> {
    let now = tx.db().clock().now_ms();
    let sql = AssertSqlSafe(format!("UPDATE projects SET updated_at = $2 WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(sql).bind(id).bind(now).fetch_optional(tx.conn()).await?;
    row.as_ref().map(project_of).transpose()
}

/// As [`lock`], and holds a job in the same trip as [`jobs::hold`] does. Returns also whether the job is to be cancelled.
pub async fn lock_and_hold(tx: &mut Tx, id: &str, job: &Job) -> Result<Option<(Project, bool)>, StoreError> {
    let now = tx.db().clock().now_ms();
    let holding = jobs::holding(tx.db().dialect(), 3);
    let sql = format!(
        "UPDATE projects SET updated_at = $2 WHERE id = $1 RETURNING {COLUMNS}, ({holding}) AS cancel_requested"
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(id).bind(now).bind(job.id).bind(job.attempt);
    let Some(row) = query.fetch_optional(tx.conn()).await? else { return Ok(None) };
    Ok(Some((project_of(&row)?, jobs::held(job, row.try_get("cancel_requested")?)?)))
}

/// Returns projects older than `before`, the newest first.
pub async fn page(db: &Db, before: Option<&str>, limit: usize) -> Result<Vec<Project>, StoreError> {
    let sql =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM projects WHERE id < $1 ORDER BY id DESC LIMIT $2"));
    let query = sqlx::query(sql).bind(before.unwrap_or(AFTER_ALL)).bind(limit as i64);
    query.fetch_all(db.read()).await?.iter().map(project_of).collect()
}

/// Sets the status at the commit.
pub fn set_status(tx: &mut Tx, id: &str, status: ProjectStatus) {
    tx.later("UPDATE projects SET status = $2 WHERE id = $1").bind(id).bind(status.as_str());
}

/// Sets the status of a project of which no run is open, at the commit: it is complete if a run of its last phase ever
/// was. Moves it on to `phase`, if there is one.
pub fn settle(tx: &mut Tx, id: &str, phase: Option<&str>, last_phase: &str) {
    let update =
        "UPDATE projects SET current_phase = COALESCE($2, current_phase), status = CASE WHEN EXISTS (
            SELECT 1 FROM runs WHERE project_id = $1 AND phase = $3 AND runs.status = $4
        ) THEN $5 ELSE $6 END WHERE id = $1";
    let statement = tx.later(update).bind(id).bind(phase).bind(last_phase);
    let statement = statement.bind(RunStatus::Complete.as_str()).bind(ProjectStatus::Complete.as_str());
    statement.bind(ProjectStatus::Active.as_str());
}

pub async fn set_name(tx: &mut Tx, id: &str, name: &str) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE projects SET name = $2 WHERE id = $1").bind(id).bind(name);
    update.execute(tx.conn()).await?;
    Ok(())
}

pub async fn set_seed(
    tx: &mut Tx,
    id: &str,
    product_seed: &str,
    excerpt: &str,
    length: i64,
) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE projects SET seed_excerpt = $2, seed_length = $3 WHERE id = $1");
    update.bind(id).bind(excerpt).bind(length).execute(tx.conn()).await?;
    let update = sqlx::query("UPDATE seeds SET product_seed = $2 WHERE project_id = $1");
    update.bind(id).bind(product_seed).execute(tx.conn()).await?;
    Ok(())
}

/// Deletes a project with the rows of all tables that refer to it.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM projects WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

fn project_of(row: &AnyRow) -> Result<Project, StoreError> {
    Ok(Project {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        seed_excerpt: row.try_get("seed_excerpt")?,
        seed_length: row.try_get("seed_length")?,
        current_phase: row.try_get("current_phase")?,
        status: StoredName::parse(&row.try_get::<String, _>("status")?)?,
        by_guest: row.try_get::<i64, _>("by_guest")? != 0,
        created_at: Time(row.try_get("created_at")?),
        updated_at: Time(row.try_get("updated_at")?),
    })
}
