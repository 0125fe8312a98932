//! Removes users and documents: they are invisible at once, and deleted in batches.
//!
//! Deleting 100,000 chunks takes SQLite many seconds, in which nothing else could be written. So a removed user is only
//! marked, and a document of many chunks is given to such a user. A job then deletes what removed users own, a batch in each
//! transaction. If it is killed, it continues with what is left.

use crate::indexes;
use crate::jobs::{PURGE, PurgePayload, discard, retried_job};
use crate::records::{Status, documents_topic};
use crate::tables::documents::{self, DocumentToDelete};
use crate::tables::{chunks, conversations, files, source_items, users};
use store::jobs::{self, Job, JobError};
use store::{Db, StoreError, Tx};

/// Chunks that are deleted in one transaction, which takes about 50 ms.
const BATCH: i64 = 500;

/// Removes a user with all documents. Returns false if there is no such user.
pub async fn remove_user(tx: &mut Tx, id: &str) -> Result<bool, StoreError> {
    // This locks the user, so that no document can be added at the same time.
    if !users::set_removed(tx, id).await? {
        return Ok(false);
    }
    enqueue_purge(tx, id).await?;
    tx.wake(&documents_topic(id));
    Ok(true)
}

/// Removes a document with one of these statuses. Its file is removed by a job of the same transaction. Returns false if
/// there is no such document.
pub async fn remove_document(
    tx: &mut Tx,
    user_id: &str,
    id: &str,
    statuses: &[Status],
) -> Result<bool, StoreError> {
    // The user is locked first, as in every transaction that writes documents.
    users::next_removal(tx, user_id).await?;
    let Some(document) = documents::find_to_delete(tx, user_id, id, statuses).await? else {
        return Ok(false);
    };
    source_items::forget_document(tx, id).await?;
    indexes::note_change(tx, user_id, document.chunk_count).await?;
    if document.chunk_count <= BATCH {
        delete(tx, user_id, &document).await?;
    } else {
        set_aside(tx, user_id, &document).await?;
    }
    tx.wake(&documents_topic(user_id));
    Ok(true)
}

/// Removes documents whose time has come, and returns how many.
pub async fn remove_expired(db: &Db, now: i64) -> Result<usize, StoreError> {
    let expired = documents::expired(db, now, BATCH).await?;
    let mut removed = 0;
    for document in &expired {
        let mut tx = db.begin().await?;
        // The date may have been changed meanwhile.
        users::next_removal(&mut tx, &document.user_id).await?;
        let found = documents::get_in(&mut tx, &document.id).await?;
        if found.and_then(|document| document.expires_at).is_some_and(|at| at <= now) {
            remove_document(&mut tx, &document.user_id, &document.id, &Status::ALL).await?;
            removed += 1;
        }
        tx.commit().await?;
    }
    Ok(removed)
}

async fn set_aside(tx: &mut Tx, user_id: &str, document: &DocumentToDelete) -> Result<(), StoreError> {
    let removed = tx.db().random().uuid_v4().to_string();
    users::insert_removed(tx, &removed).await?;
    release(tx, user_id, document).await?;
    documents::set_aside(tx, &document.id, &removed).await?;
    enqueue_purge(tx, &removed).await
}

async fn delete(tx: &mut Tx, user_id: &str, document: &DocumentToDelete) -> Result<(), StoreError> {
    release(tx, user_id, document).await?;
    documents::delete(tx, &document.id).await
}

/// Cancels the job of a document, and enqueues the removal of its files.
async fn release(tx: &mut Tx, user_id: &str, document: &DocumentToDelete) -> Result<(), StoreError> {
    if let Some(job) = document.job_id {
        jobs::cancel(tx, job).await?;
    }
    if document.object_key.is_empty() {
        return Ok(());
    }
    jobs::enqueue(tx, discard(user_id, &document.object_key)).await?;
    for file in files::of_document(tx.conn(), &document.id).await? {
        jobs::enqueue(tx, discard(user_id, &file.object_key)).await?;
        files::delete(tx, &document.id, file.version).await?;
    }
    Ok(())
}

async fn enqueue_purge(tx: &mut Tx, user_id: &str) -> Result<(), StoreError> {
    let job = retried_job(PURGE, PurgePayload { user_id: user_id.to_owned() });
    jobs::enqueue(tx, job).await.map(drop)
}

/// Deletes all that a removed user owns, a batch in each transaction.
pub async fn purge(db: &Db, job: &Job, user_id: &str) -> Result<(), JobError> {
    loop {
        let mut tx = db.begin().await?;
        jobs::hold(&mut tx, job).await?;
        let is_done = delete_batch(&mut tx, user_id).await?;
        if is_done {
            indexes::discard_all(&mut tx, user_id).await?;
            users::delete_removed(&mut tx, user_id).await?;
            jobs::complete(&mut tx, job).await?;
        }
        tx.commit().await?;
        if is_done {
            return Ok(());
        }
    }
}

/// Returns true if nothing is left.
async fn delete_batch(tx: &mut Tx, user_id: &str) -> Result<bool, StoreError> {
    for owner in users::owners_of_files(tx, user_id).await? {
        Box::pin(remove_user(tx, &owner)).await?;
    }
    if conversations::delete_some(tx, user_id, BATCH).await? > 0 {
        return Ok(false);
    }
    let mut room = BATCH;
    for document in documents::some_to_delete(tx, user_id, BATCH).await? {
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
    // All documents of this batch are deleted. The next one finds out whether there are others.
    Ok(room == BATCH)
}
