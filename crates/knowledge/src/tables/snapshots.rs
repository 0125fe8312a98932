//! Snapshots: which objects have a user's index and graph, and how much has changed since they were written.

use sqlx::Row;
use store::{Db, StoreError, Tx};

/// The last snapshot of a user. Keys are empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub object_key: String,
    pub encoder: String,
    pub passages: i64,
    /// Changes up to this revision of the user are in it.
    pub revision: i64,
    pub graph_key: String,
    pub graph_revision: i64,
    /// Removals up to this revision are in the graph.
    pub graph_removal: i64,
}

impl Snapshot {
    /// Returns whether there is an index with vectors of this encoder.
    pub fn is_of(&self, encoder: Option<&str>) -> bool {
        !self.object_key.is_empty() && Some(self.encoder.as_str()) == encoder
    }
}

/// What has changed since the last snapshot.
pub struct Unsaved {
    pub changed: i64,
    /// How many passages the snapshot has.
    pub passages: i64,
    pub has_job: bool,
}

/// Counts passages that have changed.
pub async fn add_changed(tx: &mut Tx, user_id: &str, passages: i64) -> Result<Unsaved, StoreError> {
    let insert = "INSERT INTO index_snapshots (user_id, changed) VALUES ($1, $2)
        ON CONFLICT (user_id) DO UPDATE SET changed = index_snapshots.changed + $2
        RETURNING changed, passages, job_id";
    let row = sqlx::query(insert).bind(user_id).bind(passages).fetch_one(tx.conn()).await?;
    let job: Option<i64> = row.try_get(2)?;
    Ok(Unsaved { changed: row.try_get(0)?, passages: row.try_get(1)?, has_job: job.is_some() })
}

pub async fn set_job(tx: &mut Tx, user_id: &str, job: Option<i64>) -> Result<(), StoreError> {
    let update = "UPDATE index_snapshots SET job_id = $2 WHERE user_id = $1";
    sqlx::query(update).bind(user_id).bind(job).execute(tx.conn()).await?;
    Ok(())
}

pub async fn get(db: &Db, user_id: &str) -> Result<Snapshot, StoreError> {
    let select = "SELECT object_key, encoder, passages, revision, graph_key, graph_revision, graph_removal
        FROM index_snapshots WHERE user_id = $1";
    let row = sqlx::query(select).bind(user_id).fetch_optional(db.bulk()).await?;
    let Some(row) = row else { return Ok(Snapshot::default()) };
    Ok(Snapshot {
        object_key: row.try_get(0)?,
        encoder: row.try_get(1)?,
        passages: row.try_get(2)?,
        revision: row.try_get(3)?,
        graph_key: row.try_get(4)?,
        graph_revision: row.try_get(5)?,
        graph_removal: row.try_get(6)?,
    })
}

/// Sets the snapshot and ends its job; `changed` passages are not in it. Returns the keys of the objects that it replaces,
/// or none if the user was removed.
pub async fn set(
    tx: &mut Tx,
    user_id: &str,
    snapshot: &Snapshot,
    changed: i64,
) -> Result<Option<[String; 2]>, StoreError> {
    let select = "SELECT object_key, graph_key FROM index_snapshots
        JOIN users ON users.id = user_id WHERE user_id = $1 AND removed = 0";
    let row = sqlx::query(select).bind(user_id).fetch_optional(tx.conn()).await?;
    let Some(row) = row else { return Ok(None) };
    let update = "UPDATE index_snapshots SET object_key = $2, encoder = $3, passages = $4, revision = $5,
            graph_key = $6, graph_revision = $7, graph_removal = $8, changed = $9, job_id = NULL
        WHERE user_id = $1";
    let query = sqlx::query(update).bind(user_id).bind(&snapshot.object_key).bind(&snapshot.encoder);
    let query = query.bind(snapshot.passages).bind(snapshot.revision).bind(&snapshot.graph_key);
    let query = query.bind(snapshot.graph_revision).bind(snapshot.graph_removal).bind(changed);
    query.execute(tx.conn()).await?;
    Ok(Some([row.try_get(0)?, row.try_get(1)?]))
}

/// Returns the keys of a user's objects.
pub async fn keys(tx: &mut Tx, user_id: &str) -> Result<Vec<String>, StoreError> {
    let select = "SELECT object_key, graph_key FROM index_snapshots WHERE user_id = $1";
    let rows = sqlx::query(select).bind(user_id).fetch_all(tx.conn()).await?;
    let mut keys = Vec::new();
    for row in rows {
        keys.extend([row.try_get::<String, _>(0)?, row.try_get(1)?]);
    }
    keys.retain(|key| !key.is_empty());
    Ok(keys)
}

pub async fn has_object(db: &Db, user_id: &str, key: &str) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM index_snapshots WHERE user_id = $1 AND (object_key = $2 OR graph_key = $2)";
    Ok(sqlx::query(select).bind(user_id).bind(key).fetch_optional(db.read()).await?.is_some())
}
