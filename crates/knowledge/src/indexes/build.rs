//! Builds an owner's graph from what all passages name.

use super::changes::{Changes, LoadedDocument};
use super::owner::{BuiltGraph, Owner};
use super::{GRAPH_BYTES_PER_PASSAGE, Indexes};
use crate::tables;
use crate::tables::chunks::Mentions;
use graph::{Evidence, Graph, Kind};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use store::StoreError;

/// What the chunks of each document mention, by its id.
type Named = HashMap<String, Vec<Mentions>>;

/// Rebuilds the graph. The last one stays until this is done.
pub async fn build(indexes: Arc<Indexes>, owner: Arc<Owner>) -> Result<(), StoreError> {
    // Read first: a later change has a higher revision, and causes another build.
    let removals_to = tables::users::revisions(&indexes.db, &owner.user_id).await?.removal;
    let revision = tables::documents::last_indexed(&indexes.db, &owner.user_id).await?;
    let passages = tables::chunks::count_changed_since(&indexes.db, &owner.user_id, 0).await?;
    let passages = passages.unsigned_abs();
    owner.build_progress.begin(passages);
    let permit = indexes.acquire(&owner, passages, passages * GRAPH_BYTES_PER_PASSAGE).await?;
    let started = Instant::now();
    let mut named = Named::new();
    let mut changes = Changes::since(&indexes.db, &owner.user_id, 0);
    while let Some(documents) = changes.next::<Mentions>().await? {
        for LoadedDocument { document, chunks } in documents {
            owner.build_progress.add(chunks.len() as u64);
            // A document that has changed meanwhile is listed again, and replaces its first version.
            named.insert(document.document_id, chunks);
        }
    }
    let building = tokio::task::spawn_blocking(move || Graph::build(evidence(&named)));
    let graph = Arc::new(building.await.map_err(|_| StoreError::Stopping)?);
    owner.set_graph(BuiltGraph { graph, revision, removals_to });
    permit.release(started.elapsed());
    indexes.cache.trim(&owner);
    metrics::histogram!("knowledge_graph_build_seconds").record(started.elapsed());
    Ok(())
}

/// Returns the last graph without the documents that were removed since it was built.
pub async fn without_removed(
    indexes: &Indexes,
    owner: &Owner,
    last: BuiltGraph,
) -> Result<BuiltGraph, StoreError> {
    let removals_to = tables::users::revisions(&indexes.db, &owner.user_id).await?.removal;
    if removals_to <= last.removals_to {
        return Ok(last);
    }
    let alive = tables::documents::ids_of_user(&indexes.db, &owner.user_id).await?;
    let alive: HashSet<String> = alive.into_iter().collect();
    let reducing = tokio::task::spawn_blocking(move || last.graph.of_documents(|id| alive.contains(id)));
    let graph = Arc::new(reducing.await.map_err(|_| StoreError::Stopping)?);
    let reduced = BuiltGraph { graph, revision: last.revision, removals_to };
    owner.set_graph(reduced.clone());
    Ok(reduced)
}

fn evidence(named: &Named) -> impl Iterator<Item = Evidence<'_>> {
    let chunks =
        named.iter().flat_map(|(document, chunks)| chunks.iter().map(move |chunk| (document, chunk)));
    chunks.flat_map(|(document, chunk)| {
        chunk.mentions.iter().map(move |mention| Evidence {
            document,
            passage: chunk.position as u32,
            key: &mention.key,
            label: &mention.label,
            kind: Kind::parse(&mention.kind).unwrap_or(Kind::Concept),
            count: mention.count,
            weight: mention.weight,
            defines: mention.defines,
            sentences: mention.sentences,
        })
    })
}
