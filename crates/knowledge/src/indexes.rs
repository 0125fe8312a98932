//! Each user's passages in memory: a cache of the database, brought up to date before every search.
//!
//! Every change to a user's documents raises the user's revision in the transaction that makes it. A search first
//! asks for the revision, and reads the documents that have changed since the one it knows.

use crate::documents::{Chunk, Mention};
use crate::tables;
use crate::tables::chunks::Changed;
use crate::tables::users::Revisions;
use graph::{Evidence, Graph, Kind};
use retrieval::Index;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::{Db, StoreError};
use tokio::sync::{Mutex as AsyncMutex, RwLock};

/// What all users' passages may take; beyond it, those that were searched longest ago go.
const MEMORY: usize = 1 << 30;

pub struct Indexes {
    db: Db,
    /// The encoder that searches; vectors of another are never compared with its own.
    encoder: Option<String>,
    dimension: usize,
    owners: Mutex<HashMap<String, Arc<Owner>>>,
    searches: AtomicU64,
}

/// What one user has.
#[derive(Default)]
pub struct Owner {
    state: RwLock<Option<State>>,
    graph: AsyncMutex<Option<(i64, Arc<Graph>)>>,
    last_search: AtomicU64,
    bytes: AtomicU64,
}

pub struct State {
    pub index: Index,
    revision: i64,
    documents: HashSet<String>,
    /// Documents whose vectors are of another encoder: found by their words only, until they are reindexed.
    outdated: HashSet<String>,
}

impl State {
    pub fn outdated(&self) -> usize {
        self.outdated.len()
    }

    pub fn is_outdated(&self, document: &str) -> bool {
        self.outdated.contains(document)
    }
}

impl Indexes {
    pub fn new(db: Db, encoder: Option<(String, usize)>) -> Self {
        let (encoder, dimension) = encoder.unzip();
        let dimension = dimension.unwrap_or(384);
        Self { db, encoder, dimension, owners: Mutex::default(), searches: AtomicU64::default() }
    }

    /// Runs `search` on what the user has now. In a thread of its own: a large index takes milliseconds.
    pub async fn with<T: Send + 'static>(
        &self,
        user_id: &str,
        search: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let owner = self.owner(user_id);
        let revisions = tables::users::revisions(&self.db, user_id).await?;
        let fresh = owner.state.read().await.as_ref().is_some_and(|state| state.revision >= revisions.last);
        if !fresh {
            self.refresh(&owner, user_id, revisions).await?;
        }
        let searching = tokio::task::spawn_blocking(move || {
            let state = owner.state.blocking_read();
            state.as_ref().map(search)
        });
        searching.await.map_err(|_| StoreError::Stopping)
    }

    /// The graph of all that the user's passages name.
    pub async fn graph(&self, user_id: &str) -> Result<Arc<Graph>, StoreError> {
        let owner = self.owner(user_id);
        let mut built = owner.graph.lock().await;
        let revision = tables::documents::last_indexed(&self.db, user_id).await?;
        if let Some((of, graph)) = built.as_ref()
            && *of >= revision
        {
            return Ok(graph.clone());
        }
        let evidence = tables::chunks::mentions_of_user(&self.db, user_id).await?;
        let building = tokio::task::spawn_blocking(move || Arc::new(build_graph(&evidence)));
        let graph = building.await.map_err(|_| StoreError::Stopping)?;
        *built = Some((revision, graph.clone()));
        Ok(graph)
    }

    fn owner(&self, user_id: &str) -> Arc<Owner> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owners.entry(user_id.to_owned()).or_default().clone();
        owner.last_search.store(self.searches.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let total: u64 = owners.values().map(|owner| owner.bytes.load(Ordering::Relaxed)).sum();
        if total > MEMORY as u64 && owners.len() > 1 {
            let oldest = owners.iter().min_by_key(|(_, owner)| owner.last_search.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                owners.remove(&oldest);
            }
        }
        owner
    }

    /// Reads what has changed. What changes meanwhile has a higher revision, and is read the next time.
    async fn refresh(&self, owner: &Owner, user_id: &str, now: Revisions) -> Result<(), StoreError> {
        let mut slot = owner.state.write().await;
        let state = slot.get_or_insert_with(|| State {
            index: Index::new(self.dimension),
            revision: 0,
            documents: HashSet::new(),
            outdated: HashSet::new(),
        });
        if state.revision >= now.last {
            return Ok(());
        }
        let since = state.revision;
        let put = |changed: Changed| {
            let current = self.encoder.as_ref().is_none_or(|own| *own == changed.encoder);
            // A large document takes longer than others on this thread would like to wait.
            tokio::task::block_in_place(|| put(&mut state.index, &changed, current));
            match current {
                true => state.outdated.remove(&changed.document_id),
                false => state.outdated.insert(changed.document_id.clone()),
            };
            state.documents.insert(changed.document_id);
        };
        tables::chunks::changed_since(&self.db, user_id, since, put).await?;
        if now.removal > state.revision {
            let alive: HashSet<String> =
                tables::documents::ids_of_user(&self.db, user_id).await?.into_iter().collect();
            for gone in state.documents.difference(&alive) {
                state.index.remove(gone);
                state.outdated.remove(gone);
            }
            state.documents.retain(|id| alive.contains(id));
        }
        state.revision = now.last;
        owner.bytes.store(state.index.bytes() as u64, Ordering::Relaxed);
        Ok(())
    }
}

fn put(index: &mut Index, changed: &Changed, current: bool) {
    let mentions: Vec<Vec<retrieval::Mention<'_>>> =
        changed.chunks.iter().map(|chunk| names(chunk).collect()).collect();
    let passages: Vec<retrieval::Passage<'_>> = changed
        .chunks
        .iter()
        .zip(&mentions)
        .map(|(chunk, mentions)| retrieval::Passage {
            title: &changed.title,
            headings: &chunk.headings,
            text: &chunk.text,
            vector: if current { &chunk.vector } else { &[] },
            mentions,
        })
        .collect();
    index.put(&changed.document_id, &passages);
}

/// What a search follows from passage to passage. Concepts lead everywhere, and so nowhere.
fn names(chunk: &Chunk) -> impl Iterator<Item = retrieval::Mention<'_>> {
    let names = chunk.mentions.iter().filter(|mention| mention.kind != Kind::Concept.as_str());
    names.map(|mention| retrieval::Mention { key: &mention.key, defines: mention.defines })
}

fn build_graph(evidence: &[(String, i64, Vec<Mention>)]) -> Graph {
    let rows = evidence.iter().flat_map(|(document, position, mentions)| {
        mentions.iter().map(move |mention| Evidence {
            document,
            passage: *position as u32,
            key: &mention.key,
            label: &mention.label,
            kind: Kind::parse(&mention.kind).unwrap_or(Kind::Concept),
            count: mention.count,
            weight: mention.weight,
            defines: mention.defines,
            sentences: mention.sentences,
        })
    });
    Graph::build(rows)
}
