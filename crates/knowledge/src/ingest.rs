//! From an upload to a searchable document.
//!
//! `submit` stores the file and, in one transaction, the document with its job. The job runs the `pipeline` and ends
//! with one transaction that makes all of the document visible. Killed anywhere, it starts again from the stored file.

mod pipeline;
mod progress;
mod upload;
mod worker;

pub use upload::{LONGEST_TITLE, Spool, Upload, UploadError, clean_filename, parse_metadata};
pub use worker::worker;

use crate::accounts::User;
use crate::documents::{Document, Metadata, Status, topic};
use crate::{removal, tables};
use base::{Clock, Random};
use extract::Extractor;
use inference::Engine;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Cancel, NewJob};
use store::{BlobError, Blobs, Db, StoreError};
use strum::EnumString;
use tokio::sync::Semaphore;

const JOB: &str = "ingest";
/// A process may die of something else many times while it has a document in hand. What the files themselves could do
/// happens in children.
const MOST_DEATHS: i64 = 100;
/// For the case that a wake-up is lost.
const FALLBACK_POLL: Duration = Duration::from_secs(2);
/// A file that no document has is removed after this long, and a second more for each of so many bytes.
const STORING_TAKES: Duration = Duration::from_secs(20);
const SLOWEST_STORE: u64 = 1 << 20;
/// How much of files may be in memory at a time.
const MEMORY_FOR_FILES: usize = 128 << 20;

#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error("storing the file took too long")]
    TooSlow,
    #[error("the user was removed meanwhile")]
    OwnerGone,
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("reading the upload back: {0}")]
    Spool(std::io::Error),
}

/// What becomes of a file whose content a document of the same user already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Duplicates {
    /// That document stands for it.
    #[default]
    Reuse,
    /// It becomes a document of its own.
    Keep,
}

impl Duplicates {
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// The document of a file that was taken.
pub struct Submitted {
    pub document: Document,
    /// Whether it had the same content before.
    pub is_duplicate: bool,
}

#[derive(Clone)]
pub struct Ingest {
    db: Db,
    blobs: Blobs,
    clock: Clock,
    random: Random,
    engine: Option<Arc<Engine>>,
    extractor: Arc<Extractor>,
    /// Bytes of files that may be taken into memory.
    memory: Arc<Semaphore>,
}

impl Ingest {
    pub fn new(
        db: Db,
        blobs: Blobs,
        clock: Clock,
        random: Random,
        engine: Option<Arc<Engine>>,
        extractor: Extractor,
    ) -> Self {
        let memory = Arc::new(Semaphore::new(MEMORY_FOR_FILES));
        Self { db, blobs, clock, random, engine, extractor: Arc::new(extractor), memory }
    }

    /// Stores the file and remembers what is to be done with it. The document is `processing` then, and durable. If
    /// another document stands for the file, nothing is stored and its metadata stays as it is.
    pub async fn submit(
        &self,
        owner: &User,
        upload: Upload,
        metadata: Metadata,
        duplicates: Duplicates,
    ) -> Result<Submitted, IngestError> {
        if duplicates == Duplicates::Reuse {
            let original =
                tables::documents::original(self.db.read(), &owner.id, upload.spool.hash()).await?;
            if let Some(document) = original {
                return Ok(Submitted { document, is_duplicate: true });
            }
        }
        let id = self.random.uuid_v7(&self.clock).to_string();
        let mut document = Document {
            title: metadata.get("title").unwrap_or(&upload.filename).clone(),
            object_key: format!("users/{}/documents/{id}-{}", owner.id, upload.filename),
            id,
            user_id: owner.id.clone(),
            filename: upload.filename.clone(),
            content_hash: upload.spool.hash().to_owned(),
            size: i64::try_from(upload.spool.size()).unwrap_or(i64::MAX),
            uploaded_at: self.clock.now_ms(),
            metadata,
            status: Status::Processing,
            progress: 0,
            error: None,
            error_is_ours: false,
            chunk_count: 0,
            graph_nodes: 0,
            encoder: String::new(),
            job_id: None,
            revision: 0,
        };
        let discard = self.intend_to_store(&document).await?;
        let stored = self.store(&document, upload.spool).await;
        let remembered = match stored {
            Ok(()) => self.remember(&mut document, discard, duplicates).await,
            Err(error) => Err(error),
        };
        match remembered {
            Ok(None) => Ok(Submitted { document, is_duplicate: false }),
            Ok(Some(original)) => {
                // The job would do it as well, but later.
                let _ = self.blobs.delete(&document.object_key).await;
                Ok(Submitted { document: original, is_duplicate: true })
            }
            // A commit may have succeeded and only its answer been lost: what becomes of the file, the job decides.
            // Nor does it help to ask a store that has just failed.
            Err(error @ (IngestError::Store(_) | IngestError::Blob(_))) => Err(error),
            Err(error) => {
                let _ = self.blobs.delete(&document.object_key).await;
                Err(error)
            }
        }
    }

