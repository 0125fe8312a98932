//! Projects.

use super::AFTER_ALL;
use crate::records::Project;
use crate::words::{ProjectStatus, Word};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row};
use store::{Db, StoreError, Tx};

const COLUMNS: &str = "id, name, product_seed, current_phase, status, created_at, updated_at";

pub async fn insert(tx: &mut Tx, project: &Project) -> Result<(), StoreError> {
    let sql = AssertSqlSafe(format!("INSERT INTO projects ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)"));
    let query = sqlx::query(sql).bind(&project.id).bind(&project.name).bind(&project.product_seed);
    let query = query.bind(&project.current_phase).bind(project.status.as_str());
    query.bind(project.created_at).bind(project.updated_at).execute(tx.conn()).await?;
    Ok(())
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Project>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM projects WHERE id = $1"));
    let row = sqlx::query(sql).bind(id).fetch_optional(db.read()).await?;
    row.as_ref().map(project_of).transpose()
}

/// Locked to the end of `tx`: whoever changes anything of a project begins with this.
pub async fn lock(tx: &mut Tx, id: &str) -> Result<Option<Project>, StoreError> {
    let now = tx.db().clock().now_ms();
    let sql = AssertSqlSafe(format!("UPDATE projects SET updated_at = $2 WHERE id = $1 RETURNING {COLUMNS}"));
    let row = sqlx::query(sql).bind(id).bind(now).fetch_optional(tx.conn()).await?;
    row.as_ref().map(project_of).transpose()
}

/// The newest first: those older than `before`.
pub async fn page(db: &Db, before: Option<&str>, limit: usize) -> Result<Vec<Project>, StoreError> {
    let sql =
        AssertSqlSafe(format!("SELECT {COLUMNS} FROM projects WHERE id < $1 ORDER BY id DESC LIMIT $2"));
    let query = sqlx::query(sql).bind(before.unwrap_or(AFTER_ALL)).bind(limit as i64);
    query.fetch_all(db.read()).await?.iter().map(project_of).collect()
}

pub async fn set_status(tx: &mut Tx, id: &str, status: ProjectStatus) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE projects SET status = $2 WHERE id = $1").bind(id).bind(status.as_str());
    update.execute(tx.conn()).await?;
    Ok(())
}

pub async fn set_phase(tx: &mut Tx, id: &str, phase: &str) -> Result<(), StoreError> {
    let update = sqlx::query("UPDATE projects SET current_phase = $2 WHERE id = $1").bind(id).bind(phase);
    update.execute(tx.conn()).await?;
    Ok(())
}

/// With all that hangs on it.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM projects WHERE id = $1").bind(id).execute(tx.conn()).await?;
    Ok(())
}

fn project_of(row: &AnyRow) -> Result<Project, StoreError> {
    Ok(Project {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        product_seed: row.try_get("product_seed")?,
        current_phase: row.try_get("current_phase")?,
        status: Word::parse(&row.try_get::<String, _>("status")?)?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}
