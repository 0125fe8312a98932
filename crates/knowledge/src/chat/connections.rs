//! Describes how the names in a question and its sources are connected in the user's graph.

use super::source::Source;
use graph::{Graph, names_in};
use std::collections::HashSet;

const MOST: usize = 12;
/// Of a source's text.
const MOST_BYTES: usize = 2 << 10;

/// Returns the strongest connections of what the question names; if it names nothing, of what the sources name. With
/// `documents`, only connections between what these name.
pub fn among(graph: &Graph, question: &str, sources: &[Source], documents: &[String]) -> Vec<String> {
    let places = |text: &str| -> HashSet<u32> {
        let ids = names_in(text).into_iter().map(|key| key.replace(' ', "-"));
        ids.filter_map(|id| graph.index(&id)).collect()
    };
    let beginning = |text: &'_ str| text[..text.floor_char_boundary(MOST_BYTES)].to_owned();
    let asked = places(question);
    let named: HashSet<u32> = sources.iter().flat_map(|source| places(&beginning(&source.text))).collect();
    let touches = |source: u32, target: u32| match asked.is_empty() {
        true => named.contains(&source) && named.contains(&target),
        false => asked.contains(&source) || asked.contains(&target),
    };
    let is_named = |place: u32| {
        let node = graph.nodes().get(place as usize);
        documents.is_empty()
            || node
                .is_some_and(|node| node.documents.iter().any(|id| documents.iter().any(|own| **own == **id)))
    };
    let mut edges: Vec<_> = graph
        .edges()
        .iter()
        .filter(|edge| touches(edge.source, edge.target) && is_named(edge.source) && is_named(edge.target))
        .collect();
    edges.sort_by(|one, other| other.strength.total_cmp(&one.strength));
    let label = |place: u32| graph.nodes().get(place as usize).map_or("", |node| node.label.as_str());
    let line = |edge: &&graph::Edge| {
        format!("{} - {} ({:.2})", label(edge.source), label(edge.target), edge.strength)
    };
    edges.iter().take(MOST).map(line).collect()
}
