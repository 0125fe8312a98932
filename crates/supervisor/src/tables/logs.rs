//! Lines of the projects' logs.

use super::AFTER_ALL;
use crate::records::Log;
use crate::status::StoredName;
use kit::fields::Time;
use sqlx::Row;
use sqlx::any::AnyRow;
use store::{Db, StoreError, Tx};

/// Inserts lines at the commit.
pub fn insert_all(tx: &mut Tx, project_id: &str, logs: &[Log]) {
    let row = |row: usize| {
        let parameters: Vec<String> = (row * 6 + 2..row * 6 + 8).map(|number| format!("${number}")).collect();
        format!("($1, {})", parameters.join(", "))
    };
    let rows: Vec<String> = (0..logs.len()).map(row).collect();
    let sql = format!(
        "INSERT INTO logs (project_id, id, level, message, agent, phase, created_at) VALUES {}",
        rows.join(", ")
    );
    let mut statement = tx.later(&sql).bind(project_id);
    for log in logs {
        statement = statement.bind(&log.id).bind(log.level.as_str()).bind(&log.message).bind(&log.agent);
        statement = statement.bind(&log.phase).bind(log.created_at.0);
    }
}

/// Returns lines older than `before`, the newest first.
pub async fn page(
    db: &Db,
    project_id: &str,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<Log>, StoreError> {
    let select =
        "SELECT id, level, message, agent, phase, created_at FROM logs WHERE project_id = $1 AND id < $2
        ORDER BY id DESC LIMIT $3";
    let query = sqlx::query(select).bind(project_id).bind(before.unwrap_or(AFTER_ALL)).bind(limit as i64);
    query.fetch_all(db.read()).await?.iter().map(log_of).collect()
}

fn log_of(row: &AnyRow) -> Result<Log, StoreError> {
    Ok(Log {
        id: row.try_get("id")?,
        level: StoredName::parse(&row.try_get::<String, _>("level")?)?,
        message: row.try_get("message")?,
        agent: row.try_get("agent")?,
        phase: row.try_get("phase")?,
        created_at: Time(row.try_get("created_at")?),
    })
}
