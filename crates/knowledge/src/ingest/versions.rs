//! The files of a document: the current one, the next one, and former ones.
//!
//! A file that replaces another is the next one until it is indexed: the document is found as before. If it cannot be
//! indexed, the document is in error and still has its current file.

use super::{Ingest, IngestError, ItemOrigin, Origin, SameName, Submitted, job_for};
use crate::jobs::discard;
use crate::records::{Document, FileVersion, SourceItem, Status, documents_topic};
use crate::removal;
use crate::tables::{documents, files, source_items, users};
use store::jobs;
use store::{StoreError, Tx};

/// Former files of a document that are kept.
const MOST_FORMER: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("the document has no file of version {0}: `versions` lists those that are kept")]
    NoSuchVersion(i64),
    #[error("the document was deleted or moved meanwhile")]
    Gone,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Ingest {
    /// Returns the document with its next file, if it has one: as it is to be indexed.
    pub(super) async fn with_next_file(&self, document: Document) -> Result<Document, StoreError> {
        let files = files::of_document(self.db.read(), &document.id).await?;
        Ok(match next_file(&document, files) {
            Some(next) => document.with_file(next),
            None => document,
        })
    }

    /// Makes a former file the next one. For the current version, drops the next one.
    pub async fn restore(&self, document: &Document, version: i64) -> Result<Document, RestoreError> {
        let mut tx = self.db.begin().await?;
        let revision = users::next_revision(&mut tx, &document.user_id).await?.ok_or(RestoreError::Gone)?;
        let current = documents::get_of(&mut tx, &document.user_id, &document.id).await?;
        let current = current.ok_or(RestoreError::Gone)?;
        let waiting = documents::count_processing(tx.conn(), &current.user_id).await?;
        if version == current.version {
            drop_next(&mut tx, &current).await?;
            process(&mut tx, &current, waiting, revision).await?;
        } else {
            let former = files::of_document(tx.conn(), &current.id).await?;
            let former = former.into_iter().find(|file| file.version == version && version < current.version);
            // It stays a former file until it is indexed.
            let former = former.ok_or(RestoreError::NoSuchVersion(version))?;
            add_next(&mut tx, current, former, waiting, revision).await?;
        }
        tx.wake(&documents_topic(&document.user_id));
        tx.commit().await?;
        documents::get(&self.db, &document.id).await?.ok_or(RestoreError::Gone)
    }
}

impl Ingest {
    /// Removes the documents with status `error`, and returns how many. One that has only failed to get a new file keeps
    /// the file that it has.
    pub async fn remove_failed(&self, user_id: &str) -> Result<usize, StoreError> {
        let all = documents::of_user(&self.db, user_id).await?;
        let mut removed = 0;
        for document in all.iter().filter(|document| document.status == Status::Error) {
            let mut tx = self.db.begin().await?;
            let is_removed = keep_current(&mut tx, user_id, &document.id).await?
                || removal::remove_document(&mut tx, user_id, &document.id, &[Status::Error]).await?;
            tx.commit().await?;
            removed += usize::from(is_removed);
        }
        Ok(removed)
    }
}

/// Drops the file that could not take the place of the current one. Returns false if there is none.
async fn keep_current(tx: &mut Tx, user_id: &str, id: &str) -> Result<bool, StoreError> {
    let Some(revision) = users::next_revision(tx, user_id).await? else { return Ok(false) };
    let document = documents::get_of(tx, user_id, id).await?;
    let Some(document) = document.filter(|found| found.status == Status::Error && found.chunk_count > 0)
    else {
        return Ok(false);
    };
    if !drop_next(tx, &document).await? {
        return Ok(false);
    }
    documents::set_indexed_again(tx, id, revision).await?;
    tx.wake(&documents_topic(user_id));
    Ok(true)
}

fn next_file(document: &Document, files: Vec<FileVersion>) -> Option<FileVersion> {
    files.into_iter().find(|file| file.version > document.version)
}

/// Finds the document that a file replaces.
pub async fn replaced_by(
    tx: &mut Tx,
    new: &Document,
    origin: &Origin<'_>,
) -> Result<Option<Document>, StoreError> {
    match origin {
        Origin::Upload(SameName::Keep) | Origin::Copy(_) => Ok(None),
        // Those of an archive have its id, and uploads have none.
        Origin::Upload(SameName::Replace) | Origin::Archive(_) => {
            let named = documents::with_filename(tx.conn(), new).await?;
            Ok(named.into_iter().find(|document| document.folder() == new.folder()))
        }
        Origin::Item(of) => of_item(tx, of.source_id, &of.item).await,
    }
}

