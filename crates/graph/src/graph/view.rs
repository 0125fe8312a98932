//! Parts of a graph, small enough to be drawn.

use super::pairs::prune;
use super::{Graph, Node};
use crate::edge::Edge;

/// Each node shows only its strongest edges, so that the drawing stays legible.
const MOST_PER_NODE: u32 = 4;

/// Some nodes of a graph, the strongest first, and the edges among them.
#[derive(Debug)]
pub struct View<'g> {
    pub nodes: Vec<&'g Node>,
    pub edges: Vec<Edge>,
    /// How many nodes and edges there are without a limit.
    pub total_nodes: usize,
    pub total_edges: usize,
}

impl Graph {
    pub fn strongest(&self, limit: usize) -> View<'_> {
        self.view((0..self.nodes.len()).collect(), limit)
    }

    /// Returns the strongest nodes that a document mentions.
    pub fn of_document(&self, document: &str, limit: usize) -> View<'_> {
        let names = |index: &usize| {
            let documents = &self.nodes[*index].documents;
            documents.binary_search_by(|name| (**name).cmp(document)).is_ok()
        };
        self.view((0..self.nodes.len()).filter(names).collect(), limit)
    }

    /// Returns the strongest nodes that the passages mention for which `is_named` returns true. It is asked several
    /// times for each passage.
    pub fn of_passages(&self, mut is_named: impl FnMut(&str, u32) -> bool, limit: usize) -> View<'_> {
        let names = |index: &usize| {
            let mut passages = self.nodes[*index].mentioned_in();
            passages.any(|(document, passage)| is_named(document, passage))
        };
        self.view((0..self.nodes.len()).filter(names).collect(), limit)
    }

    /// Returns a node and its strongest neighbours.
    pub fn around(&self, id: &str, limit: usize) -> View<'_> {
        let Some(&center) = self.indexes.get(id) else { return self.view(Vec::new(), limit) };
        let near = self.near(center).into_iter().map(|(_, index)| index);
        self.view(std::iter::once(center as usize).chain(near).collect(), limit)
    }

    /// Returns the neighbours of a node with the strength of each edge, the strongest first.
    pub fn neighbours(&self, id: &str) -> Vec<(f32, &Node)> {
        let near = self.index(id).map(|center| self.near(center)).unwrap_or_default();
        near.into_iter().map(|(strength, index)| (strength, &self.nodes[index])).collect()
    }

    fn near(&self, center: u32) -> Vec<(f32, usize)> {
        let mut near: Vec<(f32, usize)> =
            self.edges.iter().filter_map(|edge| neighbour(edge, center)).collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near
    }

    /// Returns the first `limit` of these nodes.
    fn view(&self, mut indexes: Vec<usize>, limit: usize) -> View<'_> {
        let (total_nodes, total_edges) = (indexes.len(), self.edges_among(&indexes).count());
        indexes.truncate(limit);
        indexes.sort_unstable();
        let edges = self.edges_among(&indexes).copied().collect();
        View {
            nodes: indexes.into_iter().map(|index| &self.nodes[index]).collect(),
            edges: prune(edges, self.nodes.len(), MOST_PER_NODE),
            total_nodes,
            total_edges,
        }
    }

    fn edges_among(&self, indexes: &[usize]) -> impl Iterator<Item = &Edge> {
        let mut shown = vec![false; self.nodes.len()];
        indexes.iter().for_each(|&index| shown[index] = true);
        self.edges.iter().filter(move |edge| shown[edge.source as usize] && shown[edge.target as usize])
    }
}

fn neighbour(edge: &Edge, center: u32) -> Option<(f32, usize)> {
    match (edge.source == center, edge.target == center) {
        (true, _) => Some((edge.strength, edge.target as usize)),
        (_, true) => Some((edge.strength, edge.source as usize)),
        _ => None,
    }
}
