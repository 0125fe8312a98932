//! The counters that give out numbers: of jobs, and of versions in the key-value table. Each is a table or a sequence,
//! depending on the engine.

use sqlx::Row;

use crate::{Db, Dialect, StoreError, Tx};

/// A counter that gives out numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Jobs,
    Versions,
}

pub(crate) const COUNTERS: [Counter; 2] = [Counter::Jobs, Counter::Versions];

impl Counter {
    pub fn name(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Versions => "versions",
        }
    }

    /// Returns the number that was given out last; 0 if none was.
    pub async fn last(self, db: &Db) -> Result<i64, StoreError> {
        let select = match (self, db.dialect()) {
            (Self::Jobs, Dialect::Sqlite) => {
                "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'jobs'"
            }
            (Self::Versions, Dialect::Sqlite) => "SELECT version FROM kv_last_version",
            (Self::Jobs, Dialect::Postgres) => {
                "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM jobs_id_seq"
            }
            (Self::Versions, Dialect::Postgres) => {
                "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM kv_last_version"
            }
        };
        Ok(sqlx::query(select).fetch_one(db.read()).await?.try_get(0)?)
    }

    /// Returns the highest number that a row has; 0 if there is none.
    pub async fn highest_in_use(self, db: &Db) -> Result<i64, StoreError> {
        let select = match self {
            Self::Jobs => "SELECT COALESCE(MAX(id), 0) FROM jobs",
            Self::Versions => "SELECT COALESCE(MAX(version), 0) FROM kv",
        };
        Ok(sqlx::query(select).fetch_one(db.read()).await?.try_get(0)?)
    }

    /// Sets the number that counts as given out last.
    pub async fn set(self, tx: &mut Tx, last: i64) -> Result<(), StoreError> {
        match (self, tx.db().dialect()) {
            (Self::Jobs, Dialect::Sqlite) => {
                // SQLite has made the row if a job was inserted.
                sqlx::query("DELETE FROM sqlite_sequence WHERE name = 'jobs'").execute(tx.conn()).await?;
                let insert = "INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', $1)";
                sqlx::query(insert).bind(last).execute(tx.conn()).await?;
            }
            (Self::Versions, Dialect::Sqlite) => {
                sqlx::query("UPDATE kv_last_version SET version = $1").bind(last).execute(tx.conn()).await?;
            }
            (counter, Dialect::Postgres) => {
                let set = match counter {
                    Self::Jobs => "SELECT setval('jobs_id_seq', $1, $2)",
                    Self::Versions => "SELECT setval('kv_last_version', $1, $2)",
                };
                // A sequence cannot stand at 0: it stands at 1, which was not given out yet.
                sqlx::query(set).bind(last.max(1)).bind(last > 0).execute(tx.conn()).await?;
            }
        }
        Ok(())
    }
}
