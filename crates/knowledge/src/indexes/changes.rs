//! Reads a user's changed documents in short statements, a few whole documents at a time.

use crate::tables::chunks::{self, Changed, FromChunk, PageRow};
use std::collections::{HashMap, VecDeque};
use store::{Db, StoreError};

const DOCUMENTS_LISTED: i64 = 500;
/// Chunks and documents in one statement.
const PAGE_CHUNKS: i64 = 1_000;
const PAGE_DOCUMENTS: usize = 100;

/// The documents whose chunks have changed since a revision, in the order of their changes.
///
/// A document that changes while it is read is left out: it has a higher revision then, and is listed again. So a document
/// is never a mixture of two versions, and once nothing is left to read, nothing is missing.
pub struct Changes {
    db: Db,
    user_id: String,
    since: i64,
    listed: VecDeque<Changed>,
}

/// A document with all of its chunks.
pub struct LoadedDocument<T> {
    pub document: Changed,
    pub chunks: Vec<T>,
}

impl Changes {
    pub fn since(db: &Db, user_id: &str, revision: i64) -> Self {
        Self { db: db.clone(), user_id: user_id.to_owned(), since: revision, listed: VecDeque::new() }
    }

    /// Reads the next few documents; returns none once all have been read.
    pub async fn next<T: FromChunk>(&mut self) -> Result<Option<Vec<LoadedDocument<T>>>, StoreError> {
        if self.listed.is_empty() {
            let listed = chunks::changed_since(&self.db, &self.user_id, self.since, DOCUMENTS_LISTED).await?;
            let Some(last) = listed.last() else { return Ok(None) };
            self.since = last.revision;
            self.listed = listed.into();
        }
        let batch = self.batch();
        let mut read = self.read(&batch).await?;
        let whole = batch.into_iter().filter_map(|document| {
            let chunks = read.remove(&document.document_id)?;
            Some(LoadedDocument { document, chunks })
        });
        Ok(Some(whole.collect()))
    }

    /// Takes as many of the listed documents as fit on a page, and at least one.
    fn batch(&mut self) -> Vec<Changed> {
        let mut room = PAGE_CHUNKS;
        let mut batch = Vec::new();
        while let Some(next) = self.listed.front()
            && (batch.is_empty() || next.chunk_count <= room)
            && batch.len() < PAGE_DOCUMENTS
        {
            room -= next.chunk_count;
            batch.extend(self.listed.pop_front());
        }
        batch
    }

    /// Reads the chunks of those documents of a batch that have not changed since they were listed.
    async fn read<T: FromChunk>(&self, batch: &[Changed]) -> Result<HashMap<String, Vec<T>>, StoreError> {
        let listed: HashMap<&str, &Changed> =
            batch.iter().map(|document| (document.document_id.as_str(), document)).collect();
        let ids: Vec<&str> = listed.keys().copied().collect();
        // Several documents have at most a page together. Only a single one is read in more than one statement.
        let limit = if ids.len() == 1 { PAGE_CHUNKS } else { i64::MAX };
        let mut read: HashMap<String, Vec<T>> = HashMap::new();
        let mut from = 0;
        loop {
            let rows = chunks::page::<T>(&self.db, &ids, from, limit).await?;
            let is_last = (rows.len() as i64) < limit;
            for PageRow { document_id, revision, chunk } in rows {
                if listed.get(document_id.as_str()).is_some_and(|listed| listed.revision == revision) {
                    read.entry(document_id).or_default().push(chunk);
                }
            }
            if is_last {
                break;
            }
            from += limit;
        }
        read.retain(|id, chunks| {
            listed.get(id.as_str()).is_some_and(|listed| listed.chunk_count == chunks.len() as i64)
        });
        Ok(read)
    }
}
