//! Reads the stored file of a document, in a child process if third-party parsers read it.

use super::error::IndexingError;
use super::{Ingest, MEMORY_FOR_FILES};
use crate::records::Document;
use crate::tables;
use extract::{ExtractError, Outline};

/// The most of a text that is kept for readers, in bytes.
pub const MOST_TEXT: usize = 8 << 20;

/// Extracts a document from its stored file, and applies `transform` to it in the same thread, which may block.
pub async fn extracted<T: Send + 'static>(
    ingest: &Ingest,
    document: &Document,
    transform: impl FnOnce(extract::Document) -> Result<T, IndexingError> + Send + 'static,
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
    let (extractor, filename) = (ingest.extractor.clone(), document.filename.clone());
    let reading = tokio::task::spawn_blocking(move || {
        let extracted = extractor.extract(&filename, &bytes).map_err(error_of)?;
        drop(bytes);
        let transformed = transform(extracted);
        drop(room);
        transformed
    });
    reading
        .await
        .unwrap_or_else(|error| Err(IndexingError::Ours(format!("reading the file stopped: {error}"))))
}

fn error_of(error: ExtractError) -> IndexingError {
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
