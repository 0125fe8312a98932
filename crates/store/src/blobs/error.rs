//! What can go wrong with blobs.

#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("{0}")]
    Url(String),

    #[error("{0}")]
    InvalidKey(String),

    #[error("more than {limit} bytes")]
    TooLarge { limit: u64 },

    #[error("the source of the bytes failed: {0}")]
    Source(Box<dyn std::error::Error + Send + Sync>),

    #[error("the object store failed: {0}")]
    ObjectStore(#[from] object_store::Error),

    #[error("the object folder failed: {0}")]
    Io(#[from] std::io::Error),

    #[error("the process is stopping")]
    Stopping,
}
