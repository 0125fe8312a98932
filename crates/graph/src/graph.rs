//! The graph of all evidence of one owner: one node for each entity, edges between what is named together.
//! Nothing but the evidence goes in, so a document's share goes with its rows.

mod exact;
mod merge;
mod pairs;
mod view;

use exact::Exact;
use std::collections::HashMap;
use std::sync::Arc;

use crate::edge::Edge;
use crate::kind::{Kind, Votes};
use crate::{key, leiden};
use merge::Merged;

pub use view::View;

/// That a passage of a document names something: a [`crate::Mention`], and whose it is.
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
    /// Those that name it, in order.
    pub documents: Vec<Arc<str>>,
    /// Nodes of one number belong together; 0 is the largest community.
    pub community: u32,
    /// Between 0 and 1; the strongest node of the graph has 1.
    pub strength: f32,
}

#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// From each id, also of keys that were merged away, to its node.
    indexes: HashMap<String, u32>,
}

impl Graph {
    /// The same graph for the same rows, in whatever order they come.
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

    /// The part that documents name for which `keep` says so. Strengths and communities stay as they are.
    pub fn of_documents(&self, keep: impl Fn(&str) -> bool) -> Graph {
        let mut nodes = Vec::new();
        let mut indexes: Vec<Option<u32>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let documents: Vec<Arc<str>> = node.documents.iter().filter(|name| keep(name)).cloned().collect();
            indexes.push((!documents.is_empty()).then_some(nodes.len() as u32));
            if !documents.is_empty() {
                nodes.push(Node { documents, ..node.clone() });
            }
        }
        let index = |old: u32| indexes[old as usize];
        let edges = self.edges.iter().filter_map(|edge| {
            Some(Edge { source: index(edge.source)?, target: index(edge.target)?, ..*edge })
        });
        let ids = self.indexes.iter().filter_map(|(id, old)| Some((id.clone(), index(*old)?)));
        Graph { nodes, edges: edges.collect(), indexes: ids.collect() }
    }

    /// The strongest first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// In the order of their nodes.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let node = |node: &Node| {
            size_of::<Node>()
                + node.id.capacity()
                + node.label.capacity()
                + node.documents.capacity() * size_of::<Arc<str>>()
        };
        let index = |id: &String| size_of::<(String, u32)>() + 1 + id.capacity();
        self.nodes.iter().map(node).sum::<usize>()
            + self.edges.capacity() * size_of::<Edge>()
            + self.indexes.keys().map(index).sum::<usize>()
    }

    /// The node of that id; the id of a form that was merged away leads to its node too.
    pub fn find(&self, id: &str) -> Option<&Node> {
        self.index(id).map(|index| &self.nodes[index as usize])
    }

    /// The node of that id, or of that name however it is spelled.
    pub fn find_named(&self, name: &str) -> Option<&Node> {
        self.find(name).or_else(|| self.find(&key::id(&key::key_of_label(name))))
    }

    /// Where a node stands, as edges name it.
    pub fn index(&self, id: &str) -> Option<u32> {
        self.indexes.get(id).copied()
    }
}

fn node(merged: &Merged<'_>, index: usize, strength: f32) -> Node {
    let entity = &merged.entities[index];
    let mut votes = Votes::default();
    entity.rows.iter().for_each(|row| votes.add(row.kind, row.weight));
    let mut documents: Vec<u32> = entity.rows.iter().map(|row| row.document).collect();
    documents.dedup();
    Node {
        id: key::id(entity.key),
        label: entity.label.to_owned(),
        kind: votes.winner(),
        documents: documents
            .iter()
            .map(|&document| Arc::clone(&merged.documents[document as usize]))
            .collect(),
        community: 0,
        strength,
    }
}

/// How strong each entity is: much where it matters much in many documents, less where nearly all name it.
fn strengths(merged: &Merged<'_>) -> Vec<f32> {
    let all = merged.documents.len() as f32;
    let strength = |entity: &merge::Entity<'_>| {
        let (mut sum, mut documents) = (Exact::default(), 0.0);
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
