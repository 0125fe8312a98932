//! The one connection that writes to an SQLite file. Transactions follow each other on it. Those that allow it and come
//! while others wait are committed together, each in a savepoint: they share the pages that are written, and the flush
//! of the disk.

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Connection, Executor};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedMappedMutexGuard, OwnedMutexGuard, oneshot};
use tokio::time::timeout;

use super::CONNECTION_PRAGMAS;
use crate::later::Later;
use crate::{Dialect, StoreError};

/// How long a transaction waits for those before it.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(30);
/// A group that is older takes no more transactions: those that are written wait for its commit, and other processes for
/// the file.
const LONGEST_GROUP: Duration = Duration::from_millis(6);
/// If a group and the one before it have so many together, it waits for more until it is old.
const MANY: usize = 4;

const UNDO_ALL: &str = "ROLLBACK";
const UNDO_MEMBER: &str = "ROLLBACK TO member";

/// The connection; none before it is opened again after a failure.
type Slot = Option<AnyConnection>;

/// The lock on the connection.
pub(crate) type Turn = OwnedMutexGuard<Slot>;

pub(crate) struct Writer {
    options: AnyConnectOptions,
    /// Locked while a transaction is written. The lock is given in the order in which it was asked for.
    connection: Arc<tokio::sync::Mutex<Slot>>,
    /// Changed only by those who have locked the connection.
    group: Mutex<Group>,
}

/// The transactions that are committed together.
#[derive(Default)]
struct Group {
    /// When it began; none if the connection is in no transaction.
    began: Option<Instant>,
    /// Those that are written.
    written: Vec<oneshot::Sender<Result<(), GroupError>>>,
    /// How many the group before had.
    previous: usize,
    /// The statement that undoes what the last one has written, if that was dropped.
    undo: Option<&'static str>,
    /// Whether the connection has failed and cannot be used again.
    is_broken: bool,
    is_closed: bool,
}

/// Why a group has failed.
#[derive(Clone)]
enum GroupError {
    /// SQLite has undone it before its commit.
    Undone,
    /// In its commit.
    Unsure(Arc<sqlx::Error>),
}

/// A transaction. Dropped before [`Member::commit`], what it has written is undone.
pub(crate) struct Member {
    writer: Arc<Writer>,
    connection: OwnedMappedMutexGuard<Slot, AnyConnection>,
    is_alone: bool,
    is_written: bool,
}

impl Group {
    fn is_old(&self) -> bool {
        self.began.is_some_and(|began| began.elapsed() >= LONGEST_GROUP)
    }

    /// Returns how long a transaction that is written waits for others to join: not at all unless many come.
    fn wait(&self) -> Option<Duration> {
        let began = self.began.filter(|_| self.previous + self.written.len() >= MANY)?;
        LONGEST_GROUP.checked_sub(began.elapsed())
    }
}

impl Writer {
    pub(crate) async fn open(options: AnyConnectOptions) -> Result<Arc<Self>, StoreError> {
        let connection = Some(connect(&options).await?);
        let connection = Arc::new(tokio::sync::Mutex::new(connection));
        Ok(Arc::new(Self { options, connection, group: Mutex::default() }))
    }

    /// Waits until the transactions before it are written.
    pub(crate) async fn turn(&self) -> Result<Turn, StoreError> {
        let locking = timeout(QUEUE_TIMEOUT, self.connection.clone().lock_owned());
        locking.await.map_err(|_| StoreError::Database(sqlx::Error::PoolTimedOut))
    }

    /// Begins a transaction; one that `is_alone` after those before it are committed. Must not be dropped before its end.
    pub(crate) async fn begin(self: Arc<Self>, mut slot: Turn, is_alone: bool) -> Result<Member, StoreError> {
        if let Some(connection) = slot.as_mut() {
            match is_alone || self.group().is_old() {
                true => self.commit(connection).await,
                false => self.undo(connection).await,
            }
        }
        if self.group().is_closed {
            return Err(StoreError::Database(sqlx::Error::PoolClosed));
        }
        if std::mem::take(&mut self.group().is_broken) {
            *slot = None;
        }
        if slot.is_none() {
            *slot = Some(connect(&self.options).await?);
        }
        let mut connection =
            OwnedMutexGuard::try_map(slot, Option::as_mut).map_err(|_| StoreError::Stopping)?;
        let is_open = self.group().began.is_some();
        if !is_open {
            // An immediate transaction waits for the file's lock here, and cannot fail later when it changes from
            // reading to writing.
            // A savepoint makes SQLite keep what each page was before.
            let begin = if is_alone { "BEGIN IMMEDIATE" } else { "BEGIN IMMEDIATE; SAVEPOINT member" };
            if let Err(error) = connection.execute(begin).await {
                self.group().is_broken = true;
                return Err(error.into());
            }
            self.group().began = Some(Instant::now());
        }
        Ok(Member { writer: self, connection, is_alone, is_written: false })
    }

