//! Eight texts of different fields and forms, among them a table, a manual page and one in German, each with a list of the entities that a careful reader would name, their kinds,
//! and the pairs that belong together. The strongest nodes and edges are compared with the lists.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops where it fails, and tells the score"
)]

use std::fs;
use std::path::Path;

use graph::{Graph, Node, Passage, mentions, names_in};

const TEXTS: [&str; 8] = ["pump", "case", "company", "software", "village", "faehre", "manual", "table"];

#[derive(Debug)]
struct Score {
    /// Share of the thirty strongest nodes that are on the list.
    precision: f32,
    /// Share of the list among the fifty strongest nodes.
    recall: f32,
    /// Share of those found that have the listed kind.
    kinds: f32,
    /// Share of the listed pairs that are joined in a view of the sixty strongest nodes.
    pairs: f32,
}

#[test]
fn the_strongest_nodes_are_those_a_careful_reader_would_name() {
    let scores: Vec<Score> = TEXTS.iter().map(|name| score(name)).collect();
    for (name, score) in TEXTS.iter().zip(&scores) {
        println!("{name:9} {score:.2?}");
    }
    let mean = |part: fn(&Score) -> f32| scores.iter().map(part).sum::<f32>() / scores.len() as f32;
    let whole = Score {
        precision: mean(|score| score.precision),
        recall: mean(|score| score.recall),
        kinds: mean(|score| score.kinds),
        pairs: mean(|score| score.pairs),
    };
    println!("mean      {whole:.2?}");
    assert!(whole.precision >= 0.87 && whole.recall >= 0.85, "{whole:?}");
    assert!(whole.kinds >= 0.94 && whole.pairs >= 0.84, "{whole:?}");
}

fn score(name: &str) -> Score {
    let graph = graph_of(&read(name, "md"));
    let list = read(name, "names");
    let mut listed: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut pairs: Vec<&str> = Vec::new();
    for (kind, rest) in list.lines().filter_map(|line| line.split_once(": ")) {
        match kind {
            "pair" => pairs.push(rest),
            _ => listed.push((kind, rest.split(" | ").collect())),
        }
    }
    let view = graph.strongest(50);
    let listed_nodes: Vec<Vec<&Node>> = listed
        .iter()
        .map(|(_, labels)| labels.iter().filter_map(|label| find(&graph, label)).collect())
        .collect();
    let is_listed = |node: &&&Node| listed_nodes.iter().flatten().any(|listed| listed.id == node.id);
    let strongest = &view.nodes[..view.nodes.len().min(30)];
    for node in strongest.iter().filter(|node| !is_listed(node)) {
        println!("{name}: not on the list: {} ({})", node.label, node.kind.as_str());
    }
    let mut found = 0;
    let mut right = 0;
    for ((kind, labels), nodes) in listed.iter().zip(&listed_nodes) {
        match nodes.iter().find(|node| view.nodes.iter().any(|shown| shown.id == node.id)) {
            Some(node) => {
                found += 1;
                right += usize::from(node.kind.as_str() == *kind);
                if node.kind.as_str() != *kind {
                    println!("{name}: {} is a {kind}, not a {}", node.label, node.kind.as_str());
                }
            }
            None => println!("{name}: missed: {}", labels[0]),
        }
    }
    let joined = pairs.iter().filter(|pair| {
        let is_joined = pair.split(" | ").any(|pair| joins(&graph, pair));
        if !is_joined {
            println!("{name}: not joined: {pair}");
        }
        is_joined
    });
    Score {
        precision: share(strongest.iter().filter(is_listed).count(), strongest.len()),
        recall: share(found, listed.len()),
        kinds: share(right, found),
        pairs: share(joined.count(), pairs.len()),
    }
}

fn read(name: &str, ending: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.{ending}"));
    fs::read_to_string(path).unwrap()
}

/// Returns the graph of a Markdown text, with a passage for each section, or for each paragraph if it has no
/// sections.
fn graph_of(text: &str) -> Graph {
    let (title, body) = text.split_once('\n').unwrap();
    let has_sections = body.contains("\n## ");
    let blocks: Vec<&str> = body
        .split(if has_sections { "\n## " } else { "\n\n" })
        .filter(|block| block.trim().len() > 1)
        .collect();
    let sections: Vec<(Vec<String>, &str)> = blocks
        .into_iter()
        .map(|block| match block.split_once('\n').filter(|_| has_sections) {
            Some((heading, text)) => (vec![heading.to_owned()], text),
            None => (Vec::new(), block),
        })
        .collect();
    let passages: Vec<Passage<'_>> =
        sections.iter().map(|(headings, text)| Passage { text, headings, is_code: false }).collect();
    let found = mentions(title.trim_start_matches("# "), &passages);
    Graph::build(found.iter().map(|mention| mention.evidence("text")))
}

fn find<'g>(graph: &'g Graph, label: &str) -> Option<&'g Node> {
    names_in(label).first().and_then(|key| graph.find(&key.replace(' ', "-")))
}

fn joins(graph: &Graph, pair: &str) -> bool {
    let (one, other) = pair.split_once(" -- ").unwrap();
    let (Some(one), Some(other)) = (find(graph, one), find(graph, other)) else { return false };
    let id = |index: u32| &graph.nodes()[index as usize].id;
    graph.strongest(60).edges.iter().any(|edge| {
        let ends = [id(edge.source), id(edge.target)];
        ends.contains(&&one.id) && ends.contains(&&other.id)
    })
}

fn share(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}
