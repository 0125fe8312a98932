//! Keeps what a connector reads until it is stored.

use crate::ingest::{Spool, UploadError};
use connectors::{ItemError, Sink};
use std::path::Path;

/// Keeps what a connector reads.
pub struct SpoolSink<'a> {
    pub spool: Spool,
    pub folder: &'a Path,
}

impl Sink for SpoolSink<'_> {
    fn write(&mut self, piece: &[u8]) -> Result<(), ItemError> {
        self.spool.push(piece, self.folder).map_err(|error| match error {
            UploadError::Io(error) => ItemError::Place(format!("it cannot be kept: {error}")),
            error => ItemError::Item(error.to_string()),
        })
    }
}
