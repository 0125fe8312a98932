//! Schema migrations: each in one transaction with the row that records it, safe if many processes start at once.

use sqlx::Row;

use crate::wake::fnv1a;
use crate::{Db, Dialect, StoreError, Tx};

/// Any constant, as long as it is the same in every process.
const ADVISORY_LOCK: i64 = 0x7374_6f61_6d69_6772;

/// One step of a schema. An empty text means that the step does nothing in that dialect.
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl Migration {
    pub const fn portable(version: i64, name: &'static str, sql: &'static str) -> Self {
        Self { version, name, sqlite: sql, postgres: sql }
    }

    fn sql(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite,
            Dialect::Postgres => self.postgres,
        }
    }
}

/// The tables of one crate: the scope of its migrations, and the migrations.
pub struct Schema {
    pub scope: &'static str,
    pub migrations: &'static [Migration],
}

/// How much of a schema a database has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// All migrations that this program knows.
    Current,
    /// None: the service has never run on this database.
    Absent,
    /// So many migrations are due.
    Older { due: usize },
}

struct Applied {
    version: i64,
    name: String,
    checksum: String,
}

/// Applies the missing migrations of a scope.
pub(crate) async fn run(db: &Db, scope: &str, migrations: &[Migration]) -> Result<(), StoreError> {
    check_order(scope, migrations)?;
    loop {
        let mut tx = db.begin().await?;
        lock(&mut tx).await?;
        let applied = read_applied(&mut tx, scope).await?;
        check_history(db.dialect(), scope, migrations, &applied)?;
        let Some(next) = migrations.get(applied.len()) else {
            return tx.commit().await;
        };
        apply(&mut tx, scope, next).await?;
        tx.commit().await?;
    }
}

/// Returns how many migrations are still to be applied. Fails like [`run`] if the database has a different history.
pub(crate) async fn pending(db: &Db, schema: &Schema) -> Result<usize, StoreError> {
    let mut tx = db.begin().await?;
    let applied = read_applied(&mut tx, schema.scope).await?;
    check_history(db.dialect(), schema.scope, schema.migrations, &applied)?;
    Ok(schema.migrations.len() - applied.len())
}

fn check_order(scope: &str, migrations: &[Migration]) -> Result<(), StoreError> {
    match migrations.windows(2).find(|pair| pair[0].version >= pair[1].version) {
        Some(pair) => Err(StoreError::Migration(format!(
            "the migrations of `{scope}` are out of order: {} stands before {}",
            pair[0].version, pair[1].version
        ))),
        None => Ok(()),
    }
}

/// Locks out other processes to the end of the transaction. On SQLite the transaction itself is the lock.
async fn lock(tx: &mut Tx) -> Result<(), StoreError> {
    if tx.db().dialect() == Dialect::Postgres {
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(ADVISORY_LOCK).execute(tx.conn()).await?;
    }
    Ok(())
}

async fn read_applied(tx: &mut Tx, scope: &str) -> Result<Vec<Applied>, StoreError> {
    let create = "CREATE TABLE IF NOT EXISTS schema_migrations (
        scope TEXT NOT NULL, version BIGINT NOT NULL, name TEXT NOT NULL, checksum TEXT NOT NULL,
        applied_at BIGINT NOT NULL, PRIMARY KEY (scope, version))";
    sqlx::query(create).execute(tx.conn()).await?;
    let select = "SELECT version, name, checksum FROM schema_migrations WHERE scope = $1 ORDER BY version";
    let rows = sqlx::query(select).bind(scope).fetch_all(tx.conn()).await?;
    let applied = rows.iter().map(|row| {
        let (version, name, checksum) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(Applied { version, name, checksum })
    });
    applied.collect()
}

/// Checks that the applied migrations are the first ones that this program knows.
fn check_history(
    dialect: Dialect,
    scope: &str,
    migrations: &[Migration],
    applied: &[Applied],
) -> Result<(), StoreError> {
    let newest_known = migrations.last().map_or(0, |migration| migration.version);
    for (position, done) in applied.iter().enumerate() {
        let (version, name) = (done.version, &done.name);
        if version > newest_known {
            return Err(StoreError::Migration(format!(
                "the database was written by a newer program: it has migration {version} `{name}` of \
                 `{scope}`, this program knows up to {newest_known}"
            )));
        }
        let known = migrations.get(position).filter(|migration| migration.version == version);
        let Some(known) = known else {
            return Err(StoreError::Migration(format!(
                "the database has migration {version} `{name}` of `{scope}` at a place where this program \
                 has another"
            )));
        };
        if checksum(known.sql(dialect)) != done.checksum {
            return Err(StoreError::Migration(format!(
                "migration {version} `{name}` of `{scope}` was changed after it had been applied: \
                 add a new one instead"
            )));
        }
    }
    Ok(())
}

async fn apply(tx: &mut Tx, scope: &str, migration: &Migration) -> Result<(), StoreError> {
    let sql = migration.sql(tx.db().dialect());
    if !sql.is_empty() {
        sqlx::raw_sql(sql).execute(tx.conn()).await?;
    }
    let now = tx.now_ms();
    let insert = "INSERT INTO schema_migrations (scope, version, name, checksum, applied_at)
        VALUES ($1, $2, $3, $4, $5)";
    let remember = sqlx::query(insert).bind(scope).bind(migration.version).bind(migration.name);
    remember.bind(checksum(sql)).bind(now).execute(tx.conn()).await?;
    tracing::info!(scope, version = migration.version, name = migration.name, "migration applied");
    Ok(())
}

fn checksum(sql: &str) -> String {
    format!("{:016x}", fnv1a(sql.as_bytes()))
}
