//! How far a move is: a table in the target, made before all others and dropped at the end.

use sqlx::{AssertSqlSafe, Row};

use super::table;
use crate::{Db, StoreError, Tx};

const TABLE: &str = table::PROGRESS;
const SOURCE: &str = "source";

/// The notes of a move in its target.
pub struct Progress {
    db: Db,
}

impl Progress {
    /// Returns the source of the move that the target is in the middle of; none if there is no such move.
    pub async fn source_of(to: &Db) -> Result<Option<String>, StoreError> {
        if !unfinished(to).await? {
            return Ok(None);
        }
        Self { db: to.clone() }.position(SOURCE).await
    }

    /// Begins a move from this source, or goes on with it.
    pub async fn begin(to: &Db, source: &str) -> Result<Self, StoreError> {
        let mut tx = to.begin().await?;
        let create =
            format!("CREATE TABLE IF NOT EXISTS {TABLE} (part TEXT PRIMARY KEY, position TEXT NOT NULL)");
        sqlx::query(AssertSqlSafe(create)).execute(tx.conn()).await?;
        set(&mut tx, SOURCE, source).await?;
        tx.commit().await?;
        Ok(Self { db: to.clone() })
    }

    /// Returns how far a part of the move is; none if it has not begun.
    pub async fn position(&self, part: &str) -> Result<Option<String>, StoreError> {
        let select = AssertSqlSafe(format!("SELECT position FROM {TABLE} WHERE part = $1"));
        let row = sqlx::query(select).bind(part).fetch_optional(self.db.read()).await?;
        row.map(|row| Ok(row.try_get(0)?)).transpose()
    }

    pub async fn set(&self, part: &str, position: &str) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        set(&mut tx, part, position).await?;
        tx.commit().await
    }

    /// Ends the move: the target can be used.
    pub async fn end(self) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        sqlx::query(AssertSqlSafe(format!("DROP TABLE {TABLE}"))).execute(tx.conn()).await?;
        tx.commit().await
    }
}

/// Returns whether a move to this database was interrupted.
pub async fn unfinished(db: &Db) -> Result<bool, StoreError> {
    Ok(table::names(db).await?.iter().any(|name| name == TABLE))
}

pub(super) async fn set(tx: &mut Tx, part: &str, position: &str) -> Result<(), StoreError> {
    let upsert = AssertSqlSafe(format!(
        "INSERT INTO {TABLE} (part, position) VALUES ($1, $2)
         ON CONFLICT (part) DO UPDATE SET position = excluded.position"
    ));
    sqlx::query(upsert).bind(part).bind(position).execute(tx.conn()).await?;
    Ok(())
}
