//! The database handle: SQLite or PostgreSQL behind sqlx's `Any` driver, its connections, and its health check.

use base::{Clock, Random};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, ConnectOptions, Connection};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::migrate::{Migration, Schema, Version};
use crate::wake::{self, Hub, Wakeup};
use crate::{StoreError, schema, sqlite};

/// Connections that one process opens to a PostgreSQL server by default.
pub const POSTGRES_CONNECTIONS: u32 = 20;
/// One each to listen, to read, to write and for bulk reads.
pub const FEWEST_POSTGRES_CONNECTIONS: u32 = 4;
const POSTGRES_TIMEOUT: Duration = Duration::from_secs(10);
/// Most connections of [`Db::bulk`].
pub(crate) const BULK_CONNECTIONS: u32 = 3;
const PING_TIMEOUT: Duration = Duration::from_millis(1500);
/// The writer counts as stuck if no transaction has begun or ended for this long.
const STUCK_AFTER: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

/// A handle that clones cheaply. Dropping the last clone ends the listening in the background.
#[derive(Clone)]
pub struct Db(Arc<Inner>);

struct Inner {
    dialect: Dialect,
    readers: AnyPool,
    writers: Writers,
    bulk: AnyPool,
    clock: Clock,
    random: Random,
    hub: Arc<Hub>,
    writes: Writes,
    _listening: DropGuard,
}

/// The connections that write.
pub(crate) enum Writers {
    Sqlite(Arc<sqlite::Writer>),
    Postgres(AnyPool),
}

/// The state of write transactions, for the health check.
struct Writes {
    opened: Instant,
    /// When one last began or ended, in milliseconds after `opened`.
    last_activity: AtomicU64,
    /// Whether the last commit failed, as on a full disk.
    failing: AtomicBool,
}

impl Db {
    /// Opens `sqlite://path` (created if missing) or `postgres://…`, and brings the store's tables up to date.
    pub async fn open(url: &str, clock: Clock, random: Random) -> Result<Db, StoreError> {
        Self::open_with(url, POSTGRES_CONNECTIONS, clock, random).await
    }

    /// As [`Db::open`], with at most `connections` to a PostgreSQL server, at least
    /// [`FEWEST_POSTGRES_CONNECTIONS`]. SQLite ignores it.
    pub async fn open_with(
        url: &str,
        connections: u32,
        clock: Clock,
        random: Random,
    ) -> Result<Db, StoreError> {
        let db = Self::connect(url, connections, clock, random).await?;
        db.migrate(schema::SCOPE, schema::MIGRATIONS).await?;
        Ok(db)
    }

    /// As [`Db::open_with`], but leaves the tables as they are: for reading a database of any version, and for one that
    /// has to be empty.
    pub async fn connect(
        url: &str,
        connections: u32,
        clock: Clock,
        random: Random,
    ) -> Result<Db, StoreError> {
        sqlx::any::install_default_drivers();
        let hub = Arc::new(Hub::new(u64::from_le_bytes(random.bytes())));
        let stopped = CancellationToken::new();
        let listening = stopped.clone().drop_guard();

        let (dialect, readers, writers, bulk) = match scheme(url)? {
            Dialect::Sqlite => {
                let options = sqlite::prepare_file(url).await?;
                let readers = sqlite::readers(sqlite::reader_count()).connect_with(options.clone()).await?;
                let writers = Writers::Sqlite(sqlite::Writer::open(options.clone()).await?);
                let bulk = sqlite::readers(BULK_CONNECTIONS).connect_lazy_with(options.clone());
                wake::sqlite::listen(options, hub.clone(), stopped);
                (Dialect::Sqlite, readers, writers, bulk)
            }
            Dialect::Postgres => {
                let options = AnyConnectOptions::from_str(url)?;
                // The pool would retry for long and then report a timeout; one plain connection reports the cause.
                options.connect().await?.close().await?;
                let pool = |connections| {
                    let pool = AnyPoolOptions::new().max_connections(connections);
                    pool.acquire_timeout(POSTGRES_TIMEOUT).connect_with(options.clone())
                };
                // Separate pools: writers that wait for each other must not keep a request from reading. One more
                // connection listens.
                let loading = (connections / 4).clamp(1, BULK_CONNECTIONS);
                let shared = connections.saturating_sub(1 + loading);
                let (readers, writers) = (pool(shared.div_ceil(2)).await?, pool((shared / 2).max(1)).await?);
                let bulk = AnyPoolOptions::new().max_connections(loading).connect_lazy_with(options);
                wake::postgres::listen(url, hub.clone(), stopped).await?;
                (Dialect::Postgres, readers, Writers::Postgres(writers), bulk)
            }
        };

        let writes = Writes {
            opened: Instant::now(),
            last_activity: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        };
        let inner =
            Inner { dialect, readers, writers, bulk, clock, random, hub, writes, _listening: listening };
        Ok(Db(Arc::new(inner)))
    }

