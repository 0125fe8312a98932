//! Removes the documents of items that are gone, and of sources that are removed with them.

use super::Sources;
use super::sync::{Interrupted, hold};
use crate::jobs::{SOURCE_REMOVAL, SourceRemovalPayload, payload, retried_job};
use crate::records::{Source, SourceItem, Status};
use crate::removal;
use crate::tables::{self, source_items, sources as table};
use store::jobs::{self, Job, JobError};
use store::{StoreError, Tx};
use tokio_util::sync::CancellationToken;

/// Items that are removed before the next are looked up.
const REMOVED_AT_ONCE: i64 = 200;

impl Sources {
    /// Removes the documents of items that this run has not seen, or has skipped.
    pub(super) async fn remove_gone(
        &self,
        source: &mut Source,
        stop: &CancellationToken,
    ) -> Result<(), Interrupted> {
        loop {
            let run = source.last_run.number;
            let gone = source_items::gone(&self.0.db, &source.id, run, REMOVED_AT_ONCE).await?;
            if gone.is_empty() {
                return Ok(());
            }
            for item in gone {
                if stop.is_cancelled() {
                    return Err(Interrupted::Stopped);
                }
                let mut tx = self.0.db.begin().await?;
                // The owner is locked first, as in every transaction that locks both.
                tables::users::next_revision(&mut tx, &source.owner_id).await?;
                hold(&mut tx, source).await?;
                remove_document_of(&mut tx, source, &item).await?;
                if item.run < run {
                    source_items::delete(&mut tx, &source.id, &item.path).await?;
                } else {
                    let document_id = String::new();
                    source_items::put(&mut tx, &source.id, &SourceItem { document_id, ..item }).await?;
                }
                source.last_run.counts.removed += 1;
                table::set_run(&mut tx, &source.id, &source.last_run).await?;
                tx.commit().await?;
            }
        }
    }

    /// Removes the documents of a source that was removed with them, or the files of an archive.
    pub(super) async fn remove_documents(&self, job: &Job, stop: &CancellationToken) -> Result<(), JobError> {
        let SourceRemovalPayload { source_id, owner_id, archive_id } = payload(job)?;
        loop {
            let (db, limit) = (&self.0.db, REMOVED_AT_ONCE);
            let ids = tables::documents::ids_of_source(db, &owner_id, &source_id, &archive_id, limit).await?;
            for id in &ids {
                if stop.is_cancelled() {
                    return Err(JobError::retry("the process is stopping"));
                }
                let mut tx = self.0.db.begin().await?;
                removal::remove_document(&mut tx, &owner_id, id, &Status::ALL).await?;
                tx.commit().await?;
            }
            if ids.is_empty() {
                let mut tx = self.0.db.begin().await?;
                jobs::complete(&mut tx, job).await?;
                return Ok(tx.commit().await?);
            }
        }
    }
}

/// Removes the document of an item, with its files if it is an archive, unless it was not made by this source or is also
/// that of another item. If that one is of another source, the document is of that source then.
async fn remove_document_of(tx: &mut Tx, source: &Source, item: &SourceItem) -> Result<(), StoreError> {
    if item.document_id.is_empty() {
        return Ok(());
    }
    let document = tables::documents::get_in(tx, &item.document_id).await?;
    let Some(document) = document.filter(|document| document.source_id == source.id) else { return Ok(()) };
    let mut others = source_items::of_document(tx, &document.id).await?;
    if let Some(this) = others.iter().position(|id| *id == source.id) {
        others.swap_remove(this);
    }
    if others.contains(&source.id) {
        return Ok(());
    }
    if let Some(other) = others.first() {
        return tables::documents::set_source(tx, &document.id, other).await;
    }
    removal::remove_document(tx, &source.owner_id, &document.id, &Status::ALL).await?;
    if tables::documents::is_archive(tx, &document.id).await? {
        let (source_id, owner_id, archive_id) = (source.id.clone(), source.owner_id.clone(), document.id);
        let payload = SourceRemovalPayload { source_id, owner_id, archive_id };
        jobs::enqueue(tx, retried_job(SOURCE_REMOVAL, payload)).await?;
    }
    Ok(())
}
