//! Reading a database as it is at one moment: a snapshot of PostgreSQL, or a copy of an SQLite file.

use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::{Db, Dialect, StoreError};

/// A connection that reads and never writes.
pub struct Reading {
    dialect: Dialect,
    connection: AnyConnection,
}

impl Reading {
    /// Reads what is there at the moment of each statement.
    pub async fn live(db: &Db) -> Result<Self, StoreError> {
        Ok(Self { dialect: db.dialect(), connection: db.read().acquire().await?.detach() })
    }

    /// Reads what is there now, also later. Returns the id of the snapshot, by which other programs read the same as
    /// long as this exists. PostgreSQL only.
    pub async fn export(db: &Db) -> Result<(Self, String), StoreError> {
        let mut reading = Self::live(db).await?;
        reading.begin().await?;
        let row = sqlx::query("SELECT pg_export_snapshot()").fetch_one(reading.conn()).await?;
        Ok((reading, row.try_get(0)?))
    }

    /// Reads what another program sees that has exported this snapshot and still holds it. PostgreSQL only.
    pub async fn join(db: &Db, snapshot: &str) -> Result<Self, StoreError> {
        let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        if snapshot.is_empty() || !snapshot.bytes().all(is_id) {
            return Err(StoreError::InvalidKey(format!(
                "`{}` is no snapshot: expected what `SELECT pg_export_snapshot()` returns, such as \
                 `00000003-0000001B-1`",
                snapshot.escape_debug()
            )));
        }
        let mut reading = Self::live(db).await?;
        reading.begin().await?;
        let set = AssertSqlSafe(format!("SET TRANSACTION SNAPSHOT '{snapshot}'"));
        sqlx::raw_sql(set).execute(reading.conn()).await?;
        Ok(reading)
    }

    async fn begin(&mut self) -> Result<(), StoreError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        sqlx::raw_sql(begin).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Returns whether the database has this table: it may be of another version.
    pub async fn has_table(&mut self, name: &str) -> Result<bool, StoreError> {
        let select = match self.dialect {
            Dialect::Sqlite => "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1",
            Dialect::Postgres => {
                "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1"
            }
        };
        Ok(sqlx::query(select).bind(name).fetch_optional(self.conn()).await?.is_some())
    }

    /// Ends the reading. The connection is closed when this returns.
    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }

    pub fn conn(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}

impl Db {
    /// Writes a copy of the SQLite database, as it is at one moment, to a new file that only its owner can read. Writers
    /// go on meanwhile.
    pub async fn copy_sqlite(&self, file: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::File { path: file.display().to_string(), source };
        // SQLite accepts an empty file, and keeps its mode.
        File::options().write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
        let mut reading = Reading::live(self).await?;
        sqlx::raw_sql("PRAGMA query_only = OFF").execute(reading.conn()).await?;
        let path = file.display().to_string();
        sqlx::query("VACUUM INTO $1").bind(path).execute(reading.conn()).await?;
        File::open(file).and_then(|file| file.sync_all()).map_err(failed)
    }
}
