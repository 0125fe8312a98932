//! Each user's passages and graph in memory: a cache of the database, brought up to date before every search.
//!
//! Every change to a user's documents raises the user's revision in the same transaction. A search first reads the
//! revision, and waits until the documents that have changed since are loaded (`load`). While a graph is rebuilt (`build`),
//! the last one is shown. Both are tasks of the process (`task`): a request that has waited too long gets an error and may
//! retry while the task goes on. They read in short statements (`changes`) over connections of their own. `owner` is what
//! one user has in memory, `cache` decides which users stay there. `snapshot` keeps large indexes in the object store, from
//! where they are mapped: then only what has changed since is read, and only that takes memory.

mod build;
mod cache;
mod changes;
mod load;
mod owner;
mod snapshot;
mod task;

pub use owner::State;
pub use snapshot::{Snapshots, discard_all, note_change, worker};

use crate::records::Scope;
use crate::tables;
use cache::{Cache, Reservation};
use futures_util::future::try_join_all;
use graph::Graph;
use owner::{BuiltGraph, Owner, Progress};
use std::sync::Arc;
use std::time::Duration;
use store::{Db, StoreError};
use task::Running;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

/// Large loads and builds that run at the same time; further ones queue.
const LARGE_AT_ONCE: usize = 2;
/// A load of more passages is large. Fewer passages take milliseconds, and need no permit.
const LARGE: u64 = 1_000;
/// About how many bytes a passage takes in an index besides its vector, and in a graph while it is built; reserved
/// beforehand.
const TEXT_BYTES_PER_PASSAGE: u64 = 2_000;
const GRAPH_BYTES_PER_PASSAGE: u64 = 4_000;
/// How long a request waits for a new graph before it gets the last one.
const NEW_GRAPH_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct IndexSettings {
    /// Bytes that the indexes and graphs of all users may take together.
    pub memory: u64,
    /// Those that were not used for so long are evicted.
    pub idle: Duration,
    /// How long a request waits for an index that is being loaded.
    pub patience: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(
        "the documents are being read into memory, {done} of {passages} passages so far: try again in a moment"
    )]
    Loading { done: u64, passages: u64 },
    #[error("the documents could not be read into memory: try again in a moment")]
    Failed(Arc<StoreError>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A graph, as answers show it.
#[derive(Default)]
pub struct ShownGraph {
    pub graph: Arc<Graph>,
    /// Changes up to this revision are in it; of several owners, the sum of their revisions.
    pub revision: i64,
    /// Whether documents have changed since, and a newer one is being built.
    pub is_outdated: bool,
}

pub struct Indexes {
    db: Db,
    /// The encoder that embeds questions; vectors of another encoder are never compared with its own.
    encoder: Option<String>,
    settings: IndexSettings,
    cache: Cache,
    snapshots: Snapshots,
    large: Semaphore,
}

/// The permit to read many passages, and the memory that is reserved for them.
struct LoadPermit<'a> {
    cache: &'a Cache,
    owner: &'a Owner,
    large: Option<(SemaphorePermit<'a>, Reservation<'a>)>,
}

impl LoadPermit<'_> {
    /// Returns the permit after a load that took so long.
    fn release(self, took: Duration) {
        if self.large.is_some() {
            self.cache.protect(self.owner, took);
        }
    }
}

impl Indexes {
    pub fn new(snapshots: Snapshots, encoder: Option<(String, usize)>, settings: IndexSettings) -> Self {
        let (encoder, dimension) = encoder.unzip();
        let cache = Cache::new(settings.memory, dimension.unwrap_or(384));
        let db = snapshots.db.clone();
        Self { db, encoder, settings, cache, snapshots, large: Semaphore::new(LARGE_AT_ONCE) }
    }

    /// Runs `search` on the user's current index, in a thread of its own because a large index takes milliseconds. Returns
    /// none if the user has no documents.
    pub async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        user_id: &str,
        search: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<Option<T>, IndexError> {
        let wanted = tables::users::revisions(&self.db, user_id).await?.last;
        let Some(owner) = self.loaded(user_id, wanted).await? else { return Ok(None) };
        let searching = tokio::task::spawn_blocking(move || search(&owner.state()));
        Ok(Some(searching.await.map_err(|_| StoreError::Stopping)?))
    }

    /// Returns the owner with an index of at least this revision; none if the user was removed or never had a document.
    async fn loaded(self: &Arc<Self>, user_id: &str, wanted: i64) -> Result<Option<Arc<Owner>>, IndexError> {
        if wanted == 0 {
            return Ok(None);
        }
        let owner = self.cache.owner(user_id);
        let deadline = Instant::now() + self.settings.patience;
        // The first attempt may join a task that began before the change; the second cannot.
        for _ in 0..2 {
            if owner.revision() >= wanted {
                return Ok(Some(owner));
            }
            let loading = owner.loading.join(|| load::load(self.clone(), owner.clone()));
            ended_by(deadline, loading, &owner.load_progress).await?;
        }
        Ok(Some(owner).filter(|owner| owner.revision() >= wanted))
    }

