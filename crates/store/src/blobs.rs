//! Blobs: whole objects under keys, in a folder or in an S3 bucket, chosen by URL. An object is stored in full or not at
//! all, and is durable when the call that wrote it returns.

mod copy;
mod error;
mod files;
mod key;
mod s3;

pub use copy::{NamedObject, ObjectSum};
pub use error::BlobError;
pub use s3::S3Settings;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt, PutPayload};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use files::Files;

/// A handle on the objects that clones cheaply.
#[derive(Clone)]
pub struct Blobs {
    /// Reads, and for S3 writes.
    objects: Arc<dyn ObjectStore>,
    /// Writes, for a folder: object_store's own writer sets no file modes and leaves the staging files of a killed
    /// process among the objects.
    files: Option<Arc<Files>>,
}

/// An object, or a part of one, that is read piece by piece.
pub struct BlobStream {
    pub size: u64,
    pub bytes: BoxStream<'static, Result<Bytes, BlobError>>,
}

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub key: String,
    pub size: u64,
    pub modified_at: i64,
}

impl Blobs {
    /// Opens `file:///folder` (created if missing) or `s3://bucket/prefix`.
    pub async fn open(url: &str, s3: S3Settings) -> Result<Blobs, BlobError> {
        if let Some(path) = url.strip_prefix("file://") {
            let (files, objects) = Files::open(path).await?;
            return Ok(Blobs { objects: Arc::new(objects), files: Some(Arc::new(files)) });
        }
        if let Some(bucket) = url.strip_prefix("s3://") {
            return Ok(Blobs { objects: s3::connect(bucket, s3)?, files: None });
        }
        let scheme = url.split(':').next().unwrap_or_default();
        Err(BlobError::Url(format!(
            "unknown object store scheme `{scheme}`: one of file:///folder, s3://bucket/prefix"
        )))
    }

    /// As [`Blobs::open`], but only for reading: a folder is not created, and may be on a medium that cannot be written.
    pub async fn open_to_read(url: &str, s3: S3Settings) -> Result<Blobs, BlobError> {
        match url.strip_prefix("file://") {
            Some(path) => {
                let objects = object_store::local::LocalFileSystem::new_with_prefix(path)?;
                Ok(Blobs { objects: Arc::new(objects), files: None })
            }
            None => Self::open(url, s3).await,
        }
    }

    /// Writes an object and replaces the one under the same key.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<(), BlobError> {
        let location = key::encode(key)?;
        match &self.files {
            Some(files) => files.put(&location, bytes).await?,
            None => drop(s3::step(self.objects.put(&location, PutPayload::from_bytes(bytes))).await?),
        }
        Ok(())
    }

    /// Writes an object from a stream, with only a piece of it in memory, and returns its size. Fails with
    /// [`BlobError::TooLarge`] after `limit` bytes. If this fails or is dropped, the object before it stays.
    pub async fn put_stream<S, E>(&self, key: &str, source: S, limit: u64) -> Result<u64, BlobError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let location = key::encode(key)?;
        let mut size = 0;
        let source = source.map(|piece| {
            let piece = piece.map_err(|error| BlobError::Source(error.into()))?;
            size += piece.len() as u64;
            if size > limit { Err(BlobError::TooLarge { limit }) } else { Ok(piece) }
        });
        let source = std::pin::pin!(source);
        match &self.files {
            Some(files) => files.put_stream(&location, source).await?,
            None => s3::put_stream(self.objects.as_ref(), &location, source).await?,
        }
        Ok(size)
    }

    /// Returns the whole object; fails with [`BlobError::TooLarge`] if it has more than `limit` bytes.
    pub async fn get(&self, key: &str, limit: u64) -> Result<Option<Bytes>, BlobError> {
        match self.find(key).await? {
            Some(found) if found.meta.size > limit => Err(BlobError::TooLarge { limit }),
            Some(found) => Ok(Some(found.bytes().await?)),
            None => Ok(None),
        }
    }

    /// Returns the file of an object, if objects are files. It is never changed, only replaced or removed.
    pub fn local_path(&self, key: &str) -> Result<Option<PathBuf>, BlobError> {
        let location = key::encode(key)?;
        Ok(self.files.as_ref().map(|files| files.path_of(&location)))
    }

    /// Returns the object as a stream.
    pub async fn get_stream(&self, key: &str) -> Result<Option<BlobStream>, BlobError> {
        let found = self.find(key).await?;
        Ok(found.map(|found| BlobStream {
            size: found.meta.size,
            bytes: found.into_stream().map_err(BlobError::from).boxed(),
        }))
    }

    /// Returns a part of the object as a stream. `range` has at least one byte, all of them within the object.
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<BlobStream>, BlobError> {
        let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        let found = match self.objects.get_opts(&key::encode(key)?, options).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let size = found.range.end - found.range.start;
        Ok(Some(BlobStream { size, bytes: found.into_stream().map_err(BlobError::from).boxed() }))
    }

    /// Deletes an object. Succeeds if there is none.
    pub async fn delete(&self, key: &str) -> Result<(), BlobError> {
        let location = key::encode(key)?;
        if let Some(files) = &self.files {
            return files.delete(&location).await;
        }
        match self.objects.delete(&location).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists the objects whose keys begin with `prefix`, in any order.
    pub fn list(&self, prefix: &str) -> BoxStream<'static, Result<Listed, BlobError>> {
        let prefix = prefix.to_owned();
        let folder = key::encode_folder_of(&prefix);
        let listing = self.objects.list(folder.as_ref());
        let listed = listing.try_filter_map(|meta| async move {
            Ok(key::decode(&meta.location).map(|key| Listed {
                key,
                size: meta.size,
                modified_at: meta.last_modified.timestamp_millis(),
            }))
        });
        let matching = listed.try_filter(move |listed| {
            let matches = listed.key.starts_with(&prefix);
            async move { matches }
        });
        matching.map_err(BlobError::from).boxed()
    }

    /// Checks that the folder or the bucket can be reached.
    pub async fn ping(&self) -> Result<(), BlobError> {
        if let Some(files) = &self.files {
            return files.ping().await;
        }
        let nowhere = object_store::path::Path::from("ping");
        self.objects.list(Some(&nowhere)).next().await.transpose()?;
        Ok(())
    }

    async fn find(&self, key: &str) -> Result<Option<GetResult>, BlobError> {
        match self.objects.get(&key::encode(key)?).await {
            Ok(found) => Ok(Some(found)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
