//! The jobs of the knowledge service: documents to index, files to discard, removed users' documents to delete.

use super::Ingest;
use super::error::IndexingError;
use super::pipeline::index;
use crate::jobs::{DISCARD, DiscardPayload, INGEST, IngestPayload, PURGE, PurgePayload, discard, payload};
use crate::records::documents_topic;
use crate::{removal, tables};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Handler, Job, JobError, NewJob, Worker};
use store::{StoreError, Tx, hold};
use tokio_util::sync::CancellationToken;

/// Documents that are indexed at the same time. Most of them wait for the encoder, which is faster in large batches.
const CONCURRENCY: usize = 16;
/// A document that has failed so often is not retried. Killed processes do not count.
const MOST_FAILURES: i64 = 10;
/// How long the removal of a file waits while objects are held.
const HELD_PAUSE: Duration = Duration::from_secs(5);

pub fn worker(ingest: Ingest, lease: Duration) -> Worker {
    let db = ingest.db.clone();
    // Without an encoder, documents are left to a process that has one.
    let has_encoder = ingest.engine.as_ref().is_some_and(|engine| engine.encoder().is_some());
    let kinds: &[&str] = if has_encoder { &[INGEST, DISCARD, PURGE] } else { &[DISCARD, PURGE] };
    let worker = Worker::new(db, kinds, Arc::new(ingest));
    Worker { concurrency: CONCURRENCY, lease, ..worker }
}

impl Handler for Ingest {
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            match job.kind.as_str() {
                DISCARD => self.discard(&job).await,
                PURGE => removal::purge(&self.db, &job, &payload::<PurgePayload>(&job)?.user_id).await,
                _ => self.index(&job, &stop).await,
            }
        })
    }

    fn given_up<'a>(&'a self, tx: &'a mut Tx, job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match (job.kind.as_str(), payload::<IngestPayload>(job)) {
                (DISCARD | PURGE, _) | (_, Err(_)) => Ok(()),
                (_, Ok(indexed)) => {
                    // The cause is in the log: it may tell of the inside of the service.
                    let why = format!("indexing failed inside: the log has it under job {}", job.id);
                    set_error(tx, job, &indexed, &why, true).await
                }
            }
        })
    }
}

impl Ingest {
    async fn index(&self, job: &Job, stop: &CancellationToken) -> Result<(), JobError> {
        let indexed: IngestPayload = payload(job)?;
        let Some(document) = tables::documents::get(&self.db, &indexed.document_id).await? else {
            return self.complete(job).await;
        };
        let document = self.with_next_file(document).await?;
        match index(self, &document, job, stop).await {
            Ok(()) => Ok(()),
            Err(IndexingError::File(why)) => {
                let mut tx = self.db.begin().await?;
                set_error(&mut tx, job, &indexed, &why, false).await?;
                jobs::complete(&mut tx, job).await?;
                Ok(tx.commit().await?)
            }
            Err(IndexingError::Outage(why)) => Err(JobError::retry(why)),
            Err(IndexingError::Ours(why)) => match self.count_failure(&document.id).await? {
                1..MOST_FAILURES => Err(JobError::retry(why)),
                _ => Err(JobError::never(why)),
            },
            Err(IndexingError::Archive) => Err(JobError::never("an archive within an archive")),
            Err(IndexingError::Stopped) => Err(JobError::never("the document was deleted")),
        }
    }

    /// Removes a file that no document has. Waits while a backup may still need it.
    async fn discard(&self, job: &Job) -> Result<(), JobError> {
        let DiscardPayload { user_id, object_key } = payload(job)?;
        if hold::is_held(&self.db).await? {
            return self.postpone(job, discard(&user_id, &object_key)).await;
        }
        let is_used = tables::documents::has_object(&self.db, &user_id, &object_key).await?
            || tables::files::has_object(&self.db, &user_id, &object_key).await?
            || tables::snapshots::has_object(&self.db, &user_id, &object_key).await?;
        if !is_used {
            let deleted = self.blobs.delete(&object_key).await;
            deleted.map_err(|error| JobError::retry(error.to_string()))?;
        }
        self.complete(job).await
    }

    /// Ends the job in favour of another one that does the same later.
    async fn postpone(&self, job: &Job, again: NewJob) -> Result<(), JobError> {
        let run_at = self.clock.now_ms() + HELD_PAUSE.as_millis() as i64;
        let mut tx = self.db.begin().await?;
        jobs::enqueue(&mut tx, NewJob { run_at: Some(run_at), ..again }).await?;
        jobs::complete(&mut tx, job).await?;
        Ok(tx.commit().await?)
    }

    async fn count_failure(&self, id: &str) -> Result<i64, StoreError> {
        let mut tx = self.db.begin().await?;
        let failures = tables::documents::count_failure(&mut tx, id).await?;
        tx.commit().await?;
        Ok(failures)
    }

    async fn complete(&self, job: &Job) -> Result<(), JobError> {
        let mut tx = self.db.begin().await?;
        jobs::complete(&mut tx, job).await?;
        Ok(tx.commit().await?)
    }
}

async fn set_error(
    tx: &mut Tx,
    job: &Job,
    indexed: &IngestPayload,
    why: &str,
    is_ours: bool,
) -> Result<(), StoreError> {
    let IngestPayload { document_id, user_id, .. } = indexed;
    let Some(revision) = tables::users::next_revision(tx, user_id).await? else { return Ok(()) };
    tables::documents::set_error(tx, document_id, job.id, why, is_ours, revision).await?;
    tx.wake(&documents_topic(user_id));
    Ok(())
}
