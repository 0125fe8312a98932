//! Edges: entities that occur in the same passage, or in the same sentence, more often than by chance.

use super::fixed_point::FixedPoint;
use super::merge::Merged;
use crate::edge::Edge;

/// Only the highest-weighted entities of a passage are paired, since pairs grow with the square.
const MOST_PER_PASSAGE: usize = 24;
/// Weights of co-occurrence; the same sentence counts 1.
const NEXT_SENTENCE: f32 = 0.5;
const SAME_PASSAGE: f32 = 0.1;
/// Most edges of a node that are kept.
const MOST_PER_NODE: u32 = 8;

struct Presence {
    passage: (u32, u32),
    node: u32,
    weight: f32,
    sentences: u32,
}

/// Returns the edges between nodes. `index` holds each entity's node.
pub fn edges(merged: &Merged<'_>, index: &[u32]) -> Vec<Edge> {
    let presences = presences(merged, index);
    let mut frequencies = vec![FixedPoint::default(); index.len()];
    let mut pairs: Vec<(u64, f32)> = Vec::new();
    let mut total = FixedPoint::default();
    for passage in presences.chunk_by(|one, next| one.passage == next.passage) {
        let all = passage.iter().fold(0, |all, presence| all | presence.sentences);
        total += times(all);
        passage.iter().for_each(|presence| frequencies[presence.node as usize] += times(presence.sentences));
        let strongest = &passage[..passage.len().min(MOST_PER_PASSAGE)];
        for (index, one) in strongest.iter().enumerate() {
            for other in &strongest[index + 1..] {
                pairs.push((pair(one.node, other.node), together(one.sentences, other.sentences)));
            }
        }
    }
    let total = total.value();
    pairs.sort_unstable_by_key(|pair| pair.0);
    let edges = pairs.chunk_by(|one, next| one.0 == next.0).map(|same| {
        let together = same.iter().map(|(_, times)| *times).sum::<FixedPoint>().value();
        let (source, target) = ((same[0].0 >> 32) as u32, same[0].0 as u32);
        let expected = frequencies[source as usize].value() * frequencies[target as usize].value() / total;
        Edge { source, target, strength: strength(together, expected, total) }
    });
    prune(edges.filter(|edge| edge.strength > 0.0).collect(), index.len(), MOST_PER_NODE)
}

fn presences(merged: &Merged<'_>, index: &[u32]) -> Vec<Presence> {
    let mut presences: Vec<Presence> = Vec::new();
    for (entity, &node) in merged.entities.iter().zip(index) {
        presences.extend(entity.rows.iter().map(|row| Presence {
            passage: (row.document, row.passage),
            node,
            weight: row.weight,
            sentences: row.sentences,
        }));
    }
    presences.sort_unstable_by(|a, b| {
        a.passage.cmp(&b.passage).then_with(|| b.weight.total_cmp(&a.weight)).then(a.node.cmp(&b.node))
    });
    presences
}

fn times(sentences: u32) -> f32 {
    sentences.count_ones() as f32 + SAME_PASSAGE
}

/// Returns how often two entities occur together: in a sentence, in neighbouring sentences, or only in the passage.
fn together(one: u32, other: u32) -> f32 {
    let same = one & other;
    let next = (one << 1 | one >> 1) & other & !same;
    same.count_ones() as f32 + NEXT_SENTENCE * next.count_ones() as f32 + SAME_PASSAGE
}

fn pair(one: u32, other: u32) -> u64 {
    u64::from(one.min(other)) << 32 | u64::from(one.max(other))
}

/// Returns the normalised pointwise mutual information, damped because it favours rare entities, times a confidence
/// that grows with the count.
fn strength(together: f32, expected: f32, total: f32) -> f32 {
    let information = (together / expected).ln() / (1.0 + total / together).ln();
    let sureness = together / (together + 2.0);
    (information.max(0.0).sqrt() * sureness).clamp(0.0, 1.0)
}

/// Keeps an edge if it is among the strongest `most` of either end.
pub fn prune(mut edges: Vec<Edge>, nodes: usize, most: u32) -> Vec<Edge> {
    edges.sort_by(|a, b| {
        b.strength.total_cmp(&a.strength).then_with(|| (a.source, a.target).cmp(&(b.source, b.target)))
    });
    let mut kept = vec![0_u32; nodes];
    edges.retain(|edge| {
        let (source, target) = (edge.source as usize, edge.target as usize);
        let keeps = kept[source] < most || kept[target] < most;
        kept[source] += 1;
        kept[target] += 1;
        keeps
    });
    edges.sort_by_key(|edge| (edge.source, edge.target));
    edges
}
