//! Counts of what guests have, in a transaction that has locked the counts.

use sqlx::Row;
use store::{StoreError, Tx};

/// About what the trace, checkpoint, events and log lines of a step take.
const ROW_BYTES: i64 = 4 << 10;

/// What the runs of one address use, or those of all guests together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Runs that are running.
    pub runs: i64,
    /// How often runs were started since a time.
    pub starts: i64,
    /// What all runs have stored.
    pub bytes: i64,
}

/// Locks the counts until the end of `tx`, so that they stay true until then.
pub async fn lock(tx: &mut Tx) -> Result<(), StoreError> {
    sqlx::query("UPDATE guest_lock SET id = id WHERE id = 1").execute(tx.conn()).await?;
    Ok(())
}

/// Counts the projects that guests created: from one address, and all.
pub async fn projects(tx: &mut Tx, address: &str) -> Result<(i64, i64), StoreError> {
    let select = "SELECT COUNT(CASE WHEN guest_address = $1 THEN 1 END), COUNT(*) FROM projects
        WHERE by_guest = 1";
    let row = sqlx::query(select).bind(address).fetch_one(tx.conn()).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// Counts the start of a guest's run.
pub fn started(tx: &mut Tx, project_id: &str, address: &str, now_ms: i64) {
    insert(tx, project_id, address, now_ms, ROW_BYTES);
}

/// Counts what a step of a guest's run has stored.
pub fn stored(tx: &mut Tx, project_id: &str, address: &str, content: &str) {
    insert(tx, project_id, address, 0, content.len() as i64 + ROW_BYTES);
}

/// Inserts a row at the commit.
fn insert(tx: &mut Tx, project_id: &str, address: &str, started_at: i64, bytes: i64) {
    let id = tx.db().random().uuid_v7(tx.db().clock()).to_string();
    let insert =
        "INSERT INTO guest_usage (id, project_id, address, started_at, bytes) VALUES ($1, $2, $3, $4, $5)";
    tx.later(insert).bind(id).bind(project_id).bind(address).bind(started_at).bind(bytes);
}

/// Returns what the runs of an address use, and what those of all guests do. Starts are counted since `since_ms`.
pub async fn usage(tx: &mut Tx, address: &str, since_ms: i64) -> Result<(Usage, Usage), StoreError> {
    let select = "SELECT COUNT(CASE WHEN guest_address = $1 THEN 1 END), COUNT(*) FROM runs
        WHERE status = 'running' AND guest_address IS NOT NULL";
    let runs = sqlx::query(select).bind(address).fetch_one(tx.conn()).await?;
    let select = "SELECT COUNT(CASE WHEN address = $1 AND started_at > $2 THEN 1 END),
            CAST(COALESCE(SUM(CASE WHEN address = $1 THEN bytes END), 0) AS BIGINT),
            COUNT(CASE WHEN started_at > $2 THEN 1 END), CAST(COALESCE(SUM(bytes), 0) AS BIGINT)
        FROM guest_usage";
    let rest = sqlx::query(select).bind(address).bind(since_ms).fetch_one(tx.conn()).await?;
    let own = Usage { runs: runs.try_get(0)?, starts: rest.try_get(0)?, bytes: rest.try_get(1)? };
    let all = Usage { runs: runs.try_get(1)?, starts: rest.try_get(2)?, bytes: rest.try_get(3)? };
    Ok((own, all))
}
