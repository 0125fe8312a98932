//! Documents that go to another owner: moved, with all that belongs to them, or copied.
//!
//! A move changes rows only: the files stay where they are in the object store, under the name of the owner who added
//! them. A copy is a new document of the current file, and is indexed like an upload.

use super::{DocumentOwner, Duplicates, Ingest, IngestError, NewFile, Origin, Spool, Submitted, Upload};
use crate::indexes;
use crate::records::{Document, documents_topic};
use crate::tables::{documents, files, source_items, users};
use futures_util::StreamExt;
use store::{StoreError, Tx};

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("the document belongs to a source, which keeps it here: copy it instead, or delete the source")]
    OfSource,
    #[error("the document is being read: move it when that is done, or cancel it first")]
    InWork,
    #[error("files of this archive are being read: move it when that is done")]
    FilesInWork,
    #[error("the document was moved or deleted meanwhile")]
    Gone,
    #[error("the stored file is gone")]
    NoFile,
    #[error(transparent)]
    Ingest(#[from] IngestError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Ingest {
    /// Gives a document to another owner, with its versions, and an archive with its files. Everything that is found by
    /// it changes in the same transaction. Does nothing if the owner has it already.
    pub async fn move_to(
        &self,
        document: &Document,
        owner: DocumentOwner<'_>,
    ) -> Result<Document, MoveError> {
        let Document { id, user_id: from, .. } = document;
        if from == owner.id {
            return Ok(document.clone());
        }
        let mut tx = self.db.begin().await?;
        lock_both(&mut tx, from, owner.id).await?;
        let current = documents::get_of(&mut tx, from, id).await?.ok_or(MoveError::Gone)?;
        let moved = documents::to_move(&mut tx, from, id).await?;
        if moved.of_source > 0 {
            return Err(MoveError::OfSource);
        }
        if moved.in_work > 0 {
            return Err(if current.job_id.is_some() { MoveError::InWork } else { MoveError::FilesInWork });
        }
        // The files of the user's conversations are counted already.
        if users::files_of(tx.conn(), from).await?.as_deref() != Some(owner.id) {
            self.check_quota(&mut tx, owner.id, moved.bytes).await?;
        }
        let last = users::raise_revision(&mut tx, owner.id, moved.documents).await?;
        let first = last.ok_or(IngestError::OwnerGone)? - moved.documents;
        files::set_added_by(&mut tx, id, owner.added_by).await?;
        source_items::forget_moved(&mut tx, id).await?;
        documents::set_owner(&mut tx, from, id, (owner.id, owner.added_by), first).await?;
        users::next_removal(&mut tx, from).await?;
        for owner_id in [from, owner.id] {
            indexes::note_change(&mut tx, owner_id, moved.chunks).await?;
            tx.wake(&documents_topic(owner_id));
        }
        tx.commit().await?;
        documents::get(&self.db, id).await?.ok_or(MoveError::Gone)
    }

    /// Makes another document of the current file of one, with its metadata and its date of expiry. If the owner has a
    /// document with the same content, that one is returned.
    pub async fn copy_to(
        &self,
        document: &Document,
        owner: DocumentOwner<'_>,
    ) -> Result<Submitted, MoveError> {
        let upload = Upload { filename: document.filename.clone(), spool: self.spooled(document).await? };
        let file = NewFile {
            owner,
            upload,
            metadata: document.metadata.clone(),
            duplicates: Duplicates::Reuse,
            origin: Origin::Copy(document),
            expires_at: document.expires_at,
        };
        Ok(self.submit(file).await?)
    }

    /// Reads the current file of a document.
    async fn spooled(&self, document: &Document) -> Result<Spool, MoveError> {
        let stored = self.blobs.get_stream(&document.object_key).await.map_err(IngestError::Blob)?;
        let mut stored = stored.ok_or(MoveError::NoFile)?;
        let mut spool = Spool::new(u64::MAX);
        while let Some(piece) = stored.bytes.next().await {
            let piece = piece.map_err(IngestError::Blob)?;
            spool
                .push(&piece, &self.settings.spool_folder)
                .map_err(|error| IngestError::Spool(std::io::Error::other(error)))?;
        }
        Ok(spool.finish())
    }
}

/// Locks two owners, always in the same order, so that two moves never wait for each other.
async fn lock_both(tx: &mut Tx, from: &str, to: &str) -> Result<(), MoveError> {
    let mut owners = [from, to];
    owners.sort_unstable();
    for owner in owners {
        if users::next_revision(tx, owner).await?.is_none() {
            return Err(if owner == from { MoveError::Gone } else { IngestError::OwnerGone.into() });
        }
    }
    Ok(())
}
