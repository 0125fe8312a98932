//! Snapshots of indexes and graphs in the object store, so that a first search reads only what has changed since.
//!
//! When many passages of a user have changed, the transaction that changes them enqueues a job. Any process runs it: it
//! reads the last snapshot and the changes, and writes the next. An object is intended to be discarded before it is written,
//! so that a killed process leaves none.

use super::owner::{BuiltGraph, Owner, State};
use super::{GRAPH_BYTES_PER_PASSAGE, Indexes, LARGE, load};
use crate::jobs::{SNAPSHOT, SnapshotPayload, discard, payload, retried_job};
use crate::tables;
use crate::tables::snapshots::{self, Snapshot};
use base::Random;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use graph::Graph;
use retrieval::Index;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Cancel, Handler, Job, JobError, Worker};
use store::{BlobError, Blobs, Db, StoreError, Tx};
use tokio_util::sync::CancellationToken;

/// A snapshot is written when so many passages have changed, and an eighth of those in it.
const LEAST_CHANGED: i64 = 2_000;
const LEAST_SHARE: i64 = 8;
/// So long after that, because more documents often follow.
const SETTLING: Duration = Duration::from_secs(10);
/// A replaced snapshot stays for processes that are about to read it.
const KEPT_AFTER: Duration = Duration::from_secs(60);
/// An object that no row names is removed after this time, plus a second for each of so many bytes.
const STORING_TAKES: Duration = Duration::from_secs(30);
const SLOWEST_STORE: u64 = 1 << 20;
const PIECE: usize = 1 << 20;

pub struct Snapshots {
    pub db: Db,
    pub blobs: Blobs,
    pub random: Random,
    /// For files that end with the process.
    pub folder: PathBuf,
}

/// What a snapshot says of itself.
#[derive(Serialize, Deserialize)]
struct Note {
    read_to: i64,
    removals_to: i64,
    outdated: Vec<String>,
}

/// Notes that passages of a user have changed, and enqueues the job of a snapshot when they are many.
pub async fn note_change(tx: &mut Tx, user_id: &str, passages: i64) -> Result<(), StoreError> {
    let unsaved = snapshots::add_changed(tx, user_id, passages).await?;
    if !unsaved.has_job && unsaved.changed >= LEAST_CHANGED.max(unsaved.passages / LEAST_SHARE) {
        enqueue(tx, user_id).await?;
    }
    Ok(())
}

async fn enqueue(tx: &mut Tx, user_id: &str) -> Result<(), StoreError> {
    let mut job = retried_job(SNAPSHOT, SnapshotPayload { user_id: user_id.to_owned() });
    job.run_at = Some(tx.db().clock().now_ms() + SETTLING.as_millis() as i64);
    let job = jobs::enqueue(tx, job).await?;
    snapshots::set_job(tx, user_id, Some(job)).await
}

/// Enqueues the removal of a user's snapshots.
pub async fn discard_all(tx: &mut Tx, user_id: &str) -> Result<(), StoreError> {
    for key in snapshots::keys(tx, user_id).await? {
        jobs::enqueue(tx, discard(user_id, &key)).await?;
    }
    Ok(())
}

impl State {
    /// Writes the index to a file that ends with the process, and maps it.
    pub fn move_to_file(&mut self, folder: &Path) -> io::Result<()> {
        let file = self.write(folder)?;
        let (index, _) = Index::open(&file).map_err(io::Error::other)?;
        self.index = index;
        Ok(())
    }

