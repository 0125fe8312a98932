//! Copies of objects between stores and files. What was written is read back and compared.

use aws_lc_rs::digest;
use base::hex;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;

use super::{BlobError, Blobs};

const PIECE: usize = 256 * 1024;

/// Size and SHA-256 of an object or a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectSum {
    pub size: u64,
    pub sha256: String,
}

/// An object that a row of the database names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedObject {
    /// What the row is, such as `document`.
    pub owner: &'static str,
    /// The id of the row.
    pub id: String,
    pub key: String,
    /// None if the row does not say.
    pub sum: Option<ObjectSum>,
    /// Whether the program makes it again if it is missing.
    pub is_rebuildable: bool,
}

impl fmt::Display for NamedObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} `{}`", self.owner, self.id)
    }
}

/// A SHA-256 over pieces.
struct Summing {
    size: u64,
    hash: digest::Context,
}

impl Summing {
    fn new() -> Self {
        Self { size: 0, hash: digest::Context::new(&digest::SHA256) }
    }

    fn add(&mut self, piece: &[u8]) {
        self.size += piece.len() as u64;
        self.hash.update(piece);
    }

    fn sum(&self) -> ObjectSum {
        ObjectSum { size: self.size, sha256: hex(self.hash.clone().finish().as_ref()) }
    }
}

impl ObjectSum {
    /// Returns the sum of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut summing = Summing::new();
        summing.add(bytes);
        summing.sum()
    }
}

impl Blobs {
    /// Reads a whole object and returns its sum; none if there is no such object.
    pub async fn sum(&self, key: &str) -> Result<Option<ObjectSum>, BlobError> {
        let Some(mut found) = self.get_stream(key).await? else { return Ok(None) };
        let mut summing = Summing::new();
        while let Some(piece) = found.bytes.try_next().await? {
            summing.add(&piece);
        }
        Ok(Some(summing.sum()))
    }

    /// Copies an object to another store and reads it back there. Returns its sum; none if there is no such object.
    pub async fn copy(&self, key: &str, to: &Blobs, to_key: &str) -> Result<Option<ObjectSum>, BlobError> {
        let Some(found) = self.get_stream(key).await? else { return Ok(None) };
        to.put_verified(to_key, found.bytes).await.map(Some)
    }

    /// Stores a file as an object and reads it back. Returns its sum.
    pub async fn put_file(&self, key: &str, file: &Path) -> Result<ObjectSum, BlobError> {
        let file = tokio::fs::File::open(file).await?;
        self.put_verified(key, ReaderStream::with_capacity(file, PIECE)).await
    }

    /// Writes an object to a new file that only its owner can read. Returns its sum; none if there is no such object.
    pub async fn get_file(&self, key: &str, file: &Path) -> Result<Option<ObjectSum>, BlobError> {
        let Some(mut found) = self.get_stream(key).await? else { return Ok(None) };
        let mut file =
            tokio::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).await?;
        let mut summing = Summing::new();
        while let Some(piece) = found.bytes.try_next().await? {
            summing.add(&piece);
            file.write_all(&piece).await?;
        }
        file.flush().await?;
        file.sync_all().await?;
        Ok(Some(summing.sum()))
    }

    async fn put_verified<S, E>(&self, key: &str, source: S) -> Result<ObjectSum, BlobError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let summing = Arc::new(Mutex::new(Summing::new()));
        let seen = summing.clone();
        let source = source.map(move |piece| {
            if let Ok(piece) = &piece {
                seen.lock().unwrap_or_else(PoisonError::into_inner).add(piece);
            }
            piece
        });
        self.put_stream(key, source, u64::MAX).await?;
        let written = summing.lock().unwrap_or_else(PoisonError::into_inner).sum();
        match self.sum(key).await? {
            Some(read) if read == written => Ok(written),
            _ => Err(BlobError::ReadBack { key: key.to_owned() }),
        }
    }
}
