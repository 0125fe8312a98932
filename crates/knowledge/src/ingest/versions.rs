//! The files of a document: the current one, the next one, and former ones.
//!
//! A file that replaces another is the next one until it is indexed: the document is found as before. If it cannot be
//! indexed, the document is in error and still has its current file.

use super::{Ingest, job_for};
use crate::jobs::discard;
use crate::records::{Document, FileVersion, SourceItem, Status, documents_topic};
use crate::tables::{documents, files, source_items, users};
use store::jobs;
use store::{StoreError, Tx};

/// Former files of a document that are kept.
const MOST_FORMER: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("the document has no file of version {0}: `versions` lists those that are kept")]
    NoSuchVersion(i64),
    #[error("the document was deleted")]
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
        let current = documents::get_in(&mut tx, &document.id).await?.ok_or(RestoreError::Gone)?;
        let waiting = documents::count_processing(tx.conn(), &current.user_id).await?;
        if version == current.version {
            drop_next(&mut tx, &current).await?;
            process(&mut tx, &current, waiting, revision).await?;
        } else {
            let former = files::of_document(tx.conn(), &current.id).await?;
            let former = former.into_iter().find(|file| file.version == version && version < current.version);
            let former = former.ok_or(RestoreError::NoSuchVersion(version))?;
            files::delete(&mut tx, &current.id, version).await?;
            add_next(&mut tx, current, former, waiting, revision).await?;
        }
        tx.wake(&documents_topic(&document.user_id));
        tx.commit().await?;
        documents::get(&self.db, &document.id).await?.ok_or(RestoreError::Gone)
    }
}

fn next_file(document: &Document, files: Vec<FileVersion>) -> Option<FileVersion> {
    files.into_iter().find(|file| file.version > document.version)
}

/// Finds the document whose file has the same name and folder.
pub async fn replaced_by(tx: &mut Tx, new: &Document) -> Result<Option<Document>, StoreError> {
    let named = documents::with_filename(tx.conn(), &new.user_id, &new.filename).await?;
    Ok(named.into_iter().find(|document| document.folder() == new.folder()))
}

/// Finds the document of an item of a source, if it is of that source and of no other item.
pub async fn of_item(
    tx: &mut Tx,
    source_id: &str,
    item: &SourceItem,
) -> Result<Option<Document>, StoreError> {
    if item.document_id.is_empty() {
        return Ok(None);
    }
    let document = documents::get_in(tx, &item.document_id).await?;
    let is_only = source_items::count_of_document(tx, source_id, &item.document_id).await? == 1;
    Ok(document.filter(|document| is_only && document.source_id == source_id))
}

/// Adds the file that takes the place of the document's current one when it is indexed. Returns the document with it.
pub async fn add_next(
    tx: &mut Tx,
    document: Document,
    file: FileVersion,
    waiting: i64,
    revision: i64,
) -> Result<Document, StoreError> {
    let newest = drop_next(tx, &document).await?;
    let file = FileVersion { version: newest + 1, ..file };
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

/// Drops the next file, if there is one. Returns the highest version that the document ever had.
async fn drop_next(tx: &mut Tx, document: &Document) -> Result<i64, StoreError> {
    let files = files::of_document(tx.conn(), &document.id).await?;
    let newest = files.first().map_or(document.version, |file| file.version.max(document.version));
    if let Some(next) = next_file(document, files) {
        discard_file(tx, document, &next).await?;
    }
    Ok(newest)
}

/// Makes the file with which a document was indexed its current one, and removes the oldest former ones.
pub async fn make_current(tx: &mut Tx, indexed: &Document) -> Result<(), StoreError> {
    let Some(current) = documents::get_in(tx, &indexed.id).await? else { return Ok(()) };
    if current.version == indexed.version {
        return Ok(());
    }
    files::make_current(tx, &current, &indexed.file_version()).await?;
    let former = files::of_document(tx.conn(), &indexed.id).await?;
    for old in former.iter().skip(MOST_FORMER) {
        discard_file(tx, &current, old).await?;
    }
    Ok(())
}

async fn discard_file(tx: &mut Tx, document: &Document, file: &FileVersion) -> Result<(), StoreError> {
    files::delete(tx, &document.id, file.version).await?;
    jobs::enqueue(tx, discard(&document.user_id, &file.object_key)).await.map(drop)
}