    fn write(&self, folder: &Path) -> io::Result<File> {
        let note = Note {
            read_to: self.read_to,
            removals_to: self.removals_to,
            outdated: self.outdated.iter().cloned().collect(),
        };
        let mut file = BufWriter::new(tempfile::tempfile_in(folder)?);
        self.index.write(&serde_json::to_vec(&note)?, &mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn open(file: &File) -> Option<Self> {
        let (index, note) =
            Index::open(file).inspect_err(|error| tracing::warn!(%error, "a snapshot is not used")).ok()?;
        let Note { read_to, removals_to, outdated } = serde_json::from_slice(&note).ok()?;
        let outdated = outdated.into_iter().collect();
        Some(Self { index, outdated, read_to, removals_to, snapshot_revision: read_to })
    }
}

impl Snapshots {
    /// Returns the last snapshot if it has much that the owner has not read, or has in memory.
    pub async fn newer(&self, indexes: &Indexes, owner: &Arc<Owner>) -> Result<Option<State>, StoreError> {
        let (read_to, had, in_memory) = {
            let state = owner.state();
            (state.read_to, state.snapshot_revision, state.index.places().0 as u64)
        };
        let changed = tables::chunks::count_changed_since(&self.db, &owner.user_id, read_to).await?;
        if changed.unsigned_abs() + in_memory <= LARGE {
            return Ok(None);
        }
        let snapshot = snapshots::get(&self.db, &owner.user_id).await?;
        if snapshot.revision <= had {
            return Ok(None);
        }
        let opened = self.open(&snapshot, indexes).await?;
        if opened.is_none() && snapshot.is_of(indexes.encoder.as_deref()) {
            self.renew(&owner.user_id).await?;
        }
        Ok(opened)
    }

    /// Enqueues the job of a snapshot in place of one that cannot be used, such as that of another version of the program.
    async fn renew(&self, user_id: &str) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let is_there = tables::users::lock(&mut tx, user_id).await?.is_some();
        if is_there && !snapshots::add_changed(&mut tx, user_id, 0).await?.has_job {
            enqueue(&mut tx, user_id).await?;
        }
        tx.commit().await
    }

    /// Opens a snapshot. Returns none if it cannot be used: then all is read from the database.
    async fn open(&self, snapshot: &Snapshot, indexes: &Indexes) -> Result<Option<State>, StoreError> {
        if !snapshot.is_of(indexes.encoder.as_deref()) {
            return Ok(None);
        }
        let file = match self.fetch(&snapshot.object_key).await {
            Ok(file) => file,
            Err(error) => {
                tracing::warn!(%error, "a snapshot cannot be read");
                return Ok(None);
            }
        };
        let dimension = indexes.cache.dimension();
        let opening = tokio::task::spawn_blocking(move || State::open(&file));
        let opened = opening.await.map_err(|_| StoreError::Stopping)?;
        let opened = opened.filter(|state| state.index.dimension() == dimension);
        metrics::counter!("knowledge_snapshots_read_total").increment(u64::from(opened.is_some()));
        Ok(opened)
    }

    /// Returns an object as a file: its own, or one that ends with the process.
    async fn fetch(&self, key: &str) -> Result<File, BlobError> {
        let missing = || BlobError::Source(format!("there is no object `{key}`").into());
        if let Some(path) = self.blobs.local_path(key)? {
            return File::open(path).map_err(|error| BlobError::Source(error.into()));
        }
        let mut stream = self.blobs.get_stream(key).await?.ok_or_else(missing)?;
        let failed = |error: io::Error| BlobError::Source(error.into());
        let mut file = tempfile::tempfile_in(&self.folder).map_err(failed)?;
        while let Some(piece) = stream.bytes.next().await {
            let piece = piece?;
            let writing = tokio::task::spawn_blocking(move || file.write_all(&piece).map(|()| file));
            file = writing.await.map_err(|_| BlobError::Stopping)?.map_err(failed)?;
        }
        Ok(file)
    }

    /// Returns the graph of the last snapshot.
    pub async fn graph(&self, user_id: &str) -> Result<Option<BuiltGraph>, StoreError> {
        let snapshot = snapshots::get(&self.db, user_id).await?;
        if snapshot.graph_key.is_empty() {
            return Ok(None);
        }
        let bytes = match self.blobs.get(&snapshot.graph_key, u64::MAX).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) => {
                tracing::warn!(%error, "the snapshot of a graph cannot be read");
                return Ok(None);
            }
        };
        let reading = tokio::task::spawn_blocking(move || Graph::from_bytes(&bytes));
        let graph = reading.await.map_err(|_| StoreError::Stopping)?;
        Ok(graph.map(|graph| BuiltGraph {
            graph: Arc::new(graph),
            revision: snapshot.graph_revision,
            removals_to: snapshot.graph_removal,
        }))
    }

    /// Writes an object, and returns the job that would discard it.
    async fn store(&self, user_id: &str, key: &str, mut file: File) -> Result<i64, JobError> {
        let failed = |error: io::Error| JobError::retry(error.to_string());
        file.rewind().map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut unused = discard(user_id, key);
        let patience = STORING_TAKES + Duration::from_secs(size / SLOWEST_STORE);
        unused.run_at = Some(self.db.clock().now_ms() + patience.as_millis() as i64);
        let mut tx = self.db.begin().await?;
        let unused = jobs::enqueue(&mut tx, unused).await?;
        tx.commit().await?;
        let stored = self.blobs.put_stream(key, pieces(file), size).await;
        stored.map_err(|error| JobError::retry(error.to_string()))?;
        Ok(unused)
    }
}

/// Returns the bytes of a file.
fn pieces(file: File) -> impl stream::Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(file, |mut file| async move {
        let reading = tokio::task::spawn_blocking(move || {
            let mut piece = Vec::with_capacity(PIECE);
            (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
            Ok::<_, io::Error>((piece, file))
        });
        let (piece, file) = reading.await.map_err(io::Error::other)??;
        Ok((!piece.is_empty()).then(|| (Bytes::from(piece), file)))
    })
}

