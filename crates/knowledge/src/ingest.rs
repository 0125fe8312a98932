//! From an upload to a searchable document.
//!
//! `submit` stores the file and, in one transaction, the document with its job. The job runs the `pipeline` and ends
//! with one transaction that makes all of the document visible. If it is killed, it starts again from the stored file.

mod archive;
mod error;
mod moving;
mod new_file;
mod pipeline;
mod progress;
mod reading;
mod upload;
mod versions;
mod worker;

pub use error::IndexingError;
pub use moving::MoveError;
pub use new_file::{DocumentOwner, Duplicates, ItemOrigin, NewFile, Origin, SameName, Submitted};
pub use upload::{LONGEST_TITLE, Spool, Upload, UploadError, clean_filename, parse_metadata};
pub use versions::RestoreError;
pub use worker::worker;

use crate::jobs::{INGEST, IngestPayload, discard, new_job};
use crate::quotas::Quotas;
use crate::records::{Document, SourceItem, Status, documents_topic};
use crate::{media_type, tables};
use base::{Clock, Random};
use extract::Extractor;
use inference::Engine;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Cancel, NewJob};
use store::{BlobError, Blobs, Db, StoreError, Tx};
use tokio::sync::Semaphore;

/// How often a process may die while it indexes a document. Files are read in child processes, so it is hardly ever the
/// file's fault.
const MOST_DEATHS: i64 = 100;
/// A file without a document is removed after this time, plus a second for each of so many bytes.
const STORING_TAKES: Duration = Duration::from_secs(20);
const SLOWEST_STORE: u64 = 1 << 20;
/// Bytes of files that may be in memory at the same time.
const MEMORY_FOR_FILES: usize = 128 << 20;
/// Files that are read again at the same time, for texts that are not stored yet.
const REREAD_AT_ONCE: usize = 2;
/// The error of a document whose indexing was cancelled.
pub const CANCELLED: &str = "cancelled";

#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error("this would be {bytes} bytes of files, and {quota} bytes are the most: delete something first")]
    OverQuota { bytes: u64, quota: u64 },
    #[error("storing the file took too long")]
    TooSlow,
    #[error("the user was removed meanwhile")]
    OwnerGone,
    #[error("the source was changed meanwhile")]
    RunEnded,
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("reading the upload back: {0}")]
    Spool(std::io::Error),
}

/// How a submitted file is added.
struct Adding<'a> {
    /// The job that would remove the file.
    discard: i64,
    duplicates: Duplicates,
    origin: Origin<'a>,
}

#[derive(Clone)]
pub struct Ingest {
    db: Db,
    blobs: Blobs,
    clock: Clock,
    random: Random,
    engine: Option<Arc<Engine>>,
    extractor: Arc<Extractor>,
    /// A permit for each byte of a file in memory.
    memory: Arc<Semaphore>,
    rereading: Arc<Semaphore>,
    settings: IngestSettings,
}

#[derive(Clone)]
pub struct IngestSettings {
    pub quotas: Quotas,
    /// Holds the files of an archive until they are stored.
    pub spool_folder: PathBuf,
}

impl Ingest {
    pub fn new(
        db: Db,
        blobs: Blobs,
        clock: Clock,
        random: Random,
        engine: Option<Arc<Engine>>,
        extractor: Extractor,
        settings: IngestSettings,
    ) -> Self {
        let memory = Arc::new(Semaphore::new(MEMORY_FOR_FILES));
        let rereading = Arc::new(Semaphore::new(REREAD_AT_ONCE));
        Self { db, blobs, clock, random, engine, extractor: Arc::new(extractor), memory, rereading, settings }
    }