    /// Commits what is written and closes the connection. The last one of a file also checkpoints the write-ahead log.
    pub(crate) async fn close(&self) {
        let mut slot = self.connection.lock().await;
        self.group().is_closed = true;
        if let Some(mut connection) = slot.take() {
            self.commit(&mut connection).await;
            let _ = connection.close().await;
        }
    }

    async fn commit_open_group(&self) {
        if let Some(connection) = self.connection.lock().await.as_mut() {
            self.commit(connection).await;
        }
    }

    /// Commits the group, if one is open.
    async fn commit(&self, connection: &mut AnyConnection) {
        self.undo(connection).await;
        if self.group().began.is_some() {
            let committed = connection.execute("COMMIT").await.map(drop);
            let committed = committed.map_err(|error| GroupError::Unsure(Arc::new(error)));
            self.end_group(connection, committed).await;
        }
    }

    /// Undoes what a transaction that was dropped has written.
    async fn undo(&self, connection: &mut AnyConnection) {
        let Some(undo) = self.group().undo.take() else { return };
        // This fails if SQLite has undone the whole group, as it does on a full disk.
        if connection.execute(undo).await.is_err() {
            self.end_group(connection, Err(GroupError::Undone)).await;
        } else if undo == UNDO_ALL {
            self.group().began = None;
        }
    }

    async fn end_group(&self, connection: &mut AnyConnection, committed: Result<(), GroupError>) {
        if committed.is_err() {
            // So that the file does not stay locked. Fails if SQLite has done so by itself.
            let _ = connection.execute("ROLLBACK").await;
        }
        let mut group = self.group();
        let ended = std::mem::take(&mut *group);
        (group.is_closed, group.is_broken) = (ended.is_closed, ended.is_broken || committed.is_err());
        group.previous = ended.written.len();
        for written in ended.written {
            let _ = written.send(committed.clone());
        }
    }

    fn group(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member {
    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }

    /// Executes `last`, and returns when the group is committed. Must not be dropped before that: if the savepoint is
    /// released, there is nothing to go back to.
    pub(crate) async fn commit(mut self, mut last: Later) -> Result<(), StoreError> {
        if !self.is_alone {
            last.add("RELEASE member");
            // For the next that joins.
            last.add("SAVEPOINT member");
        }
        last.execute(Dialect::Sqlite, &mut self.connection).await?;
        self.is_written = true;
        let writer = self.writer.clone();
        let (written, mut committed) = oneshot::channel();
        let (is_due, wait) = {
            let mut group = writer.group();
            group.written.push(written);
            (self.is_alone || group.is_old(), group.wait())
        };
        if is_due {
            writer.commit(&mut self.connection).await;
        }
        drop(self);
        if let Some(wait) = wait
            && let Ok(result) = timeout(wait, &mut committed).await
        {
            return ended(result);
        }
        // Those who wait for the connection come first, and join the group or commit it.
        tokio::select! {
            biased;
            result = &mut committed => return ended(result),
            mut slot = writer.connection.lock() => {
                if let (true, Some(connection)) = (committed.is_empty(), slot.as_mut()) {
                    writer.commit(connection).await;
                }
            }
        }
        ended(committed.await)
    }
}

/// Returns what a transaction is told of its group.
fn ended(committed: Result<Result<(), GroupError>, oneshot::error::RecvError>) -> Result<(), StoreError> {
    match committed {
        Ok(Ok(())) => Ok(()),
        Ok(Err(GroupError::Undone)) => Err(StoreError::Undone),
        Ok(Err(GroupError::Unsure(error))) => Err(StoreError::Unsure(error)),
        Err(_) => Err(StoreError::Stopping),
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.is_written {
            return;
        }
        self.writer.group().undo = Some(if self.is_alone { UNDO_ALL } else { UNDO_MEMBER });
        // So that the file does not stay locked if no other transaction follows.
        if let Ok(runtime) = Handle::try_current() {
            let writer = self.writer.clone();
            runtime.spawn(async move { writer.commit_open_group().await });
        }
    }
}

async fn connect(options: &AnyConnectOptions) -> Result<AnyConnection, sqlx::Error> {
    let mut connection = options.connect().await?;
    sqlx::raw_sql(CONNECTION_PRAGMAS).execute(&mut connection).await?;
    Ok(connection)
}