/// Finds the document of an item of a source, if it is of that source and of no other item.
async fn of_item(tx: &mut Tx, source_id: &str, item: &SourceItem) -> Result<Option<Document>, StoreError> {
    if item.document_id.is_empty() {
        return Ok(None);
    }
    let document = documents::get_in(tx, &item.document_id).await?;
    let is_only = source_items::of_document(tx, &item.document_id).await?.len() == 1;
    Ok(document.filter(|document| is_only && document.source_id == source_id))
}

/// Uses a document that has the content of a file. If the file would have replaced another document, that one is removed.
/// What a person uploads is the person's from then on, and no longer follows a source.
pub async fn reuse(
    mut tx: Tx,
    original: Document,
    replaced: Option<Document>,
    origin: Origin<'_>,
) -> Result<Submitted, IngestError> {
    let is_same = replaced.as_ref().is_some_and(|replaced| replaced.id == original.id);
    if let Some(replaced) = replaced.filter(|_| !is_same) {
        removal::remove_document(&mut tx, &replaced.user_id, &replaced.id, &Status::ALL).await?;
    }
    match origin {
        Origin::Upload(_) if original.source_id.is_empty() => {}
        Origin::Upload(_) => documents::set_source(&mut tx, &original.id, "").await?,
        Origin::Item(ItemOrigin { source_id, item, .. }) => {
            let same_as = (!is_same).then(|| format!("the same content as `{}`", original.title));
            let item = SourceItem {
                content_hash: original.content_hash.clone(),
                document_id: original.id.clone(),
                message: same_as.unwrap_or_default(),
                ..item
            };
            source_items::put(&mut tx, source_id, &item).await?;
        }
        Origin::Archive(_) | Origin::Copy(_) => {}
    }
    tx.commit().await?;
    Ok(Submitted { document: original, is_duplicate: true })
}

/// Adds the file that takes the place of the document's current one when it is indexed. Returns the document with it.
pub async fn add_next(
    tx: &mut Tx,
    document: Document,
    file: FileVersion,
    waiting: i64,
    revision: i64,
) -> Result<Document, StoreError> {
    let newest = files::of_document(tx.conn(), &document.id).await?.first().map_or(0, |file| file.version);
    drop_next(tx, &document).await?;
    let file = FileVersion { version: newest.max(document.version) + 1, ..file };
    files::insert(tx, &document.id, &file).await?;
    let job = process(tx, &document, waiting, revision).await?;
    let (status, job_id) = (Status::Processing, Some(job));
    Ok(Document { status, job_id, progress: 0, error: None, revision, ..document.with_file(file) })
}

/// Ends the job of a document, and starts another.
async fn process(tx: &mut Tx, document: &Document, waiting: i64, revision: i64) -> Result<i64, StoreError> {
    if let Some(job) = document.job_id {
        jobs::cancel(tx, job).await?;
    }
    let job = jobs::enqueue(tx, job_for(document, waiting)).await?;
    documents::restart(tx, &document.id, job, revision).await?;
    Ok(job)
}

/// Drops the next file. Returns false if there is none.
async fn drop_next(tx: &mut Tx, document: &Document) -> Result<bool, StoreError> {
    let files = files::of_document(tx.conn(), &document.id).await?;
    let next = next_file(document, files);
    if let Some(next) = &next {
        discard_file(tx, document, next).await?;
    }
    Ok(next.is_some())
}

/// Makes the file with which a document was indexed its current one, and removes the oldest former ones.
pub async fn make_current(tx: &mut Tx, indexed: &Document) -> Result<(), StoreError> {
    let Some(current) = documents::get_in(tx, &indexed.id).await? else { return Ok(()) };
    if current.version == indexed.version {
        return Ok(());
    }
    files::make_current(tx, &current, &indexed.file_version()).await?;
    let former = files::of_document(tx.conn(), &indexed.id).await?;
    // A former file that was restored is the current one now.
    let (restored, former): (Vec<_>, Vec<_>) =
        former.into_iter().partition(|file| file.object_key == indexed.object_key);
    for file in restored {
        files::delete(tx, &indexed.id, file.version).await?;
    }
    for old in former.iter().skip(MOST_FORMER) {
        discard_file(tx, &current, old).await?;
    }
    Ok(())
}

async fn discard_file(tx: &mut Tx, document: &Document, file: &FileVersion) -> Result<(), StoreError> {
    files::delete(tx, &document.id, file.version).await?;
    jobs::enqueue(tx, discard(&document.user_id, &file.object_key)).await.map(drop)
}
