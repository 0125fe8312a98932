//! A graph as bytes, to be stored: numbers in little-endian order, lists and strings with their length before them.

use super::{Graph, Node};
use crate::edge::Edge;
use crate::kind::Kind;
use std::collections::HashMap;
use std::sync::Arc;

/// Changes with the layout, and with how graphs are built.
const STAMP: &str = "stoa graph 2";

impl Graph {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.string(STAMP);
        let mut documents: HashMap<&str, u32> = HashMap::new();
        let mut names: Vec<&str> = Vec::new();
        for document in self.nodes.iter().flat_map(|node| &node.documents) {
            documents.entry(document).or_insert_with(|| {
                names.push(document);
                names.len() as u32 - 1
            });
        }
        to.list(&names, |to, name| to.string(name));
        to.list(&self.nodes, |to, node| {
            to.string(&node.id);
            to.string(&node.label);
            to.number(node.kind as u32);
            to.list(&node.documents, |to, document| to.number(documents[&**document]));
            to.list(&node.passages, |to, (document, passage)| {
                to.number(*document);
                to.number(*passage);
            });
            to.number(node.community);
            to.number(node.strength.to_bits());
        });
        to.list(&self.edges, |to, edge| {
            to.number(edge.source);
            to.number(edge.target);
            to.number(edge.strength.to_bits());
        });
        let mut indexes: Vec<(&String, &u32)> = self.indexes.iter().collect();
        indexes.sort_unstable();
        to.list(&indexes, |to, (id, index)| {
            to.string(id);
            to.number(**index);
        });
        to.0
    }

    /// Returns none if the bytes are damaged, or of another version of the program.
    pub fn from_bytes(bytes: &[u8]) -> Option<Graph> {
        let from = &mut Reader(bytes);
        if from.string()? != STAMP {
            return None;
        }
        let documents: Vec<Arc<str>> = from.list(|from| from.string().map(Arc::from))?;
        let nodes = from.list(|from| {
            let (id, label) = (from.string()?.to_owned(), from.string()?.to_owned());
            let kind = *Kind::ALL.get(from.number()? as usize)?;
            let documents = from.list(|from| documents.get(from.number()? as usize).cloned())?;
            let passages = from.list(|from| Some((from.number()?, from.number()?)))?;
            if passages.iter().any(|(document, _)| *document as usize >= documents.len()) {
                return None;
            }
            let (community, strength) = (from.number()?, f32::from_bits(from.number()?));
            Some(Node { id, label, kind, documents, passages, community, strength })
        })?;
        let is_node = |index: &u32| (*index as usize) < nodes.len();
        let edges = from.list(|from| {
            let (source, target) = (from.number().filter(is_node)?, from.number().filter(is_node)?);
            Some(Edge { source, target, strength: f32::from_bits(from.number()?) })
        })?;
        let indexes = from.list(|from| Some((from.string()?.to_owned(), from.number().filter(is_node)?)))?;
        from.0.is_empty().then(|| Graph { nodes, edges, indexes: indexes.into_iter().collect() })
    }
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn string(&mut self, string: &str) {
        self.number(string.len() as u32);
        self.0.extend(string.as_bytes());
    }

    fn list<T>(&mut self, entries: &[T], write: impl Fn(&mut Self, &T)) {
        self.number(entries.len() as u32);
        entries.iter().for_each(|entry| write(self, entry));
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn string(&mut self) -> Option<&'a str> {
        let length = self.number()? as usize;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        str::from_utf8(string).ok()
    }

    /// An entry takes a number at least, so a false length ends with the bytes.
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()? as usize;
        let mut entries = Vec::with_capacity(length.min(self.0.len() / size_of::<u32>()));
        for _ in 0..length {
            entries.push(read(self)?);
        }
        Some(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Passage, mentions};

    fn graph() -> Graph {
        let texts = [
            "Ada Lovelace wrote to Charles Babbage about the Analytical Engine.",
            "Charles Babbage lived in London. The Analytical Engine was never built in London.",
        ];
        let found: Vec<Vec<crate::Mention>> = texts
            .iter()
            .map(|text| mentions("Engines", &[Passage { text, headings: &[], is_code: false }]))
            .collect();
        let names = ["one", "other"];
        Graph::build(
            found.iter().zip(names).flat_map(|(found, name)| found.iter().map(move |m| m.evidence(name))),
        )
    }

    #[test]
    fn a_graph_is_the_same_after_it_was_stored() {
        let graph = graph();
        let read = Graph::from_bytes(&graph.to_bytes()).unwrap();
        assert!(graph.nodes.len() > 2 && !graph.edges.is_empty());
        assert_eq!(read.nodes, graph.nodes);
        assert_eq!(read.edges, graph.edges);
        assert_eq!(read.indexes, graph.indexes);
        assert!(Graph::from_bytes(&Graph::default().to_bytes()).is_some());
    }

    #[test]
    fn damaged_bytes_are_refused_and_never_trusted() {
        let bytes = graph().to_bytes();
        for length in 0..bytes.len() {
            assert!(Graph::from_bytes(&bytes[..length]).is_none(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            if let Some(graph) = Graph::from_bytes(&changed) {
                graph.nodes.iter().for_each(|node| node.mentioned_in().for_each(drop));
            }
        }
    }
}
