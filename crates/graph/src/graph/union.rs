//! Several owners' graphs as one.

use super::{Graph, Node};
use crate::edge::Edge;
use std::collections::HashMap;
use std::sync::Arc;

impl Graph {
    /// Joins graphs that have no document in common. A node or edge that several have is as strong as in the graph where it
    /// is strongest, and a node is of the community that it has in the first graph.
    pub fn union<'g>(graphs: impl Iterator<Item = &'g Graph>) -> Graph {
        let mut union = Union::default();
        graphs.for_each(|graph| union.add(graph));
        union.finish()
    }
}

#[derive(Default)]
struct Union {
    nodes: Vec<Node>,
    edges: HashMap<(u32, u32), f32>,
    indexes: HashMap<String, u32>,
    /// How many communities the graphs so far have.
    communities: u32,
}

impl Union {
    fn add(&mut self, graph: &Graph) {
        let indexes: Vec<u32> = graph.nodes.iter().map(|node| self.add_node(node)).collect();
        let index = |old: u32| indexes[old as usize];
        for edge in &graph.edges {
            let (source, target) = (index(edge.source), index(edge.target));
            // Two nodes of one graph may be the same node here, by a key that only the other graph has merged.
            if source != target {
                let strength = self.edges.entry((source.min(target), source.max(target))).or_default();
                *strength = strength.max(edge.strength);
            }
        }
        for (id, old) in &graph.indexes {
            self.indexes.entry(id.clone()).or_insert(index(*old));
        }
        self.communities += graph.nodes.iter().map(|node| node.community + 1).max().unwrap_or(0);
    }

    fn add_node(&mut self, node: &Node) -> u32 {
        if let Some(&index) = self.indexes.get(&node.id) {
            merge(&mut self.nodes[index as usize], node);
            return index;
        }
        let index = self.nodes.len() as u32;
        self.nodes.push(Node { community: self.communities + node.community, ..node.clone() });
        self.indexes.insert(node.id.clone(), index);
        index
    }

    /// Puts the strongest nodes first and the largest communities first, as in every graph.
    fn finish(self) -> Graph {
        let Self { mut nodes, edges, indexes, .. } = self;
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        nodes.iter().for_each(|node| *sizes.entry(node.community).or_default() += 1);
        let mut communities: Vec<u32> = sizes.keys().copied().collect();
        communities.sort_by_key(|community| (std::cmp::Reverse(sizes[community]), *community));
        let numbers: HashMap<u32, u32> = communities.into_iter().zip(0..).collect();
        nodes.iter_mut().for_each(|node| node.community = numbers[&node.community]);

        let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
        order.sort_by(|&one, &other| {
            let (one, other) = (&nodes[one as usize], &nodes[other as usize]);
            other.strength.total_cmp(&one.strength).then_with(|| one.id.cmp(&other.id))
        });
        let mut new = vec![0_u32; nodes.len()];
        order.iter().zip(0..).for_each(|(&old, number)| new[old as usize] = number);
        let mut ordered: Vec<(u32, Node)> = new.iter().copied().zip(nodes).collect();
        ordered.sort_unstable_by_key(|(number, _)| *number);

        let edge = |((one, other), strength): ((u32, u32), f32)| {
            let (one, other) = (new[one as usize], new[other as usize]);
            Edge { source: one.min(other), target: one.max(other), strength }
        };
        let mut edges: Vec<Edge> = edges.into_iter().map(edge).collect();
        edges.sort_unstable_by_key(|edge| (edge.source, edge.target));
        let indexes = indexes.into_iter().map(|(id, old)| (id, new[old as usize])).collect();
        Graph { nodes: ordered.into_iter().map(|(_, node)| node).collect(), edges, indexes }
    }
}

/// Adds the documents and passages of a node to the same node of another graph.
fn merge(node: &mut Node, other: &Node) {
    let all = node.mentioned_in().chain(other.mentioned_in());
    let mut mentions: Vec<(Arc<str>, u32)> =
        all.map(|(document, passage)| (Arc::clone(document), passage)).collect();
    mentions.sort_unstable();
    mentions.dedup();
    let mut documents: Vec<Arc<str>> = Vec::new();
    let mut passages = Vec::with_capacity(mentions.len());
    for (document, passage) in mentions {
        if documents.last() != Some(&document) {
            documents.push(document);
        }
        passages.push((documents.len() as u32 - 1, passage));
    }
    (node.documents, node.passages) = (documents, passages);
    node.strength = node.strength.max(other.strength);
}

#[cfg(test)]
mod tests {
    use crate::{Graph, Passage, mentions};

    /// The graph of a document that names two people together, and other things apart from them.
    fn graph(document: &str, one: &str, other: &str) -> Graph {
        let texts = [
            format!("{one} met {other} at noon."),
            format!("Later {other} wrote to {one} about it."),
            "Heavy rain fell on Bergen.".to_owned(),
            "The ferry to Stavanger was late.".to_owned(),
        ];
        let passages: Vec<Passage<'_>> =
            texts.iter().map(|text| Passage { text, headings: &[], is_code: false }).collect();
        let found = mentions(document, &passages);
        Graph::build(found.iter().map(|mention| mention.evidence(document)))
    }

    #[test]
    fn a_name_that_two_graphs_have_is_one_node() {
        let first = graph("a", "Ada Solberg", "Grace Hopper");
        let second = graph("b", "Ada Solberg", "Linus Brandt");
        let union = Graph::union([&first, &second].into_iter());
        let ada = union.find("ada-solberg").unwrap();
        assert_eq!(ada.documents.iter().map(|id| &**id).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(ada.passages, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        let (both, alone) = (union.find("bergen").unwrap(), union.find("grace-hopper").unwrap());
        assert_eq!((both.documents.len(), alone.documents.len()), (2, 1));
        let near: Vec<&str> =
            union.neighbours("ada-solberg").iter().map(|(_, node)| node.id.as_str()).collect();
        assert!(near.contains(&"grace-hopper") && near.contains(&"linus-brandt"), "{near:?}");
        assert!(union.nodes().is_sorted_by(|one, next| one.strength >= next.strength));
        assert!(union.edges().is_sorted_by_key(|edge| (edge.source, edge.target)));
    }

    #[test]
    fn the_union_of_one_graph_is_that_graph() {
        let one = graph("a", "Ada Solberg", "Grace Hopper");
        assert!(!one.edges().is_empty());
        let union = Graph::union([&one].into_iter());
        assert_eq!((union.edges().len(), union.nodes().len()), (one.edges().len(), one.nodes().len()));
        for node in one.nodes() {
            let same = union.find(&node.id).unwrap();
            assert_eq!((same.strength, &same.passages), (node.strength, &node.passages));
        }
    }
}
