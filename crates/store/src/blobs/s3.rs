//! Objects in an S3 bucket. Credentials and endpoint come from the caller; no environment variable is read.

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ClientOptions, MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::BlobError;

/// At least 5 MiB by S3's rules; with 10,000 parts at most, this allows 80 GiB.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// The time limit for one step of an upload, with its retries, in case the store hangs. A part takes 8 s at 1 MiB a
/// second, which is the slowest store that uploads are meant for.
const STEP_TIMEOUT: Duration = Duration::from_secs(12);

#[derive(Clone, Default)]
pub struct S3Settings {
    pub endpoint: Option<String>,
    pub region: Option<String>,
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    pub allow_http: bool,
}

/// Opens `bucket` or `bucket/prefix`.
pub(super) fn connect(address: &str, settings: S3Settings) -> Result<Arc<dyn ObjectStore>, BlobError> {
    let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
    if bucket.is_empty() {
        return Err(BlobError::Url("the object store URL names no bucket: s3://bucket/prefix".into()));
    }
    // A limit on the time without data rather than on the whole: large objects take long.
    let client = ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(Duration::from_secs(5))
        .with_read_timeout(Duration::from_secs(30))
        .with_allow_http(settings.allow_http);
    let retry = RetryConfig { max_retries: 3, retry_timeout: Duration::from_secs(30), ..Default::default() };
    let mut builder = AmazonS3Builder::new().with_bucket_name(bucket).with_client_options(client);
    builder = builder.with_retry(retry).with_region(settings.region.as_deref().unwrap_or("us-east-1"));
    if let Some(endpoint) = settings.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(id) = settings.access_key_id {
        builder = builder.with_access_key_id(id);
    }
    if let Some(secret) = settings.secret_access_key {
        builder = builder.with_secret_access_key(secret);
    }
    if let Some(token) = settings.session_token {
        builder = builder.with_token(token);
    }
    let bucket = builder.build()?;
    match Path::parse(prefix) {
        Ok(prefix) if prefix.is_root() => Ok(Arc::new(bucket)),
        Ok(prefix) => Ok(Arc::new(PrefixStore::new(bucket, prefix))),
        Err(error) => Err(BlobError::Url(format!("the object store URL has a bad prefix: {error}"))),
    }
}

/// Waits for one step of an upload, within its time limit.
pub(super) async fn step<T>(
    work: impl Future<Output = Result<T, object_store::Error>>,
) -> Result<T, BlobError> {
    match tokio::time::timeout(STEP_TIMEOUT, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(BlobError::Unanswered(STEP_TIMEOUT)),
    }
}

/// Writes a small object with one request, a large one in parts.
pub(super) async fn put_stream<S>(
    objects: &dyn ObjectStore,
    location: &Path,
    mut source: Pin<&mut S>,
) -> Result<(), BlobError>
where
    S: Stream<Item = Result<Bytes, BlobError>> + Send,
{
    let mut part = BytesMut::new();
    let mut upload: Option<Upload> = None;
    while let Some(piece) = source.next().await {
        part.extend_from_slice(&piece?);
        while part.len() >= PART_BYTES {
            if upload.is_none() {
                upload = Some(Upload::start(objects, location).await?);
            }
            if let Some(upload) = &mut upload {
                upload.put_part(part.split_to(PART_BYTES).freeze()).await?;
            }
        }
    }
    match upload {
        None => drop(step(objects.put(location, PutPayload::from_bytes(part.freeze()))).await?),
        Some(upload) => upload.finish(part.freeze()).await?,
    }
    Ok(())
}

/// A multipart upload. It is aborted when dropped, unless it was completed. The parts of a killed process stay until a
/// lifecycle rule of the bucket removes them.
struct Upload {
    parts: Option<Box<dyn MultipartUpload>>,
}

impl Upload {
    async fn start(objects: &dyn ObjectStore, location: &Path) -> Result<Upload, BlobError> {
        Ok(Upload { parts: Some(step(objects.put_multipart(location)).await?) })
    }

    async fn put_part(&mut self, bytes: Bytes) -> Result<(), BlobError> {
        if let Some(parts) = &mut self.parts {
            step(parts.put_part(PutPayload::from_bytes(bytes))).await?;
        }
        Ok(())
    }

    async fn finish(mut self, rest: Bytes) -> Result<(), BlobError> {
        if !rest.is_empty() {
            self.put_part(rest).await?;
        }
        if let Some(parts) = &mut self.parts {
            step(parts.complete()).await?;
        }
        self.parts = None;
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Some(mut parts) = self.parts.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = parts.abort().await {
                tracing::warn!(%error, "cannot abort an upload");
            }
        });
    }
}
