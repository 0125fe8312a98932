//! The graph of one owner's evidence: a node for each entity, and edges between entities that occur together. It
//! depends on the evidence alone, so removing a document's rows removes its part.

mod bytes;
mod find;
mod fixed_point;
mod merge;
mod pairs;
mod union;
mod view;

use fixed_point::FixedPoint;
use std::collections::HashMap;
use std::sync::Arc;

use crate::edge::Edge;
use crate::kind::{Kind, Votes};
use crate::{key, leiden};
use merge::Merged;

pub use view::View;

/// The evidence that a passage of a document mentions an entity: a [`crate::Mention`] and its document.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub document: &'a str,
    pub passage: u32,
    pub key: &'a str,
    pub label: &'a str,
    pub kind: Kind,
    pub count: u32,
    pub weight: f32,
    pub defines: bool,
    pub sentences: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Made from the key alone.
    pub id: String,
    pub label: String,
    pub kind: Kind,
    /// The documents that mention it, sorted.
    pub documents: Vec<Arc<str>>,
    /// The passages that mention it, sorted: the index of each one's document in `documents`, and its number there.
    pub passages: Vec<(u32, u32)>,
    /// Nodes of the same community have the same number; 0 is the largest.
    pub community: u32,
    /// Between 0 and 1; the strongest node of the graph has 1.
    pub strength: f32,
}

impl Node {
    /// Returns the passages that mention it, each with its document.
    pub fn mentioned_in(&self) -> impl Iterator<Item = (&Arc<str>, u32)> {
        self.passages.iter().map(|&(document, passage)| (&self.documents[document as usize], passage))
    }

    /// Returns the node as the documents mention it for which `keep` returns true; none if none do.
    fn of_documents(&self, keep: impl Fn(&str) -> bool) -> Option<Node> {
        let mut documents = Vec::new();
        let mut indexes: Vec<Option<u32>> = Vec::with_capacity(self.documents.len());
        for name in &self.documents {
            let is_kept = keep(name);
            indexes.push(is_kept.then_some(documents.len() as u32));
            documents.extend(is_kept.then(|| Arc::clone(name)));
        }
        let passages = self.passages.iter();
        let passages = passages.filter_map(|&(old, passage)| Some((indexes[old as usize]?, passage)));
        let passages = passages.collect();
        let (id, label) = (self.id.clone(), self.label.clone());
        (!documents.is_empty()).then_some(Node { id, label, documents, passages, ..*self })
    }
}

#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Index of each id's node, also for keys that were merged into another.
    indexes: HashMap<String, u32>,
}

impl Graph {
    /// Returns the same graph for the same rows in any order.
    pub fn build<'a>(evidence: impl Iterator<Item = Evidence<'a>>) -> Graph {
        let merged = Merged::of(evidence.collect());
        let strengths = strengths(&merged);
        let mut order: Vec<usize> = (0..merged.entities.len()).collect();
        order.sort_by(|&a, &b| {
            strengths[b]
                .total_cmp(&strengths[a])
                .then_with(|| merged.entities[a].key.cmp(merged.entities[b].key))
        });
        let strongest = order.first().map_or(1.0, |&first| strengths[first].max(f32::MIN_POSITIVE));
        let mut nodes: Vec<Node> =
            order.iter().map(|&index| node(&merged, index, strengths[index] / strongest)).collect();
        let mut index = vec![0_u32; order.len()];
        for (new, &old) in (0_u32..).zip(&order) {
            index[old] = new;
        }
        let edges = pairs::edges(&merged, &index);
        for (node, community) in nodes.iter_mut().zip(leiden::communities(order.len(), &edges)) {
            node.community = community;
        }
        let indexes = merged.keys.iter().map(|&(name, entity)| (key::id(name), index[entity])).collect();
        Graph { nodes, edges, indexes }
    }

    /// Returns the part of the graph that the documents mention for which `keep` returns true. Strengths and
    /// communities do not change.
    pub fn of_documents(&self, keep: impl Fn(&str) -> bool) -> Graph {
        let mut nodes = Vec::new();
        let mut indexes: Vec<Option<u32>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let kept = node.of_documents(&keep);
            indexes.push(kept.is_some().then_some(nodes.len() as u32));
            nodes.extend(kept);
        }
        let index = |old: u32| indexes[old as usize];
        let edges = self.edges.iter().filter_map(|edge| {
            Some(Edge { source: index(edge.source)?, target: index(edge.target)?, ..*edge })
        });
        let ids = self.indexes.iter().filter_map(|(id, old)| Some((id.clone(), index(*old)?)));
        Graph { nodes, edges: edges.collect(), indexes: ids.collect() }
    }

    /// Returns the nodes, the strongest first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the edges in the order of their nodes.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns an estimate of the memory used, in bytes.
    pub fn bytes(&self) -> usize {
        let node = |node: &Node| {
            size_of::<Node>()
                + node.id.capacity()
                + node.label.capacity()
                + node.documents.capacity() * size_of::<Arc<str>>()
                + node.passages.capacity() * size_of::<(u32, u32)>()
        };
        let index = |id: &String| size_of::<(String, u32)>() + 1 + id.capacity();
        self.nodes.iter().map(node).sum::<usize>()
            + self.edges.capacity() * size_of::<Edge>()
            + self.indexes.keys().map(index).sum::<usize>()
    }

    /// Returns the node of an id, also if its key was merged into another.
    pub fn find(&self, id: &str) -> Option<&Node> {
        self.index(id).map(|index| &self.nodes[index as usize])
    }

    /// Returns the node of an id, or of a name in any spelling.
    pub fn find_named(&self, name: &str) -> Option<&Node> {
        self.find(name).or_else(|| self.find(&key::id(&key::key_of_label(name))))
    }

    /// Returns the index of a node in `nodes`, as edges use it.
    pub fn index(&self, id: &str) -> Option<u32> {
        self.indexes.get(id).copied()
    }
}

fn node(merged: &Merged<'_>, index: usize, strength: f32) -> Node {
    let entity = &merged.entities[index];
    let mut votes = Votes::default();
    entity.rows.iter().for_each(|row| votes.add(row.kind, row.weight));
    let (mut documents, mut passages): (Vec<u32>, Vec<(u32, u32)>) =
        (Vec::new(), Vec::with_capacity(entity.rows.len()));
    for row in &entity.rows {
        if documents.last() != Some(&row.document) {
            documents.push(row.document);
        }
        passages.push((documents.len() as u32 - 1, row.passage));
    }
    Node {
        id: key::id(entity.key),
        label: entity.label.to_owned(),
        kind: votes.winner(),
        documents: documents
            .iter()
            .map(|&document| Arc::clone(&merged.documents[document as usize]))
            .collect(),
        passages,
        community: 0,
        strength,
    }
}

/// Returns the strength of each entity: high if it has weight in many documents, lower if nearly all mention it.
fn strengths(merged: &Merged<'_>) -> Vec<f32> {
    let all = merged.documents.len() as f32;
    let strength = |entity: &merge::MergedEntity<'_>| {
        let (mut sum, mut documents) = (FixedPoint::default(), 0.0);
        for rows in entity.rows.chunk_by(|one, next| one.document == next.document) {
            let weight = rows.iter().map(|row| row.weight).fold(0.0, f32::max);
            sum += weight * (1.0 + (rows.len() as f32).ln());
            documents += 1.0;
        }
        let rarity = (1.0 + all / documents).ln() / (1.0 + all).ln();
        (1.0 + sum.value()).ln() * rarity.sqrt()
    };
    merged.entities.iter().map(strength).collect()
}
