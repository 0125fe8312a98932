//! Why a document could not be indexed.

use store::StoreError;

#[derive(Debug)]
pub enum IndexingError {
    /// The file cannot be read, so a retry would not help.
    File(String),
    Ours(String),
    /// The storage is full or does not answer. Retried until it does.
    Outage(String),
    /// The file holds other files, each of which becomes a document.
    Archive,
    /// The document was deleted, or its job cancelled.
    Stopped,
}

impl From<StoreError> for IndexingError {
    fn from(error: StoreError) -> Self {
        match error.outage() {
            Some(_) => Self::Outage(error.to_string()),
            None => Self::Ours(error.to_string()),
        }
    }
}
