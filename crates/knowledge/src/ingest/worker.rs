//! The jobs of the knowledge service: documents to index, files to discard, removed users' documents to delete.

use super::pipeline::{Fault, index};
use super::{Ingest, JOB};
use crate::documents::topic;
use crate::removal::{self, DISCARD, PURGE};
use crate::tables;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Handler, Job, JobError, Worker};
use store::{StoreError, Tx};
use tokio_util::sync::CancellationToken;

/// Documents in work at a time. Most wait for the encoder, which is the faster the more it is given.
const CONCURRENCY: usize = 16;
/// What has failed so often is not tried again. Killed processes do not count.
const MOST_FAILURES: i64 = 10;

pub fn worker(ingest: Ingest, lease: Duration) -> Worker {
    let db = ingest.db.clone();
    // Without an encoder, documents are left to a process that has one.
    let has_encoder = ingest.engine.as_ref().is_some_and(|engine| engine.encoder().is_some());
    let kinds: &[&str] = if has_encoder { &[JOB, DISCARD, PURGE] } else { &[DISCARD, PURGE] };
    let worker = Worker::new(db, kinds, Arc::new(ingest));
    Worker { concurrency: CONCURRENCY, lease, ..worker }
}

impl Handler for Ingest {
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            match job.kind.as_str() {
                DISCARD => self.discard(&job).await,
                PURGE => removal::purge(&self.db, &job, text(&job, "userId")).await,
                _ => self.index(&job, &stop).await,
            }
        })
    }

    fn given_up<'a>(&'a self, tx: &'a mut Tx, job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match job.kind.as_str() {
                DISCARD | PURGE => Ok(()),
                _ => {
                    // What went wrong inside is in the log, and not for everybody.
                    let why = format!("indexing failed inside: the log has it under job {}", job.id);
                    set_error(tx, job, &why, true).await
                }
            }
        })
    }
}

impl Ingest {
    async fn index(&self, job: &Job, stop: &CancellationToken) -> Result<(), JobError> {
        let Some(document) = tables::documents::get(&self.db, text(job, "documentId")).await? else {
            return self.complete(job).await;
        };
        match index(self, &document, job, stop).await {
            Ok(()) => Ok(()),
            Err(Fault::File(why)) => {
                let mut tx = self.db.begin().await?;
                set_error(&mut tx, job, &why, false).await?;
                jobs::complete(&mut tx, job).await?;
                Ok(tx.commit().await?)
            }
            Err(Fault::Outage(why)) => Err(JobError::retry(why)),
            Err(Fault::Ours(why)) => match self.count_failure(&document.id).await? {
                1..MOST_FAILURES => Err(JobError::retry(why)),
                _ => Err(JobError::never(why)),
            },
            Err(Fault::Stopped) => Err(JobError::never("nobody wants it any more")),
        }
    }

    /// Removes a file that no document has.
    async fn discard(&self, job: &Job) -> Result<(), JobError> {
        let (user_id, object_key) = (text(job, "userId"), text(job, "objectKey"));
        if !tables::documents::has_object(&self.db, user_id, object_key).await? {
            let deleted = self.blobs.delete(object_key).await;
            deleted.map_err(|error| JobError::retry(error.to_string()))?;
        }
        self.complete(job).await
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

async fn set_error(tx: &mut Tx, job: &Job, why: &str, is_ours: bool) -> Result<(), StoreError> {
    let user_id = text(job, "userId");
    let Some(revision) = tables::users::next_revision(tx, user_id).await? else { return Ok(()) };
    tables::documents::set_error(tx, text(job, "documentId"), job.id, why, is_ours, revision).await?;
    tx.wake(&topic(user_id));
    Ok(())
}

fn text<'a>(job: &'a Job, name: &str) -> &'a str {
    job.payload[name].as_str().unwrap_or_default()
}
