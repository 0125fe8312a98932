//! Errors of the object store.

use crate::error::{Outage, outage_of_io};

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

    #[error("the object store did not answer within {} s", .0.as_secs())]
    Unanswered(std::time::Duration),

    #[error("the object folder failed: {0}")]
    Io(#[from] std::io::Error),

    #[error("object `{key}` was written, but other bytes are read back")]
    ReadBack { key: String },

    #[error("the process is stopping")]
    Stopping,
}

impl BlobError {
    /// Returns the outage behind this error, if there is one.
    pub fn outage(&self) -> Option<Outage> {
        match self {
            Self::Io(error) => Some(outage_of_io(error)),
            Self::ObjectStore(error) => outage_of(error),
            Self::Unanswered(_) | Self::Stopping => Some(Outage::Away),
            Self::Url(_)
            | Self::InvalidKey(_)
            | Self::TooLarge { .. }
            | Self::Source(_)
            | Self::ReadBack { .. } => None,
        }
    }
}

fn outage_of(error: &object_store::Error) -> Option<Outage> {
    match error {
        object_store::Error::InvalidPath { .. } | object_store::Error::NotSupported { .. } => None,
        // Reads from a folder end here as well, with an I/O error as their cause.
        error => Some(io_cause(error).map_or(Outage::Away, outage_of_io)),
    }
}

fn io_cause<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a std::io::Error> {
    std::iter::successors(Some(error), |error| error.source()).find_map(|error| error.downcast_ref())
}
