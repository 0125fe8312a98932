//! Write transactions, which wake the subscribers of what they have written.

use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, Transaction};
use std::sync::Arc;

use crate::db::Writers;
use crate::later::{Later, Statement};
use crate::{Db, Dialect, StoreError, sqlite, wake};

/// A write transaction. Dropped without [`Tx::commit`], it rolls back and wakes no subscriber.
pub struct Tx {
    db: Db,
    inner: Inner,
    later: Later,
    topics: Vec<u64>,
}

enum Inner {
    Sqlite(sqlite::Member),
    Postgres(Transaction<'static, Any>),
}

/// What a transaction waits for before it begins.
enum Place {
    Sqlite(Arc<sqlite::Writer>, sqlite::Turn),
    Postgres(PoolConnection<Any>),
}

impl Place {
    async fn of(db: &Db) -> Result<Self, StoreError> {
        Ok(match db.writers() {
            Writers::Sqlite(writer) => Self::Sqlite(writer.clone(), writer.turn().await?),
            Writers::Postgres(pool) => Self::Postgres(pool.acquire().await?),
        })
    }

    async fn begin(self, is_alone: bool) -> Result<Inner, StoreError> {
        Ok(match self {
            Self::Sqlite(writer, turn) => Inner::Sqlite(writer.begin(turn, is_alone).await?),
            Self::Postgres(connection) => Inner::Postgres(Transaction::begin(connection, None).await?),
        })
    }
}

impl Db {
    /// Begins a write transaction. On SQLite there is one at a time in this process: do not begin a second one while
    /// holding the first.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        Tx::begin(self, true).await
    }

    /// As [`Db::begin`], for one of many transactions that are independent of each other: on SQLite they may be committed
    /// together. So it may see what others have written that is not committed yet, and its commit may wait for others.
    /// What it finds counts only after its commit, which is theirs too: a refusal without one could come from rows that are
    /// then undone (decision 25).
    pub async fn begin_in_group(&self) -> Result<Tx, StoreError> {
        Tx::begin(self, false).await
    }
}

impl Tx {
    async fn begin(db: &Db, is_alone: bool) -> Result<Tx, StoreError> {
        let place = Place::of(db).await?;
        // In a task of its own: a caller that is dropped before the transaction has begun would leave a connection that
        // is inside of one.
        let inner = tokio::spawn(place.begin(is_alone)).await.map_err(|_| StoreError::Stopping)??;
        db.note_activity();
        Ok(Tx { db: db.clone(), inner, later: Later::default(), topics: Vec::new() })
    }

    pub fn conn(&mut self) -> &mut AnyConnection {
        match &mut self.inner {
            Inner::Sqlite(member) => member.connection(),
            Inner::Postgres(transaction) => transaction,
        }
    }

    pub fn db(&self) -> &Db {
        &self.db
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.db.now_ms()
    }

    /// Adds a statement that is executed at the next [`Tx::flush`] or at the commit, in one trip to the database with the
    /// others that were added. `sql` changes rows and returns none. On PostgreSQL the statements of one flush do not see
    /// each other: none may read or change a row that another changes.
    pub fn later(&mut self, sql: &str) -> Statement<'_> {
        self.later.add(sql)
    }

    /// Executes the statements that were added with [`Tx::later`].
    pub async fn flush(&mut self) -> Result<(), StoreError> {
        let later = std::mem::take(&mut self.later);
        let dialect = self.db.dialect();
        Ok(later.execute(dialect, self.conn()).await?)
    }

    /// Wakes the subscribers of `topic` in every process after the commit.
    pub fn wake(&mut self, topic: &str) {
        let topic = wake::topic_hash(topic);
        if !self.topics.contains(&topic) {
            self.topics.push(topic);
        }
    }

    /// Commits. After [`StoreError::Unsure`] or [`StoreError::Stopping`] it is unknown whether it was: look before trying
    /// again. After any other error nothing was written.
    pub async fn commit(self) -> Result<(), StoreError> {
        let Tx { db, inner, mut later, topics } = self;
        // In a task of its own: a caller that is dropped between the commit and the wake-up (a client that
        // hung up) would leave the subscribers asleep.
        let committing = tokio::spawn(async move {
            let hub = db.hub();
            let committed = match inner {
                Inner::Sqlite(member) => {
                    wake::sqlite::record(&mut later, hub, &topics);
                    member.commit(later).await
                }
                Inner::Postgres(mut transaction) => {
                    wake::postgres::record(&mut later, hub, &topics);
                    later.execute(Dialect::Postgres, &mut transaction).await?;
                    transaction.commit().await.map_err(|error| StoreError::Unsure(Arc::new(error)))
                }
            };
            db.note_activity();
            db.note_commit(committed.as_ref().err().is_none_or(StoreError::is_refusal));
            if committed.is_ok() {
                hub.publish(&topics);
            }
            committed
        });
        committing.await.map_err(|_| StoreError::Stopping)?
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        self.db.note_activity();
        match self.inner {
            // Undone by the next that has the connection.
            Inner::Sqlite(member) => drop(member),
            Inner::Postgres(transaction) => transaction.rollback().await?,
        }
        Ok(())
    }
}
