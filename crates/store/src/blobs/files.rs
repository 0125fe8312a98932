//! Objects in a folder: written to a staging file, synced, then renamed, with the folders synced too.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Result as IoResult, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::BlobError;

/// The folder of staging files. No key is stored under this name: keys have their `#` encoded.
const UPLOADS: &str = "#uploads";
const LOCK: &str = "lock";

pub(super) struct Files {
    root: PathBuf,
    uploads: Arc<Uploads>,
    /// Held while folders are created: a writer that finds a folder must not go on before the folder is durable.
    making_folders: Arc<Mutex<()>>,
}

impl Files {
    pub(super) async fn open(path: &str) -> Result<(Files, LocalFileSystem), BlobError> {
        if !path.starts_with('/') {
            return Err(BlobError::Url("the object folder must be absolute: file:///folder".into()));
        }
        let path = PathBuf::from(path);
        blocking(move || {
            make_durable_folders(&path)?;
            let root = path.canonicalize()?;
            let uploads = Arc::new(Uploads::open(&root.join(UPLOADS))?);
            let objects = LocalFileSystem::new_with_prefix(&root)?;
            Ok((Files { root, uploads, making_folders: Arc::default() }, objects))
        })
        .await
    }

    pub(super) async fn put(&self, location: &Location, bytes: Bytes) -> Result<(), BlobError> {
        let mut upload = self.new_upload().await?;
        let upload = blocking(move || {
            upload.file.write_all(&bytes)?;
            Ok(upload)
        });
        self.publish(upload.await?, location).await
    }

    pub(super) async fn put_stream<S>(
        &self,
        location: &Location,
        mut source: Pin<&mut S>,
    ) -> Result<(), BlobError>
    where
        S: Stream<Item = Result<Bytes, BlobError>> + Send,
    {
        let mut upload = self.new_upload().await?;
        while let Some(piece) = source.next().await {
            let piece = piece?;
            upload = blocking(move || {
                upload.file.write_all(&piece)?;
                Ok(upload)
            })
            .await?;
        }
        self.publish(upload, location).await
    }

    pub(super) async fn delete(&self, location: &Location) -> Result<(), BlobError> {
        let path = self.path_of(location);
        blocking(move || match std::fs::remove_file(&path) {
            Ok(()) => Ok(sync_folder_of(&path)?),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        })
        .await
    }

    pub(super) async fn ping(&self) -> Result<(), BlobError> {
        self.new_upload().await.map(drop)
    }

    /// Creates a staging file in a task that returns or drops it: a caller that is dropped leaves no file.
    async fn new_upload(&self) -> Result<Upload, BlobError> {
        let uploads = self.uploads.clone();
        blocking(move || Ok(uploads.create()?)).await
    }

    /// Makes a staging file the object of a key.
    async fn publish(&self, upload: Upload, location: &Location) -> Result<(), BlobError> {
        let path = self.path_of(location);
        let making_folders = self.making_folders.clone();
        blocking(move || {
            upload.file.sync_all()?;
            if let Some(folder) = path.parent() {
                let _one_at_a_time = making_folders.lock().unwrap_or_else(PoisonError::into_inner);
                make_durable_folders(folder)?;
            }
            std::fs::rename(&upload.path, &path)?;
            Ok(sync_folder_of(&path)?)
        })
        .await
    }

    pub(super) fn path_of(&self, location: &Location) -> PathBuf {
        self.root.join(location.as_ref())
    }
}

/// The staging files of this process: a folder of its own with a lock that ends with the process.
struct Uploads {
    folder: PathBuf,
    next: AtomicU64,
    _lock: File,
}

impl Uploads {
    /// Creates the folder of this process, and removes the folders of processes that have ended.
    fn open(all: &Path) -> IoResult<Uploads> {
        make_durable_folders(all)?;
        // One process at a time, so that none takes a new folder for that of an ended process.
        let one_at_a_time = new_file(&all.join(LOCK), false)?;
        one_at_a_time.lock()?;
        for entry in std::fs::read_dir(all)? {
            let folder = entry?.path();
            let lock = folder.join(LOCK);
            let owner_has_ended = match OpenOptions::new().write(true).open(&lock) {
                Ok(lock) => lock.try_lock().is_ok(),
                Err(_) => true,
            };
            if folder.is_dir() && owner_has_ended {
                std::fs::remove_dir_all(&folder)?;
            }
        }
        let folder = unused_folder(all)?;
        let lock = new_file(&folder.join(LOCK), true)?;
        lock.lock()?;
        Ok(Uploads { folder, next: AtomicU64::new(0), _lock: lock })
    }

    fn create(&self) -> IoResult<Upload> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Listings skip such names: object_store's own staging files have them too.
        let path = self.folder.join(format!("upload#{number}"));
        let file = new_file(&path, true)?;
        Ok(Upload { path, file })
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A staging file. It is removed when dropped, unless it was renamed.
struct Upload {
    path: PathBuf,
    file: File,
}

impl Drop for Upload {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn unused_folder(all: &Path) -> IoResult<PathBuf> {
    let process = std::process::id();
    for number in 0.. {
        let folder = all.join(format!("{process}-{number}"));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn new_file(path: &Path, must_be_new: bool) -> IoResult<File> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if must_be_new {
        options.create_new(true)
    } else {
        options.create(true)
    };
    options.open(path)
}

/// Creates the missing folders from the top down, each synced into its parent.
fn make_durable_folders(folder: &Path) -> IoResult<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_durable_folders(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => sync_folder_of(folder),
    }
}

fn sync_folder_of(path: &Path) -> IoResult<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

async fn blocking<T, F>(work: F) -> Result<T, BlobError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, BlobError> + Send + 'static,
{
    tokio::task::spawn_blocking(work).await.map_err(|_| BlobError::Stopping)?
}
