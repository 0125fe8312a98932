//! A folder of the server, with the folders below it. Links are followed only to what is inside.

mod inside;
mod walk;
mod watch;

pub use watch::{Watcher, watch};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::fs::Stat;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::{ConnectError, Connector, Environment, Found, Item, ItemError, Reading, Sink};
use walk::Walk;

/// The bytes of a file that are read at once.
const PIECE: usize = 256 * 1024;

pub(crate) struct Folder {
    root: PathBuf,
    /// Taken while a thread reads folders.
    walk: Option<Walk>,
}

/// Returns the real path of a folder, if it is below a folder of FOLDER_ROOTS.
pub(crate) fn check(path: &str, environment: &Environment) -> Result<PathBuf, ConnectError> {
    let real = real_path("path", path, environment)?;
    if !real.is_dir() {
        return Err(ConnectError::new(format!("`path` is not a folder: {path}")));
    }
    Ok(real)
}

/// Returns the real path of what a person has named in `field`. Says nothing about what is outside of FOLDER_ROOTS, not
/// even whether it is there.
pub(crate) fn real_path(field: &str, path: &str, environment: &Environment) -> Result<PathBuf, ConnectError> {
    let outside = || Err(ConnectError::new(format!("`{field}` is not below a folder of FOLDER_ROOTS")));
    let named = Path::new(path);
    if path.is_empty() {
        return Err(ConnectError::new(format!("`{field}` is empty: expected a path below FOLDER_ROOTS")));
    }
    if environment.folder_roots.is_empty() {
        return Err(ConnectError::new(format!("`{field}` cannot be read: FOLDER_ROOTS names no folder")));
    }
    if !named.is_absolute() || named.components().any(|part| part == Component::ParentDir) {
        return Err(ConnectError::new(format!("`{field}` is not an absolute path without `..`")));
    }
    let roots: Vec<PathBuf> =
        environment.folder_roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    match named.canonicalize() {
        Ok(real) if roots.iter().any(|root| real.starts_with(root)) => Ok(real),
        Err(error) if environment.folder_roots.iter().any(|root| named.starts_with(root)) => {
            Err(ConnectError::new(format!("`{field}` cannot be read: {path}: {error}")))
        }
        _ => outside(),
    }
}

impl Folder {
    pub async fn open(path: &str, environment: &Environment) -> Result<Folder, ConnectError> {
        let (path, environment) = (path.to_owned(), environment.clone());
        let opened = move || {
            let root = check(&path, &environment)?;
            let walk = Walk::start(root.clone())?;
            Ok(Folder { root, walk: Some(walk) })
        };
        tokio::task::spawn_blocking(opened).await.map_err(|_| interrupted())?
    }

    async fn next_page(&mut self) -> Result<Option<Vec<Item>>, ConnectError> {
        let mut walk = self.walk.take().ok_or_else(interrupted)?;
        let listed = tokio::task::spawn_blocking(move || {
            let page = walk.next_page();
            (walk, page)
        });
        let (walk, page) = listed.await.map_err(|_| interrupted())?;
        self.walk = Some(walk);
        page
    }

    async fn read_file(&self, item: &Item, known: &str, sink: &mut dyn Sink) -> Result<Reading, ItemError> {
        let (root, path) = (self.root.clone(), item.path.clone());
        let opened = in_thread(move || {
            let (mut file, state) = inside::open(&root, &path)?;
            let mut piece = Vec::with_capacity(PIECE);
            read_piece(&mut file, &mut piece)?;
            Ok((file, state, piece))
        });
        let (mut file, state, mut piece) = opened.await?;
        let state = version(&state);
        if state == known {
            return Ok(Reading::Unchanged);
        }
        loop {
            sink.write(&piece)?;
            // A piece that is not full was the last one.
            if piece.len() < PIECE {
                break;
            }
            (file, piece) = in_thread(move || {
                read_piece(&mut file, &mut piece)?;
                Ok((file, piece))
            })
            .await?;
        }
        let filename = item.path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Reading::Read(Found { state, filename, ..Found::default() }))
    }
}

impl Connector for Folder {
    fn next_items(&mut self) -> BoxFuture<'_, Result<Option<Vec<Item>>, ConnectError>> {
        self.next_page().boxed()
    }

    fn read<'a>(
        &'a mut self,
        item: &'a Item,
        known: &'a str,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<Reading, ItemError>> {
        self.read_file(item, known, sink).boxed()
    }
}

/// Returns a text that changes whenever the file is written or replaced.
fn version(state: &Stat) -> String {
    format!("{}.{:09}-{}-{}", state.st_mtime, state.st_mtime_nsec, state.st_size, state.st_ino)
}

/// Reads until the piece is full or the file ends.
fn read_piece(file: &mut File, piece: &mut Vec<u8>) -> Result<(), ItemError> {
    piece.clear();
    let read = file.take(PIECE as u64).read_to_end(piece);
    read.map(drop).map_err(|error| ItemError::Item(format!("it cannot be read: {error}")))
}

async fn in_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ItemError> + Send + 'static,
) -> Result<T, ItemError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(ItemError::Place(interrupted().message)))
}

fn interrupted() -> ConnectError {
    ConnectError::new("reading the folder was interrupted")
}
