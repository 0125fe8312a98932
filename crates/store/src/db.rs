//! The database handle: SQLite or PostgreSQL behind sqlx's `Any` driver, and write transactions that wake
//! up whoever waits for what they wrote.

use kit::{Clock, Random};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::migrate::Migration;
use crate::wake::{self, Hub, Wakeup};
use crate::{StoreError, schema, sqlite};

const POSTGRES_CONNECTIONS: u32 = 12;
const POSTGRES_PATIENCE: Duration = Duration::from_secs(10);
/// Connections of [`Db::bulk`].
pub(crate) const BULK_CONNECTIONS: u32 = 3;
const PING_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

/// A handle that clones cheaply. The last clone that goes ends the background listening.
#[derive(Clone)]
pub struct Db(Arc<Inner>);

struct Inner {
    dialect: Dialect,
    readers: AnyPool,
    writers: AnyPool,
    bulk: AnyPool,
    clock: Clock,
    random: Random,
    hub: Arc<Hub>,
    _listening: DropGuard,
}

impl Db {
    /// Opens `sqlite://path` (made if missing) or `postgres://…`, and brings the store's tables up to date.
    pub async fn open(url: &str, clock: Clock, random: Random) -> Result<Db, StoreError> {
        sqlx::any::install_default_drivers();
        let hub = Arc::new(Hub::new(u64::from_le_bytes(random.bytes())));
        let stopped = CancellationToken::new();
        let listening = stopped.clone().drop_guard();

        let (dialect, readers, writers, bulk) = match scheme(url)? {
            Dialect::Sqlite => {
                let options = sqlite::prepare_file(url).await?;
                let (readers, writers) = sqlite::pools(&options).await?;
                let bulk = sqlite::readers(BULK_CONNECTIONS).connect_lazy_with(options.clone());
                wake::sqlite::listen(options, hub.clone(), stopped);
                (Dialect::Sqlite, readers, writers, bulk)
            }
            Dialect::Postgres => {
                let options = AnyConnectOptions::from_str(url)?;
                // The pool would try for long and then tell of a timeout; one plain connection tells why.
                options.connect().await?.close().await?;
                let pool = || {
                    let pool = AnyPoolOptions::new().max_connections(POSTGRES_CONNECTIONS);
                    pool.acquire_timeout(POSTGRES_PATIENCE).connect_with(options.clone())
                };
                // Apart: writers that wait for each other must not keep anybody from reading.
                let (readers, writers) = (pool().await?, pool().await?);
                let bulk = AnyPoolOptions::new().max_connections(BULK_CONNECTIONS).connect_lazy_with(options);
                wake::postgres::listen(url, hub.clone(), stopped).await?;
                (Dialect::Postgres, readers, writers, bulk)
            }
        };

        let inner = Inner { dialect, readers, writers, bulk, clock, random, hub, _listening: listening };
        let db = Db(Arc::new(inner));
        db.migrate(schema::SCOPE, schema::MIGRATIONS).await?;
        Ok(db)
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

    /// For queries that write nothing. On SQLite these connections refuse to write.
    pub fn read(&self) -> &AnyPool {
        &self.0.readers
    }

    /// Like [`Db::read`], for work that reads much, in short statements. These connections are few, opened on
    /// first use, and separate from those that requests wait for.
    pub fn bulk(&self) -> &AnyPool {
        &self.0.bulk
    }

    /// Starts a write transaction. SQLite has one at a time in this process: do not begin a second one
    /// while holding the first.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        let inner = match self.0.dialect {
            // An immediate transaction waits its turn here, and never fails later in a change from reading
            // to writing.
            Dialect::Sqlite => self.0.writers.begin_with("BEGIN IMMEDIATE").await?,
            Dialect::Postgres => self.0.writers.begin().await?,
        };
        Ok(Tx { db: self.clone(), inner, topics: Vec::new() })
    }

    /// Waits for commits that wake `topic`, of this process or another. Subscribe first, query then, and no
    /// commit is missed.
    pub fn subscribe(&self, topic: &str) -> Wakeup {
        self.0.hub.subscribe(topic)
    }

    /// Applies what is missing of `migrations`. Each crate has its own `scope`.
    pub async fn migrate(&self, scope: &str, migrations: &[Migration]) -> Result<(), StoreError> {
        crate::migrate::run(self, scope, migrations).await
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let answer = sqlx::query("SELECT 1").fetch_one(self.read());
        tokio::time::timeout(PING_PATIENCE, answer).await.map_err(|_| sqlx::Error::PoolTimedOut)??;
        Ok(())
    }

    /// Waits for running statements and closes every connection. On SQLite this also folds the write-ahead
    /// log into the database file.
    pub async fn close(&self) {
        self.0.bulk.close().await;
        self.0.readers.close().await;
        self.0.writers.close().await;
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

/// A write transaction. Dropped without [`Tx::commit`], it rolls back and wakes nobody.
pub struct Tx {
    db: Db,
    inner: sqlx::Transaction<'static, sqlx::Any>,
    topics: Vec<u64>,
}

impl Tx {
    pub fn conn(&mut self) -> &mut AnyConnection {
        &mut self.inner
    }

    pub fn db(&self) -> &Db {
        &self.db
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.db.now_ms()
    }

    /// After the commit, whoever is subscribed to `topic` wakes up, in every process.
    pub fn wake(&mut self, topic: &str) {
        let topic = wake::topic_hash(topic);
        if !self.topics.contains(&topic) {
            self.topics.push(topic);
        }
    }

    pub async fn commit(mut self) -> Result<(), StoreError> {
        let hub = self.db.0.hub.clone();
        match self.db.dialect() {
            Dialect::Sqlite => wake::sqlite::record(&mut self.inner, hub.id(), &self.topics).await?,
            Dialect::Postgres => wake::postgres::record(&mut self.inner, hub.id(), &self.topics).await?,
        }
        let Tx { inner, topics, .. } = self;
        if topics.is_empty() {
            return inner.commit().await.map_err(StoreError::Unsure);
        }
        // In a task of its own: a caller that is dropped between the commit and the wake-up (a client that
        // hung up) would leave the others asleep.
        let committing = tokio::spawn(async move {
            inner.commit().await?;
            hub.publish(&topics);
            Ok::<(), sqlx::Error>(())
        });
        committing.await.map_err(|_| StoreError::Stopping)?.map_err(StoreError::Unsure)
    }
}