    /// Should we die between storing the file and remembering the document, this job removes the file.
    async fn intend_to_store(&self, document: &Document) -> Result<i64, IngestError> {
        let seconds = document.size.unsigned_abs() / SLOWEST_STORE;
        let patience = STORING_TAKES + Duration::from_secs(seconds);
        let mut job = removal::discard(&document.user_id, &document.object_key);
        job.run_at = Some(self.clock.now_ms() + patience.as_millis() as i64);
        let mut tx = self.db.begin().await?;
        let id = jobs::enqueue(&mut tx, job).await?;
        tx.commit().await?;
        Ok(id)
    }

    async fn store(&self, document: &Document, spool: Spool) -> Result<(), IngestError> {
        let limit = spool.size();
        let source = spool.into_stream().map_err(IngestError::Spool)?;
        self.blobs.put_stream(&document.object_key, source, limit).await?;
        Ok(())
    }

    /// Returns the document that the same content has meanwhile become; nothing is remembered then.
    async fn remember(
        &self,
        document: &mut Document,
        discard: i64,
        duplicates: Duplicates,
    ) -> Result<Option<Document>, IngestError> {
        let mut tx = self.db.begin().await?;
        let revision = tables::users::next_revision(&mut tx, &document.user_id).await?;
        let revision = revision.ok_or(IngestError::OwnerGone)?;
        if duplicates == Duplicates::Reuse {
            let (user_id, hash) = (&document.user_id, &document.content_hash);
            let original = tables::documents::original(tx.conn(), user_id, hash).await?;
            if original.is_some() {
                return Ok(original);
            }
        }
        if jobs::cancel(&mut tx, discard).await? != Cancel::Cancelled {
            return Err(IngestError::TooSlow);
        }
        let waiting = tables::documents::count_processing(&mut tx, &document.user_id).await?;
        let job = jobs::enqueue(&mut tx, job_for(document, waiting)).await?;
        document.job_id = Some(job);
        document.revision = revision;
        tables::documents::insert(&mut tx, document, revision).await?;
        tx.wake(&topic(&document.user_id));
        tx.commit().await?;
        Ok(None)
    }

    /// Runs every document of a user again that is not being worked on, from its stored file. Returned are their ids.
    pub async fn resubmit_all(&self, user_id: &str) -> Result<Vec<String>, StoreError> {
        let all = tables::documents::of_user(&self.db, user_id).await?;
        let mut resubmitted = Vec::new();
        for document in all.iter().rev().filter(|document| document.status != Status::Processing) {
            let mut tx = self.db.begin().await?;
            let Some(revision) = tables::users::next_revision(&mut tx, user_id).await? else { break };
            let waiting = tables::documents::count_processing(&mut tx, user_id).await?;
            let job = jobs::enqueue(&mut tx, job_for(document, waiting)).await?;
            if !tables::documents::set_processing(&mut tx, &document.id, job, revision).await? {
                // Deleted, or taken up by somebody else meanwhile: the job goes with the transaction.
                continue;
            }
            tx.wake(&topic(user_id));
            tx.commit().await?;
            resubmitted.push(document.id.clone());
        }
        Ok(resubmitted)
    }

    /// Waits until a document is `indexed` or in `error`. None where it is deleted meanwhile.
    pub async fn finished(&self, user_id: &str, id: &str) -> Result<Option<Document>, StoreError> {
        let mut changed = self.db.subscribe(&topic(user_id));
        loop {
            match tables::documents::get(&self.db, id).await? {
                Some(document) if document.status == Status::Processing => {}
                ended => return Ok(ended),
            }
            let _ = tokio::time::timeout(FALLBACK_POLL, changed.notified()).await;
        }
    }
}

/// Whoever waits for much already waits longer: so the first documents of everybody go before the hundredth of one.
fn job_for(document: &Document, already_waiting: i64) -> NewJob {
    let payload = json!({ "documentId": document.id, "userId": document.user_id });
    NewJob { priority: -already_waiting, max_attempts: MOST_DEATHS, ..NewJob::new(JOB, payload) }
}