    pub fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub fn random(&self) -> &Random {
        &self.0.random
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.0.clock.now_ms()
    }

    /// Returns the connections for queries that write nothing. On SQLite they refuse to write.
    pub fn read(&self) -> &AnyPool {
        &self.0.readers
    }

    /// Returns the connections for work that reads much, in short statements. They are few, opened on first use, and
    /// separate from those that requests wait for.
    pub fn bulk(&self) -> &AnyPool {
        &self.0.bulk
    }

    pub(crate) fn writers(&self) -> &Writers {
        &self.0.writers
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.0.hub
    }

    /// Subscribes to the commits that wake `topic`, in this process or another. Subscribe before the first query, so that
    /// no commit is missed.
    pub fn subscribe(&self, topic: &str) -> Wakeup {
        self.0.hub.subscribe(topic)
    }

    /// Returns how many migrations of a schema are still to be applied.
    pub async fn pending(&self, schema: &Schema) -> Result<usize, StoreError> {
        crate::migrate::pending(self, schema).await
    }

    /// Returns how much of a schema is applied.
    pub async fn version(&self, schema: &Schema) -> Result<Version, StoreError> {
        Ok(match self.pending(schema).await? {
            0 => Version::Current,
            due if due == schema.migrations.len() => Version::Absent,
            due => Version::Older { due },
        })
    }

    /// Applies the missing ones of `migrations`. Each crate has its own `scope`.
    pub async fn migrate(&self, scope: &str, migrations: &[Migration]) -> Result<(), StoreError> {
        crate::migrate::run(self, scope, migrations).await
    }

    /// Checks that the database answers and can be written to.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let reading = sqlx::query("SELECT 1").fetch_one(self.read());
        let (read, written) = tokio::join!(
            tokio::time::timeout(PING_TIMEOUT, reading),
            tokio::time::timeout(PING_TIMEOUT, self.try_writer()),
        );
        read.map_err(|_| sqlx::Error::PoolTimedOut)??;
        match written {
            Ok(written) => written,
            // Other transactions are running, one after the other.
            Err(_) if self.0.writes.idle_for() < STUCK_AFTER => Ok(()),
            Err(_) => Err(StoreError::Database(sqlx::Error::PoolTimedOut)),
        }
    }

    /// Begins a transaction. Writes something only if the last commit failed, to see whether commits work again: a commit
    /// makes the disk flush.
    async fn try_writer(&self) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        if !self.0.writes.failing.load(Ordering::Relaxed) {
            return tx.rollback().await;
        }
        let write = "INSERT INTO rate_windows (key, hits, resets_at) VALUES ('ping', 1, $1)
            ON CONFLICT (key) DO UPDATE SET resets_at = excluded.resets_at";
        sqlx::query(write).bind(self.now_ms()).execute(tx.conn()).await?;
        tx.commit().await
    }

    /// Records that a transaction has begun or ended.
    pub(crate) fn note_activity(&self) {
        let writes = &self.0.writes;
        writes.last_activity.store(writes.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Records whether a commit has succeeded.
    pub(crate) fn note_commit(&self, succeeded: bool) {
        self.0.writes.failing.store(!succeeded, Ordering::Relaxed);
    }

    /// Waits for running statements and closes every connection. On SQLite this also checkpoints the write-ahead log.
    pub async fn close(&self) {
        self.0.bulk.close().await;
        self.0.readers.close().await;
        match &self.0.writers {
            Writers::Sqlite(writer) => writer.close().await,
            Writers::Postgres(pool) => pool.close().await,
        }
    }
}

impl Writes {
    fn idle_for(&self) -> Duration {
        let last_activity = Duration::from_millis(self.last_activity.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(last_activity)
    }
}

fn scheme(url: &str) -> Result<Dialect, StoreError> {
    let scheme = url.split(':').next().unwrap_or_default();
    match scheme {
        "sqlite" => Ok(Dialect::Sqlite),
        "postgres" | "postgresql" => Ok(Dialect::Postgres),
        _ if url.contains("://") => Err(StoreError::Url(format!(
            "unknown database scheme `{scheme}`: one of sqlite://path, postgres://user:password@host/database"
        ))),
        _ => Err(StoreError::Url(
            "the database URL has no scheme: one of sqlite://path, postgres://user:password@host/database"
                .into(),
        )),
    }
}
