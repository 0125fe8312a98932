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
}

impl Graph {
    pub fn strongest(&self, limit: usize) -> View<'_> {
        self.view((0..self.nodes.len()).take(limit))
    }

    /// Returns the strongest nodes that a document mentions.
    pub fn of_document(&self, document: &str, limit: usize) -> View<'_> {
        let names = |index: &usize| {
            let documents = &self.nodes[*index].documents;
            documents.binary_search_by(|name| (**name).cmp(document)).is_ok()
        };
        self.view((0..self.nodes.len()).filter(names).take(limit))
    }

    /// Returns a node and its strongest neighbours.
    pub fn around(&self, id: &str, limit: usize) -> View<'_> {
        let Some(&center) = self.indexes.get(id) else { return self.view(std::iter::empty()) };
        let near = self.near(center).into_iter().map(|(_, index)| index);
        self.view(std::iter::once(center as usize).chain(near).take(limit))
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

    fn view(&self, indexes: impl Iterator<Item = usize>) -> View<'_> {
        let mut indexes: Vec<usize> = indexes.collect();
        indexes.sort_unstable();
        let mut shown = vec![false; self.nodes.len()];
        indexes.iter().for_each(|&index| shown[index] = true);
        let inside = |edge: &&Edge| shown[edge.source as usize] && shown[edge.target as usize];
        let edges = self.edges.iter().filter(inside).copied().collect();
        View {
            nodes: indexes.into_iter().map(|index| &self.nodes[index]).collect(),
            edges: prune(edges, self.nodes.len(), MOST_PER_NODE),
        }
    }
}

fn neighbour(edge: &Edge, center: u32) -> Option<(f32, usize)> {
    match (edge.source == center, edge.target == center) {
        (true, _) => Some((edge.strength, edge.target as usize)),
        (_, true) => Some((edge.strength, edge.source as usize)),
        _ => None,
    }
}