    /// Returns the graph of all that the passages in the scope name. If building a part of it takes long, the last one that
    /// was built counts.
    pub async fn graph(self: &Arc<Self>, scope: &Scope) -> Result<ShownGraph, IndexError> {
        let mut parts = try_join_all(scope.ids().map(|owner_id| self.graph_of(owner_id))).await?;
        // Most callers have one graph that is not empty.
        parts.retain(|part| part.revision > 0);
        if parts.len() < 2 {
            return Ok(parts.pop().unwrap_or_default());
        }
        let (revision, is_outdated) =
            (parts.iter().map(|part| part.revision).sum(), parts.iter().any(|part| part.is_outdated));
        let joining =
            tokio::task::spawn_blocking(move || Graph::union(parts.iter().map(|part| &*part.graph)));
        let graph = Arc::new(joining.await.map_err(|_| StoreError::Stopping)?);
        Ok(ShownGraph { graph, revision, is_outdated })
    }

    /// Returns the graph of one owner.
    async fn graph_of(self: &Arc<Self>, user_id: &str) -> Result<ShownGraph, IndexError> {
        let wanted = tables::documents::last_indexed(&self.db, user_id).await?;
        if wanted == 0 {
            return Ok(ShownGraph::default());
        }
        let owner = self.cache.owner(user_id);
        if owner.graph().is_none()
            && let Some(stored) = self.snapshots.graph(user_id).await?
        {
            owner.set_graph(stored);
        }
        let is_first = owner.graph().is_none();
        let patience = if is_first { self.settings.patience } else { NEW_GRAPH_PATIENCE };
        let deadline = Instant::now() + patience.min(self.settings.patience);
        let mut waited = Ok(());
        // The first attempt may join a build that began before the change; the second cannot.
        for _ in 0..2 {
            if let Some(built) = owner.graph().filter(|built| built.revision >= wanted) {
                return Ok(ShownGraph { graph: built.graph, revision: built.revision, is_outdated: false });
            }
            let building = owner.building.join(|| build::build(self.clone(), owner.clone()));
            waited = ended_by(deadline, building, &owner.build_progress).await;
            if waited.is_err() {
                break;
            }
        }
        let Some(last) = owner.graph() else {
            waited?;
            return Err(StoreError::Stopping.into());
        };
        let BuiltGraph { graph, revision, .. } = build::without_removed(self, &owner, last).await?;
        Ok(ShownGraph { graph, revision, is_outdated: revision < wanted })
    }

    /// Returns the graph with all changes, however long it takes; none if the user has no documents.
    async fn current_graph(self: &Arc<Self>, user_id: &str) -> Result<Option<BuiltGraph>, IndexError> {
        let wanted = tables::documents::last_indexed(&self.db, user_id).await?;
        let owner = self.cache.owner(user_id);
        let is_current = |built: &BuiltGraph| built.revision >= wanted;
        if wanted > 0 && !owner.graph().is_some_and(|built| is_current(&built)) {
            let building = owner.building.join(|| build::build(self.clone(), owner.clone()));
            building.ended().await.map_err(IndexError::Failed)?;
        }
        match owner.graph() {
            Some(last) => Ok(Some(build::without_removed(self, &owner, last).await?)),
            None => Ok(None),
        }
    }

    /// Waits until so many passages may be read and the memory for them is free.
    async fn acquire<'a>(
        &'a self,
        owner: &'a Owner,
        passages: u64,
        bytes: u64,
    ) -> Result<LoadPermit<'a>, StoreError> {
        let large = if passages > LARGE {
            let permit = self.large.acquire().await.map_err(|_| StoreError::Stopping)?;
            Some((permit, self.cache.reserve(owner, bytes).await))
        } else {
            None
        };
        Ok(LoadPermit { cache: &self.cache, owner, large })
    }

    fn bytes_per_passage(&self) -> u64 {
        // A vector is held as floats and as bytes.
        TEXT_BYTES_PER_PASSAGE + 5 * self.cache.dimension() as u64
    }

    /// Returns how many users have an index in memory, and the bytes of them and of their graphs.
    pub fn held(&self) -> (u64, u64) {
        self.cache.held()
    }

    /// Evicts indexes that are not used any more, as long as the process runs.
    pub async fn evict_idle(&self) {
        let pause = (self.settings.idle / 4).clamp(Duration::from_millis(100), Duration::from_secs(60));
        loop {
            tokio::time::sleep(pause).await;
            self.cache.evict_idle(self.settings.idle);
        }
    }
}

async fn ended_by(deadline: Instant, task: Running, progress: &Progress) -> Result<(), IndexError> {
    let Ok(outcome) = timeout_at(deadline, task.ended()).await else {
        let (done, passages) = progress.get();
        return Err(IndexError::Loading { done, passages });
    };
    outcome.map_err(IndexError::Failed)
}