/// Runs the jobs of snapshots, one at a time.
pub fn worker(indexes: Arc<Indexes>, lease: Duration) -> Worker {
    let db = indexes.db.clone();
    Worker { lease, ..Worker::new(db, &[SNAPSHOT], Arc::new(SnapshotHandler(indexes))) }
}

struct SnapshotHandler(Arc<Indexes>);

impl Handler for SnapshotHandler {
    fn run(&self, job: Job, _: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move { write(&self.0, &job, &payload::<SnapshotPayload>(&job)?.user_id).await })
    }
}

/// Writes the next snapshot of a user.
async fn write(indexes: &Arc<Indexes>, job: &Job, user_id: &str) -> Result<(), JobError> {
    let snapshots = &indexes.snapshots;
    let owner = indexes.cache.owner(user_id);
    let next = Arc::new(Owner::new(user_id, indexes.cache.dimension()));
    let last = snapshots::get(&indexes.db, user_id).await?;
    if let Some(state) = snapshots.open(&last, indexes).await? {
        *next.state_mut() = state;
    }
    load::update(indexes, &next, &owner).await?;
    let (written, folder) = (next.clone(), snapshots.folder.clone());
    let writing = tokio::task::spawn_blocking(move || {
        let state = written.state();
        Ok::<_, io::Error>((state.write(&folder)?, state.index.len() as i64, state.read_to))
    });
    let (file, passages, revision) = writing
        .await
        .map_err(|error| JobError::retry(error.to_string()))?
        .map_err(|error| JobError::retry(format!("the snapshot cannot be written: {error}")))?;
    let name = || format!("users/{user_id}/indexes/{}", indexes.snapshots.random.uuid_v4());
    let mut snapshot = Snapshot {
        object_key: name(),
        encoder: indexes.encoder.clone().unwrap_or_default(),
        passages,
        revision,
        ..Snapshot::default()
    };
    let mut discards = vec![snapshots.store(user_id, &snapshot.object_key, file).await?];
    if let Some(built) = graph(indexes, user_id, passages).await? {
        snapshot.graph_key = name();
        (snapshot.graph_revision, snapshot.graph_removal) = (built.revision, built.removals_to);
        let (graph, folder) = (built.graph, snapshots.folder.clone());
        let writing = tokio::task::spawn_blocking(move || {
            let mut file = tempfile::tempfile_in(folder)?;
            file.write_all(&graph.to_bytes()).map(|()| file)
        });
        let file = writing.await.map_err(io::Error::other).flatten();
        let file = file.map_err(|error| JobError::retry(error.to_string()))?;
        discards.push(snapshots.store(user_id, &snapshot.graph_key, file).await?);
    }
    publish(indexes, job, user_id, &snapshot, discards).await?;
    metrics::counter!("knowledge_snapshots_total").increment(1);
    // What this process holds in memory is in the snapshot now.
    let _ = owner.loading.join(|| load::load(indexes.clone(), owner.clone())).ended().await;
    Ok(())
}

/// Returns the user's graph, unless it is too large to be built beside other things.
async fn graph(indexes: &Arc<Indexes>, user_id: &str, passages: i64) -> Result<Option<BuiltGraph>, JobError> {
    if passages.unsigned_abs() * GRAPH_BYTES_PER_PASSAGE > indexes.settings.memory {
        return Ok(None);
    }
    indexes.current_graph(user_id).await.map_err(|error| JobError::retry(error.to_string()))
}

async fn publish(
    indexes: &Indexes,
    job: &Job,
    user_id: &str,
    snapshot: &Snapshot,
    discards: Vec<i64>,
) -> Result<(), JobError> {
    let changed = tables::chunks::count_changed_since(&indexes.db, user_id, snapshot.revision).await?;
    let mut tx = indexes.db.begin().await?;
    // The user is locked first, as in every transaction that notes changes.
    tables::users::lock(&mut tx, user_id).await?;
    jobs::complete(&mut tx, job).await?;
    let Some(replaced) = snapshots::set(&mut tx, user_id, snapshot, changed).await? else {
        // The objects are discarded by their jobs.
        snapshots::set_job(&mut tx, user_id, None).await?;
        return Ok(tx.commit().await?);
    };
    for discard in discards {
        if jobs::cancel(&mut tx, discard).await? != Cancel::Cancelled {
            return Err(JobError::retry("storing the snapshot took too long"));
        }
    }
    for key in replaced.into_iter().filter(|key| !key.is_empty()) {
        let mut unused = discard(user_id, &key);
        unused.run_at = Some(tx.db().clock().now_ms() + KEPT_AFTER.as_millis() as i64);
        jobs::enqueue(&mut tx, unused).await?;
    }
    Ok(tx.commit().await?)
}
