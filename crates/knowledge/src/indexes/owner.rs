//! What one user has in memory: the index, the graph, the tasks that update them, and how many bytes they take.

use super::task::SharedTask;
use graph::Graph;
use retrieval::Index;
use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub struct Owner {
    pub user_id: String,
    state: RwLock<State>,
    /// The revision of the index that searches see; 0 until it has been loaded for the first time.
    revision: AtomicI64,
    pub loading: SharedTask,
    pub load_progress: Progress,
    graph: Mutex<Option<BuiltGraph>>,
    pub building: SharedTask,
    pub build_progress: Progress,
    pub memory: Memory,
}

/// A graph, and the revision up to which documents are in it.
#[derive(Clone)]
pub struct BuiltGraph {
    pub graph: Arc<Graph>,
    pub revision: i64,
    /// Documents that were removed up to this revision are not in it.
    pub removals_to: i64,
}

/// The index, and what it was built from.
pub struct State {
    pub index: Index,
    /// Documents whose vectors are of another encoder: found by their words only, until they are reindexed.
    pub outdated: HashSet<String>,
    /// All changes up to this revision are in it, except removals.
    pub read_to: i64,
    /// Removals up to this revision are in it.
    pub removals_to: i64,
    /// The revision of the snapshot that it began with; 0 if there was none.
    pub snapshot_revision: i64,
}

impl State {
    pub fn new(dimension: usize) -> Self {
        Self {
            index: Index::new(dimension),
            outdated: HashSet::new(),
            read_to: 0,
            removals_to: 0,
            snapshot_revision: 0,
        }
    }

    pub fn outdated(&self) -> usize {
        self.outdated.len()
    }

    pub fn is_outdated(&self, document: &str) -> bool {
        self.outdated.contains(document)
    }
}

impl Owner {
    pub fn new(user_id: &str, dimension: usize) -> Self {
        Self {
            user_id: user_id.to_owned(),
            state: RwLock::new(State::new(dimension)),
            revision: AtomicI64::new(0),
            loading: SharedTask::default(),
            load_progress: Progress::default(),
            graph: Mutex::default(),
            building: SharedTask::default(),
            build_progress: Progress::default(),
            memory: Memory::default(),
        }
    }

    pub fn revision(&self) -> i64 {
        self.revision.load(Relaxed)
    }

    pub fn set_revision(&self, revision: i64) {
        self.revision.store(revision, Relaxed);
    }

    /// Blocks while a page of passages is being added, so async threads must not call it.
    pub fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks as long as a search runs, so async threads must not call it.
    pub fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what another has read, which must be at least as new.
    pub fn adopt(&self, other: &Owner) {
        let dimension = other.state().index.dimension();
        let state = std::mem::replace(&mut *other.state_mut(), State::new(dimension));
        *self.state_mut() = state;
        self.set_revision(other.revision());
    }

    /// Drops an index that a panic left half changed, so that it is loaded again.
    pub fn forget_index(&self, dimension: usize) {
        self.set_revision(0);
        *self.state_mut() = State::new(dimension);
        self.memory.index.store(0, Relaxed);
    }

    pub fn graph(&self) -> Option<BuiltGraph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the graph, unless there is a newer one.
    pub fn set_graph(&self, built: BuiltGraph) {
        let bytes = built.graph.bytes() as u64;
        let mut graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        if graph.as_ref().is_none_or(|current| current.revision <= built.revision) {
            self.memory.graph.store(bytes, Relaxed);
            *graph = Some(built);
        }
    }

    pub fn is_busy(&self) -> bool {
        self.loading.is_running() || self.building.is_running()
    }
}

/// The progress of a task, in passages.
#[derive(Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    pub fn begin(&self, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
    }

    pub fn add(&self, passages: u64) {
        self.done.fetch_add(passages, Relaxed);
    }

    pub fn get(&self) -> (u64, u64) {
        let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
        (done, total.max(done))
    }
}

/// The bytes that an owner takes, and when it was used. Times are milliseconds of the cache's own clock.
#[derive(Default)]
pub struct Memory {
    pub index: AtomicU64,
    pub graph: AtomicU64,
    /// Reserved for what is being loaded.
    pub reserved: AtomicU64,
    pub last_used: AtomicU64,
    /// Not evicted before this time, so that two owners that do not fit together do not evict each other all the time; 0
    /// if not set.
    pub stays_until: AtomicU64,
}

impl Memory {
    pub fn bytes(&self) -> u64 {
        self.index.load(Relaxed) + self.graph.load(Relaxed) + self.reserved.load(Relaxed)
    }
}
