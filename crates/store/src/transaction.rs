//! Write transactions, which wake the subscribers of what they have written.

use sqlx::{AnyConnection, SqlSafeStr};

use crate::wake;
use crate::{Db, Dialect, StoreError};

/// A write transaction. Dropped without [`Tx::commit`], it rolls back and wakes no subscriber.
pub struct Tx {
    db: Db,
    inner: sqlx::Transaction<'static, sqlx::Any>,
    topics: Vec<u64>,
}

impl Tx {
    pub(crate) async fn begin(db: &Db) -> Result<Tx, StoreError> {
        let statement = match db.dialect() {
            // An immediate transaction waits for the write lock here, and cannot fail later when it changes from
            // reading to writing.
            Dialect::Sqlite => "BEGIN IMMEDIATE",
            Dialect::Postgres => "BEGIN",
        };
        let connection = db.writers().acquire().await?;
        // In a task of its own: on PostgreSQL, a caller that is dropped before `BEGIN` is answered would return a
        // connection to the pool that is inside a transaction.
        let beginning = tokio::spawn(sqlx::Transaction::begin(connection, Some(statement.into_sql_str())));
        let inner = beginning.await.map_err(|_| StoreError::Stopping)??;
        db.note_activity();
        Ok(Tx { db: db.clone(), inner, topics: Vec::new() })
    }

    pub fn conn(&mut self) -> &mut AnyConnection {
        &mut self.inner
    }

    pub fn db(&self) -> &Db {
        &self.db
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.db.now_ms()
    }

    /// Wakes the subscribers of `topic` in every process after the commit.
    pub fn wake(&mut self, topic: &str) {
        let topic = wake::topic_hash(topic);
        if !self.topics.contains(&topic) {
            self.topics.push(topic);
        }
    }

    /// Commits. If this fails, the connection is not used again.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        let hub = self.db.hub().clone();
        match self.db.dialect() {
            Dialect::Sqlite => wake::sqlite::record(&mut self.inner, hub.id(), &self.topics).await?,
            Dialect::Postgres => wake::postgres::record(&mut self.inner, hub.id(), &self.topics).await?,
        }
        let Tx { db, inner, topics } = self;
        // In a task of its own: a caller that is dropped between the commit and the wake-up (a client that
        // hung up) would leave the subscribers asleep.
        let committing = tokio::spawn(async move {
            let committed = inner.commit().await;
            db.note_activity();
            db.note_commit(committed.is_ok());
            if committed.is_ok() {
                hub.publish(&topics);
            }
            committed
        });
        committing.await.map_err(|_| StoreError::Stopping)?.map_err(StoreError::Unsure)
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        self.db.note_activity();
        Ok(self.inner.rollback().await?)
    }
}