    /// Stores the file, and adds the document with its job. The document is `processing` then, and durable. If another
    /// document has the same content and is reused, nothing is stored and its metadata stays as it is. If another has the
    /// same name and is replaced, it stays as it is until the new file is indexed.
    pub async fn submit(&self, file: NewFile<'_>) -> Result<Submitted, IngestError> {
        let NewFile { owner, upload, metadata, duplicates, origin, expires_at } = file;
        if duplicates == Duplicates::Reuse && origin.is_of_its_own() {
            let original = tables::documents::original(self.db.read(), owner.id, upload.spool.hash()).await?;
            if let Some(document) = original.filter(|document| document.source_id.is_empty()) {
                return Ok(Submitted { document, is_duplicate: true });
            }
        }
        let (source_id, archive_id) = match &origin {
            Origin::Upload(_) | Origin::Copy(_) => ("", ""),
            Origin::Item(item) => (item.source_id, ""),
            Origin::Archive(archive) => (archive.source_id.as_str(), archive.id.as_str()),
        };
        let id = self.random.uuid_v7(&self.clock).to_string();
        let document = Document {
            title: metadata.get("title").unwrap_or(&upload.filename).clone(),
            object_key: format!("users/{}/documents/{id}-{}", owner.id, upload.filename),
            id,
            user_id: owner.id.to_owned(),
            added_by: owner.added_by.to_owned(),
            version: 1,
            media_type: media_type::of_content(&upload.filename, upload.spool.head()),
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
            source_id: source_id.to_owned(),
            archive_id: archive_id.to_owned(),
            expires_at,
        };
        let object_key = document.object_key.clone();
        let discard = self.intend_to_store(&document).await?;
        let added = match self.store(&document, upload.spool).await {
            Ok(()) => self.add(document, Adding { discard, duplicates, origin }).await,
            Err(error) => Err(error),
        };
        let is_stored = match &added {
            Ok(submitted) => !submitted.is_duplicate,
            // The commit may have succeeded although its answer was lost, so the job decides whether the file is removed.
            // A store that has just failed is not asked either.
            Err(error) => matches!(error, IngestError::Store(_) | IngestError::Blob(_)),
        };
        if !is_stored {
            // The job would do this too, but later.
            let _ = self.blobs.delete(&object_key).await;
        }
        added
    }

