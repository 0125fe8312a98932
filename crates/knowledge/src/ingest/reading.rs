//! Reads the stored file of a document, in a child process.

use super::error::IndexingError;
use super::{Ingest, MEMORY_FOR_FILES};
use crate::records::Document;
use crate::tables;
use bytes::Bytes;
use extract::{ExtractError, Outline, Progress};
use tokio::sync::watch;

/// The most of a text that is kept for readers, in bytes.
pub const MOST_TEXT: usize = 8 << 20;

/// Extracts a document from its stored file, and applies `transform` to it in the same thread, which may block.
pub async fn extracted<T: Send + 'static>(
    ingest: &Ingest,
    document: &Document,
    transform: impl FnOnce(extract::Document) -> Result<T, IndexingError> + Send + 'static,
) -> Result<T, IndexingError> {
    let pages = watch::Sender::new(0.0);
    extracted_with_progress(ingest, document, pages, transform).await
}

/// Does the same, and tells how much of a file is done whose pages are recognised one after the other, from 0 to 1.
pub async fn extracted_with_progress<T: Send + 'static>(
    ingest: &Ingest,
    document: &Document,
    done: watch::Sender<f64>,
    transform: impl FnOnce(extract::Document) -> Result<T, IndexingError> + Send + 'static,
) -> Result<T, IndexingError> {
    let extractor = ingest.extractor.clone();
    let filename = document.filename.clone();
    with_file(ingest, document, move |bytes| {
        let mut page = |at: Progress| {
            done.send_replace(at.done as f64 / at.of.max(1) as f64);
        };
        let extracted = extractor.extract_with_progress(&filename, &bytes, &mut page).map_err(error_of)?;
        drop(bytes);
        transform(extracted)
    })
    .await
}

/// Reads the stored file of a document, and does something with it in a thread that may block.
pub async fn with_file<T: Send + 'static>(
    ingest: &Ingest,
    document: &Document,
    read: impl FnOnce(Bytes) -> Result<T, IndexingError> + Send + 'static,
) -> Result<T, IndexingError> {
    let size = usize::try_from(document.size).unwrap_or(usize::MAX).clamp(1, MEMORY_FOR_FILES);
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    let room = ingest.memory.clone().acquire_many_owned(size).await;
    let room = room.map_err(|_| IndexingError::Ours("the service is stopping".to_owned()))?;
    let stored = ingest.blobs.get(&document.object_key, u64::MAX).await;
    let bytes = match stored {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(IndexingError::File("the stored file is gone: upload it again".to_owned())),
        Err(error) => return Err(IndexingError::Outage(format!("the stored file cannot be read: {error}"))),
    };
    let reading = tokio::task::spawn_blocking(move || {
        let done = read(bytes);
        drop(room);
        done
    });
    reading
        .await
        .unwrap_or_else(|error| Err(IndexingError::Ours(format!("reading the file stopped: {error}"))))
}

pub fn error_of(error: ExtractError) -> IndexingError {
    if error == ExtractError::PackedFiles {
        return IndexingError::Archive;
    }
    match error.is_bad_input() {
        true => IndexingError::File(error.to_string()),
        false => IndexingError::Ours(error.to_string()),
    }
}

impl Ingest {
    /// Returns the whole text of a document that is indexed. One that was indexed before texts were stored is read again
    /// from its file, and stored.
    pub async fn text(&self, document: &Document) -> Result<Outline, IndexingError> {
        if let Some(stored) = tables::texts::get(&self.db, &document.id).await? {
            return Ok(stored);
        }
        let permit = self.rereading.clone().acquire_owned().await;
        let permit = permit.map_err(|_| IndexingError::Ours("the service is stopping".to_owned()))?;
        // Another request may have read it meanwhile.
        if let Some(stored) = tables::texts::get(&self.db, &document.id).await? {
            return Ok(stored);
        }
        let outline = extracted(self, document, move |extracted| {
            // Held to the end of the work, also if the client goes away.
            let _permit = permit;
            Ok(extracted.outline(MOST_TEXT))
        });
        let outline = outline.await?;
        let mut tx = self.db.begin().await?;
        tables::texts::put_if_missing(&mut tx, &document.id, &outline).await?;
        tx.commit().await?;
        Ok(outline)
    }
}
