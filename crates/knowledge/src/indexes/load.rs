//! Brings an owner's index up to date with the database.

use super::Indexes;
use super::changes::{Changes, LoadedDocument};
use super::owner::{Owner, State};
use crate::records::Chunk;
use crate::tables;
use graph::Kind;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use store::StoreError;

/// Passages that are held in memory beside a file; beyond that, and if they are a fourth of those in the file, all are
/// written to a new one.
const MOST_IN_MEMORY: usize = 50_000;
const SHARE_IN_MEMORY: usize = 4;

/// Reads the documents that have changed since the last load: from a snapshot if that saves much, and the rest from the
/// database. Those that were read before a failure stay, and the next attempt continues from there.
pub async fn load(indexes: Arc<Indexes>, owner: Arc<Owner>) -> Result<(), StoreError> {
    let started = Instant::now();
    let read = match indexes.snapshots.newer(&indexes, &owner).await? {
        Some(state) => {
            // Searches see the old state until the new one has all changes.
            let next = Arc::new(Owner::new(&owner.user_id, indexes.cache.dimension()));
            *next.state_mut() = state;
            let read = update(&indexes, &next, &owner).await;
            if read.is_ok() {
                let (from, to) = (next.clone(), owner.clone());
                let adopting = tokio::task::spawn_blocking(move || to.adopt(&from));
                adopting.await.map_err(|_| StoreError::Stopping)?;
            }
            read
        }
        None => update(&indexes, &owner, &owner).await,
    };
    let measured = owner.clone();
    change(&indexes, &owner, move |state| measured.memory.index.store(state.index.bytes() as u64, Relaxed))
        .await?;
    indexes.cache.trim(&owner);
    metrics::histogram!("knowledge_index_load_seconds").record(started.elapsed());
    read
}

/// Reads what has changed into `owner`; the memory for it and the progress are those of `shown`.
pub async fn update(indexes: &Indexes, owner: &Arc<Owner>, shown: &Arc<Owner>) -> Result<(), StoreError> {
    let since = owner.state().read_to;
    let passages = tables::chunks::count_changed_since(&indexes.db, &owner.user_id, since).await?;
    let passages = passages.unsigned_abs();
    shown.load_progress.begin(passages);
    let held = passages.min(MOST_IN_MEMORY as u64);
    let permit = indexes.acquire(shown, passages, held * indexes.bytes_per_passage()).await?;
    let started = Instant::now();
    let read = read_changes(indexes, owner, shown).await;
    permit.release(started.elapsed());
    read
}

async fn read_changes(indexes: &Indexes, owner: &Arc<Owner>, shown: &Arc<Owner>) -> Result<(), StoreError> {
    // Read first: a later change has a higher revision, and is loaded next time at the latest.
    let now = tables::users::revisions(&indexes.db, &owner.user_id).await?;
    let (read_to, removals_to) = {
        let state = owner.state();
        (state.read_to, state.removals_to)
    };
    let mut changes = Changes::since(&indexes.db, &owner.user_id, read_to);
    while let Some(documents) = changes.next::<Chunk>().await? {
        let (encoder, reading) = (indexes.encoder.clone(), shown.clone());
        let folder = indexes.snapshots.folder.clone();
        change(indexes, owner, move |state| {
            for document in documents {
                reading.load_progress.add(document.chunks.len() as u64);
                put(state, document, encoder.as_deref());
            }
            let (in_memory, in_file) = state.index.places();
            if in_memory > MOST_IN_MEMORY.max(in_file / SHARE_IN_MEMORY)
                && let Err(error) = state.move_to_file(&folder)
            {
                tracing::warn!(%error, "an index stays in memory: it cannot be written to a file");
            }
        })
        .await?;
    }
    if now.removal > removals_to {
        let alive = tables::documents::ids_of_user(&indexes.db, &owner.user_id).await?;
        change(indexes, owner, move |state| remove_all_but(state, &alive.into_iter().collect())).await?;
    }
    let published = owner.clone();
    change(indexes, owner, move |state| {
        state.removals_to = now.removal;
        state.read_to = state.read_to.max(now.last);
        published.set_revision(now.last);
    })
    .await
}

/// Changes the index in a thread of its own: adding a page of passages takes too long for async threads.
async fn change(
    indexes: &Indexes,
    owner: &Arc<Owner>,
    change: impl FnOnce(&mut State) + Send + 'static,
) -> Result<(), StoreError> {
    let changed = owner.clone();
    let changing = tokio::task::spawn_blocking(move || change(&mut changed.state_mut()));
    changing.await.map_err(|_| {
        owner.forget_index(indexes.cache.dimension());
        StoreError::Stopping
    })
}

fn put(state: &mut State, LoadedDocument { document, chunks }: LoadedDocument<Chunk>, encoder: Option<&str>) {
    let is_current = encoder.is_none_or(|own| own == document.encoder);
    let mentions: Vec<Vec<retrieval::Mention<'_>>> =
        chunks.iter().map(|chunk| names(chunk).collect()).collect();
    let passages: Vec<retrieval::Passage<'_>> = chunks
        .iter()
        .zip(&mentions)
        .map(|(chunk, mentions)| retrieval::Passage {
            title: &document.title,
            headings: &chunk.headings,
            text: &chunk.text,
            vector: if is_current { &chunk.vector } else { &[] },
            mentions,
        })
        .collect();
    state.index.put(&document.document_id, &passages);
    state.read_to = document.revision;
    match is_current {
        true => state.outdated.remove(&document.document_id),
        false => state.outdated.insert(document.document_id),
    };
}

/// Returns the names that a search follows from passage to passage. Concepts connect too many passages to be useful.
fn names(chunk: &Chunk) -> impl Iterator<Item = retrieval::Mention<'_>> {
    let names = chunk.mentions.iter().filter(|mention| mention.kind != Kind::Concept.as_str());
    names.map(|mention| retrieval::Mention { key: &mention.key, defines: mention.defines })
}

fn remove_all_but(state: &mut State, alive: &HashSet<String>) {
    let gone = state.index.documents().filter(|document| !alive.contains(*document));
    for document in gone.map(str::to_owned).collect::<Vec<String>>() {
        state.index.remove(&document);
        state.outdated.remove(&document);
    }
}
