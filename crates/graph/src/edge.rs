//! A connection between two nodes of the graph.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Indexes into [`crate::Graph::nodes`], the smaller first.
    pub source: u32,
    pub target: u32,
    /// Between 0 and 1.
    pub strength: f32,
}
