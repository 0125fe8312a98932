//! Artifacts, in all their versions.

use crate::records::Artifact;
use crate::status::StoredName;
use kit::fields::Time;
use sqlx::any::AnyRow;
use sqlx::{Any, AssertSqlSafe, Executor, Row};
use std::collections::HashMap;
use store::{Db, StoreError, Tx, placeholders};

const COLUMNS: &str =
    "id, project_id, run_id, phase, agent, type, content, version, superseded, edited_by, created_at";

/// Inserts an artifact at the commit. It supersedes the versions before its own.
pub fn insert(tx: &mut Tx, artifact: &Artifact) {
    let sql = format!("INSERT INTO artifacts ({COLUMNS}) VALUES ({})", placeholders(1, 11));
    let statement = tx.later(&sql).bind(&artifact.id).bind(&artifact.project_id).bind(&artifact.run_id);
    let statement = statement.bind(&artifact.phase).bind(&artifact.agent).bind(artifact.kind.as_str());
    let statement = statement.bind(&artifact.content).bind(artifact.version);
    let statement = statement.bind(i64::from(artifact.superseded)).bind(&artifact.edited_by);
    statement.bind(artifact.created_at.0);
    if artifact.version > 1 {
        let update = "UPDATE artifacts SET superseded = 1 WHERE project_id = $1 AND phase = $2 AND agent = $3
            AND version < $4 AND superseded = 0";
        let statement = tx.later(update).bind(&artifact.project_id).bind(&artifact.phase);
        statement.bind(&artifact.agent).bind(artifact.version);
    }
}

/// Returns the number of the newest version of each agent's artifact. They do not change while a worker has the run.
pub async fn newest_versions(
    db: &Db,
    project_id: &str,
    phase: &str,
) -> Result<HashMap<String, i64>, StoreError> {
    let select =
        "SELECT agent, MAX(version) FROM artifacts WHERE project_id = $1 AND phase = $2 GROUP BY agent";
    let rows = sqlx::query(select).bind(project_id).bind(phase).fetch_all(db.read()).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

pub async fn get(db: &Db, id: &str) -> Result<Option<Artifact>, StoreError> {
    select(db.read(), id).await
}

pub async fn get_locked(tx: &mut Tx, id: &str) -> Result<Option<Artifact>, StoreError> {
    select(tx.conn(), id).await
}

async fn select(
    executor: impl Executor<'_, Database = Any>,
    id: &str,
) -> Result<Option<Artifact>, StoreError> {
    let sql = AssertSqlSafe(format!("SELECT {COLUMNS} FROM artifacts WHERE id = $1"));
    let row = sqlx::query(sql).bind(id).fetch_optional(executor).await?;
    row.as_ref().map(artifact_of).transpose()
}

/// Returns the current artifact of an agent.
pub async fn current(db: &Db, project_id: &str, agent: &str) -> Result<Option<Artifact>, StoreError> {
    let sql = AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM artifacts WHERE project_id = $1 AND agent = $2 AND superseded = 0
         ORDER BY id DESC LIMIT 1"
    ));
    let row = sqlx::query(sql).bind(project_id).bind(agent).fetch_optional(db.read()).await?;
    row.as_ref().map(artifact_of).transpose()
}

/// Returns the content of the version before an artifact, if there is one.
pub async fn previous_content(db: &Db, artifact: &Artifact) -> Result<Option<String>, StoreError> {
    let select =
        "SELECT content FROM artifacts WHERE project_id = $1 AND phase = $2 AND agent = $3 AND version < $4
        ORDER BY version DESC LIMIT 1";
    let query = sqlx::query(select).bind(&artifact.project_id).bind(&artifact.phase).bind(&artifact.agent);
    let row = query.bind(artifact.version).fetch_optional(db.read()).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Which artifacts of a project are asked for.
pub struct Filter<'a> {
    pub all_versions: bool,
    pub phase: Option<&'a str>,
    /// The id of an artifact: only those that were made after it.
    pub after: Option<&'a str>,
}

/// Returns the ids of a project's artifacts and the bytes of their contents, the oldest first.
pub async fn sizes(
    db: &Db,
    project_id: &str,
    filter: Filter<'_>,
    limit: usize,
) -> Result<Vec<(String, usize)>, StoreError> {
    let select = "SELECT id, CAST(octet_length(content) AS BIGINT) FROM artifacts
        WHERE project_id = $1 AND superseded <= $2 AND ($3 = '' OR phase = $3) AND id > $4 ORDER BY id LIMIT $5";
    let query = sqlx::query(select).bind(project_id).bind(i64::from(filter.all_versions));
    let query = query.bind(filter.phase.unwrap_or("")).bind(filter.after.unwrap_or("")).bind(limit as i64);
    let rows = query.fetch_all(db.read()).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get::<i64, _>(1)? as usize))).collect()
}

/// Returns the current artifacts, the oldest first. Contents are whole until all together have `bytes`; of the contents
/// after that only the first `excerpt` characters are read, and true is returned with those that are longer.
pub async fn current_within(
    db: &Db,
    project_id: &str,
    bytes: usize,
    excerpt: usize,
) -> Result<Vec<(Artifact, bool)>, StoreError> {
    let sql = AssertSqlSafe(format!(
        "SELECT {COLUMNS}, CAST(is_cut AS BIGINT) AS is_cut FROM (
             SELECT id, project_id, run_id, phase, agent, type, version, superseded, edited_by, created_at,
                 CASE WHEN total > $2 THEN substr(content, 1, CAST($3 AS INTEGER)) ELSE content END AS content,
                 CASE WHEN total > $2 AND length(content) > $3 THEN 1 ELSE 0 END AS is_cut
             FROM (SELECT {COLUMNS}, SUM(octet_length(content)) OVER (ORDER BY id) AS total FROM artifacts
                 WHERE project_id = $1 AND superseded = 0) AS summed
         ) AS shown ORDER BY id"
    ));
    let query = sqlx::query(sql).bind(project_id).bind(bytes as i64).bind(excerpt as i64);
    let rows = query.fetch_all(db.read()).await?;
    rows.iter().map(|row| Ok((artifact_of(row)?, row.try_get::<i64, _>("is_cut")? != 0))).collect()
}

fn artifact_of(row: &AnyRow) -> Result<Artifact, StoreError> {
    Ok(Artifact {
        id: row.try_get("id")?,
        project_id: row.try_get("project_id")?,
        run_id: row.try_get("run_id")?,
        phase: row.try_get("phase")?,
        agent: row.try_get("agent")?,
        kind: StoredName::parse(&row.try_get::<String, _>("type")?)?,
        content: row.try_get("content")?,
        version: row.try_get("version")?,
        superseded: row.try_get::<i64, _>("superseded")? != 0,
        edited_by: row.try_get("edited_by")?,
        created_at: Time(row.try_get("created_at")?),
    })
}
