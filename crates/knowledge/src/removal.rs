//! Removing users and documents: invisible at once, deleted in portions.
//!
//! Deleting 100,000 chunks takes SQLite many seconds, in which nothing else could be written. So a removed user is only
//! marked, and a document of many chunks is given to such a user. A job then deletes what removed users own, a little in each
//! transaction; killed, it goes on where it was.

use crate::documents::{Status, topic};
use crate::tables::documents::{self, Doomed};
use crate::tables::{chunks, users};
use serde_json::json;
use store::jobs::{self, Job, JobError, NewJob};
use store::{Db, StoreError, Tx};

/// Removes an object that no document has. Run after the transaction that makes it so.
pub const DISCARD: &str = "discard";
/// Deletes what a removed user owns, and then the user.
pub const PURGE: &str = "purge";

/// Chunks that are deleted in one transaction: some 50 ms.
const PORTION: i64 = 500;

pub fn discard(user_id: &str, object_key: &str) -> NewJob {
    let payload = json!({ "userId": user_id, "objectKey": object_key });
    NewJob::retried_forever(DISCARD, payload)
}

/// False where there is no such user.
pub async fn remove_user(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    // Locks the user: no upload can come in between.
    if !users::set_removed(tx, id).await? {
        return Ok(false);
    }
    enqueue_purge(tx, id).await?;
    tx.wake(&topic(id));
    Ok(true)
}

/// Removes a document in one of these states, with all that came of it. Its file goes by a job of the same
/// transaction. False where there is no such document.
pub async fn remove_document(
    tx: &mut Tx,
    user_id: &str,
    id: &str,
    statuses: &[Status],
) -> Result<bool, StoreError> {
    // The user first, as every writer of documents does.
    users::next_removal(tx, user_id).await?;
    let Some(document) = documents::find_doomed(tx, user_id, id, statuses).await? else { return Ok(false) };
    if document.chunk_count <= PORTION {
        delete(tx, user_id, &document).await?;
    } else {
        set_aside(tx, user_id, &document).await?;
    }
    tx.wake(&topic(user_id));
    Ok(true)
}

/// Removes those in state `error`, and returns how many.
pub async fn remove_failed(db: &Db, user_id: &str) -> Result<usize, StoreError> {
    let all = documents::of_user(db, user_id).await?;
    let mut removed = 0;
    for document in all.iter().filter(|document| document.status == Status::Error) {
        let mut tx = db.begin().await?;
        removed += usize::from(remove_document(&mut tx, user_id, &document.id, &[Status::Error]).await?);
        tx.commit().await?;
    }
    Ok(removed)
}

async fn set_aside(tx: &mut Tx, user_id: &str, document: &Doomed) -> Result<(), StoreError> {
    let removed = tx.db().random().uuid_v4().to_string();
    users::insert_removed(tx, &removed).await?;
    forget(tx, user_id, document).await?;
    documents::set_aside(tx, &document.id, &removed).await?;
    enqueue_purge(tx, &removed).await
}

async fn delete(tx: &mut Tx, user_id: &str, document: &Doomed) -> Result<(), StoreError> {
    forget(tx, user_id, document).await?;
    documents::delete(tx, &document.id).await
}

/// Ends the work on a document, and lets its file go.
async fn forget(tx: &mut Tx, user_id: &str, document: &Doomed) -> Result<(), StoreError> {
    if let Some(job) = document.job_id {
        jobs::cancel(tx, job).await?;
    }
    if !document.object_key.is_empty() {
        jobs::enqueue(tx, discard(user_id, &document.object_key)).await?;
    }
    Ok(())
}

async fn enqueue_purge(tx: &mut Tx, user_id: &str) -> Result<(), StoreError> {
    let job = NewJob::retried_forever(PURGE, json!({ "userId": user_id }));
    jobs::enqueue(tx, job).await.map(drop)
}

/// Deletes all that a removed user owns, a portion in each transaction.
pub async fn purge(db: &Db, job: &Job, user_id: &str) -> Result<(), JobError> {
    loop {
        let mut tx = db.begin().await?;
        jobs::hold(&mut tx, job).await?;
        let is_done = delete_portion(&mut tx, user_id).await?;
        if is_done {
            users::delete_removed(&mut tx, user_id).await?;
            jobs::complete(&mut tx, job).await?;
        }
        tx.commit().await?;
        if is_done {
            return Ok(());
        }
    }
}

/// True where nothing is left.
async fn delete_portion(tx: &mut Tx, user_id: &str) -> Result<bool, StoreError> {
    let mut room = PORTION;
    for document in documents::some_doomed(tx, user_id, PORTION).await? {
        if room <= 0 {
            return Ok(false);
        }
        if document.chunk_count > room {
            let deleted = chunks::delete_some(tx, &document.id, room).await?;
            let left = if deleted < room { 0 } else { document.chunk_count - deleted };
            documents::set_chunk_count(tx, &document.id, left).await?;
            return Ok(false);
        }
        delete(tx, user_id, &document).await?;
        room -= document.chunk_count.max(1);
    }
    // Those that were listed are gone: whether there are others, the next portion sees.
    Ok(room == PORTION)
}