    /// Enqueues a job that removes the file if the process dies before the document is added.
    async fn intend_to_store(&self, document: &Document) -> Result<i64, IngestError> {
        let seconds = document.size.unsigned_abs() / SLOWEST_STORE;
        let patience = STORING_TAKES + Duration::from_secs(seconds);
        let mut job = discard(&document.user_id, &document.object_key);
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

    /// Adds the document with its job, or the file to a document that it replaces. If another request has added the same
    /// content meanwhile, returns that document instead.
    async fn add(&self, mut document: Document, adding: Adding<'_>) -> Result<Submitted, IngestError> {
        let mut tx = self.db.begin().await?;
        let revision = tables::users::next_revision(&mut tx, &document.user_id).await?;
        let revision = revision.ok_or(IngestError::OwnerGone)?;
        if let Origin::Item(of) = &adding.origin
            && !tables::sources::hold(&mut tx, of.source_id, of.job_id).await?
        {
            return Err(IngestError::RunEnded);
        }
        let replaced = versions::replaced_by(&mut tx, &document, &adding.origin).await?;
        if adding.duplicates == Duplicates::Reuse {
            let (user_id, hash) = (&document.user_id, &document.content_hash);
            let original = tables::documents::original(tx.conn(), user_id, hash).await?;
            if let Some(original) = original.filter(|original| reuses(original, replaced.as_ref(), &adding)) {
                return versions::reuse(tx, original, replaced, adding.origin).await;
            }
        }
        if jobs::cancel(&mut tx, adding.discard).await? != Cancel::Cancelled {
            return Err(IngestError::TooSlow);
        }
        self.check_quota(&mut tx, &document.user_id, document.size).await?;
        let waiting = tables::documents::count_processing(tx.conn(), &document.user_id).await?;
        if let Some(replaced) = replaced {
            let expires_at = match adding.origin {
                Origin::Upload(_) | Origin::Copy(_) => document.expires_at,
                Origin::Item(_) | Origin::Archive(_) => replaced.expires_at,
            };
            let replaced = Document { expires_at, ..replaced };
            document =
                versions::add_next(&mut tx, replaced, document.file_version(), waiting, revision).await?;
            tables::documents::set_expiry(&mut tx, &document.id, expires_at, revision).await?;
        } else {
            let job = job_copying(&document, waiting, adding.origin.copied_from());
            document.job_id = Some(jobs::enqueue(&mut tx, job).await?);
            document.revision = revision;
            tables::documents::insert(&mut tx, &document, revision).await?;
        }
        if let Origin::Item(ItemOrigin { source_id, item, .. }) = adding.origin {
            let (content_hash, document_id) = (document.content_hash.clone(), document.id.clone());
            tables::source_items::put(&mut tx, source_id, &SourceItem { content_hash, document_id, ..item })
                .await?;
        }
        tx.wake(&documents_topic(&document.user_id));
        tx.commit().await?;
        Ok(Submitted { document, is_duplicate: false })
    }

    /// Returns the quota of an owner, in bytes; none if there is no limit.
    pub async fn quota_of(&self, tx: &mut Tx, owner_id: &str) -> Result<Option<i64>, StoreError> {
        self.settings.quotas.of(tx, owner_id).await
    }

    /// Checks that an owner may have so many more bytes of files.
    async fn check_quota(&self, tx: &mut Tx, owner_id: &str, more: i64) -> Result<(), IngestError> {
        // The files of conversations count for their user.
        let user = tables::users::files_of(tx.conn(), owner_id).await?;
        let owner_id = user.as_deref().unwrap_or(owner_id);
        let Some(quota) = self.quota_of(tx, owner_id).await? else { return Ok(()) };
        let bytes = tables::documents::bytes_of(tx, owner_id).await? + more;
        match bytes <= quota {
            true => Ok(()),
            false => Err(IngestError::OverQuota { bytes: bytes.unsigned_abs(), quota: quota.unsigned_abs() }),
        }
    }

    /// Submits every document of a user again that is not being processed, and returns their ids.
    pub async fn resubmit_all(&self, user_id: &str) -> Result<Vec<String>, StoreError> {
        let all = tables::documents::of_user(&self.db, user_id).await?;
        let mut resubmitted = Vec::new();
        for document in all.iter().rev().filter(|document| document.status != Status::Processing) {
            if self.resubmit(document).await? {
                resubmitted.push(document.id.clone());
            }
        }
        Ok(resubmitted)
    }

    /// Submits a document again. Returns false if it is being processed, or was deleted or moved meanwhile.
    pub async fn resubmit(&self, document: &Document) -> Result<bool, StoreError> {
        let Document { id, user_id, .. } = document;
        let mut tx = self.db.begin().await?;
        let Some(revision) = tables::users::next_revision(&mut tx, user_id).await? else { return Ok(false) };
        let waiting = tables::documents::count_processing(tx.conn(), user_id).await?;
        let job = jobs::enqueue(&mut tx, job_for(document, waiting)).await?;
        let is_there = tables::documents::get_of(&mut tx, user_id, id).await?.is_some();
        if !is_there || !tables::documents::set_processing(&mut tx, id, job, revision).await? {
            // The job is rolled back with the transaction.
            return Ok(false);
        }
        tx.wake(&documents_topic(user_id));
        tx.commit().await?;
        Ok(true)
    }

    /// Ends the work on a document, which becomes an error. What it had been indexed to before stays. Returns false if it
    /// is not being processed.
    pub async fn cancel(&self, document: &Document) -> Result<bool, StoreError> {
        let Document { id, user_id, .. } = document;
        let mut tx = self.db.begin().await?;
        let Some(revision) = tables::users::next_revision(&mut tx, user_id).await? else { return Ok(false) };
        let current = tables::documents::get_of(&mut tx, user_id, id).await?;
        let Some(job) = current.and_then(|document| document.job_id) else { return Ok(false) };
        jobs::cancel(&mut tx, job).await?;
        tables::documents::set_error(&mut tx, id, job, CANCELLED, false, revision).await?;
        tx.wake(&documents_topic(user_id));
        tx.commit().await?;
        Ok(true)
    }

    /// Waits until a document is `indexed` or in `error`. Returns none if it was deleted meanwhile.
    pub async fn finished(&self, user_id: &str, id: &str) -> Result<Option<Document>, StoreError> {
        let mut changed = self.db.subscribe(&documents_topic(user_id));
        loop {
            match tables::documents::get(&self.db, id).await? {
                Some(document) if document.status == Status::Processing => {}
                ended => return Ok(ended),
            }
            changed.notified_or_poll().await;
        }
    }
}

/// Returns whether a document with the same content is used for a file. A person who replaces a document by its name wants
/// the file there, whatever else has its content.
fn reuses(original: &Document, replaced: Option<&Document>, adding: &Adding<'_>) -> bool {
    let is_upload = matches!(adding.origin, Origin::Upload(_) | Origin::Copy(_));
    !is_upload || replaced.is_none_or(|replaced| replaced.id == original.id)
}

/// Makes the job of a document. Its priority is lower the more documents of the user wait: the first documents of all
/// users come before the hundredth of one.
fn job_for(document: &Document, already_waiting: i64) -> NewJob {
    job_copying(document, already_waiting, "")
}

/// Does the same for a copy of another document, whose vectors it can use.
fn job_copying(document: &Document, already_waiting: i64, copied_from: &str) -> NewJob {
    let payload = IngestPayload {
        document_id: document.id.clone(),
        user_id: document.user_id.clone(),
        copied_from: copied_from.to_owned(),
    };
    NewJob { priority: -already_waiting, max_attempts: MOST_DEATHS, ..new_job(INGEST, payload) }
}
