//! Removes the documents of items that are gone, and of sources that are removed with them.

use super::Sources;
use super::sync::Interrupted;
use crate::jobs::{SourceRemovalPayload, payload};
use crate::records::{Source, SourceItem, Status};
use crate::removal;
use crate::tables::{self, source_items, sources as table};
use store::jobs::{self, Job, JobError};
use store::{StoreError, Tx};
use tokio_util::sync::CancellationToken;

/// Items that are removed before the next are looked up.
const REMOVED_AT_ONCE: i64 = 200;

impl Sources {
    /// Removes the documents of items that this run has not seen.
    pub(super) async fn remove_unseen(
        &self,
        source: &mut Source,
        stop: &CancellationToken,
    ) -> Result<(), Interrupted> {
        loop {
            let run = source.last_run.number;
            let gone = source_items::unseen(&self.0.db, &source.id, run, REMOVED_AT_ONCE).await?;
            if gone.is_empty() {
                return Ok(());
            }
            for item in gone {
                if stop.is_cancelled() {
                    return Err(Interrupted::Stopped);
                }
                let mut tx = self.0.db.begin().await?;
                remove_document_of(&mut tx, source, &item).await?;
                source_items::delete(&mut tx, &source.id, &item.path).await?;
                source.last_run.counts.removed += 1;
                table::set_run(&mut tx, &source.id, &source.last_run).await?;
                tx.commit().await?;
            }
        }
    }

    pub(super) async fn drop_document(&self, source: &Source, item: &SourceItem) -> Result<(), Interrupted> {
        let mut tx = self.0.db.begin().await?;
        remove_document_of(&mut tx, source, item).await?;
        Ok(tx.commit().await?)
    }

    /// Removes the documents of a source that was removed with them.
    pub(super) async fn remove_documents(&self, job: &Job, stop: &CancellationToken) -> Result<(), JobError> {
        let SourceRemovalPayload { source_id, owner_id } = payload(job)?;
        loop {
            let ids = tables::documents::ids_of_source(&self.0.db, &source_id, REMOVED_AT_ONCE).await?;
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

/// Removes the document of an item, unless it is also that of another, or was not made by this source.
async fn remove_document_of(tx: &mut Tx, source: &Source, item: &SourceItem) -> Result<(), StoreError> {
    if item.document_id.is_empty() {
        return Ok(());
    }
    tables::users::next_revision(tx, &source.owner_id).await?;
    let document = tables::documents::get_in(tx, &item.document_id).await?;
    let is_own = document.is_some_and(|document| document.source_id == source.id);
    if is_own && source_items::count_of_document(tx, &source.id, &item.document_id).await? == 1 {
        removal::remove_document(tx, &source.owner_id, &item.document_id, &Status::ALL).await?;
    }
    Ok(())
}
