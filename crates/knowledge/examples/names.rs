//! Compares the graph of each document with the names that a reader listed: `names DOCUMENTS LISTS NAME…`. The list of
//! `a.csv` is `a.csv.names`.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "not the product")]

use graph::{Graph, Node, names_in};
use std::path::Path;
use std::{env, fs};

/// Nodes that are shown first: how many of them are listed is the precision.
const FIRST: usize = 20;
/// Nodes among which the listed names are looked for: how many are found is the recall.
const SHOWN: usize = 50;
/// About as long as the passages of the encoder, in words and signs.
const PASSAGE: usize = 254;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (folders, names) = arguments.split_at(2);
    let mut sum = [0.0; 3];
    for name in names {
        let graph = graph_of(name, &fs::read(Path::new(&folders[0]).join(name)).unwrap());
        let list = fs::read_to_string(Path::new(&folders[1]).join(format!("{name}.names"))).unwrap();
        let score = compare(&graph, &list);
        println!("{name:36} {:.2} {:.2} {:.2}", score[0], score[1], score[2]);
        let labels: Vec<&str> = graph.nodes().iter().take(FIRST).map(|node| node.label.as_str()).collect();
        println!("  {}", labels.join(", "));
        sum.iter_mut().zip(score).for_each(|(sum, part)| *sum += part / names.len() as f64);
    }
    println!("{:36} {:.2} {:.2} {:.2}", "mean of precision, recall, kinds", sum[0], sum[1], sum[2]);
}

/// Reads a file as the ingestion does, but for the encoder's tokens.
fn graph_of(name: &str, bytes: &[u8]) -> Graph {
    let document = extract::extract(name, bytes, &extract::Limits::default()).unwrap();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).replace('_', " ");
    let stem = if stem.contains(' ') { stem } else { String::new() };
    let title = document.title.clone().unwrap_or(stem);
    let count = |text: &str| {
        text.split_whitespace().count() + text.matches(|sign: char| sign.is_ascii_punctuation()).count()
    };
    let passages = extract::passages(&document, &title, PASSAGE, &count);
    let is_code = document.kind == extract::Kind::Code;
    let texts: Vec<graph::Passage<'_>> = passages
        .iter()
        .map(|passage| graph::Passage { text: &passage.text, headings: &passage.headings, is_code })
        .collect();
    let mentions = graph::mentions(&title, &texts);
    Graph::build(mentions.iter().map(|mention| mention.evidence(name)))
}

fn compare(graph: &Graph, list: &str) -> [f64; 3] {
    let listed: Vec<(&str, Vec<&Node>)> = list
        .lines()
        .map(|line| line.split_once(": ").expect("a line is `kind: name | other name`"))
        .map(|(kind, names)| (kind, names.split(" | ").filter_map(|name| find(graph, name)).collect()))
        .collect();
    let first = &graph.nodes()[..graph.nodes().len().min(FIRST)];
    let is_listed = |node: &&Node| listed.iter().any(|(_, nodes)| nodes.iter().any(|own| own.id == node.id));
    let right = first.iter().filter(is_listed).count();
    let shown = &graph.nodes()[..graph.nodes().len().min(SHOWN)];
    let found = listed.iter().filter_map(|(kind, nodes)| {
        let node = nodes.iter().find(|own| shown.iter().any(|node| node.id == own.id))?;
        Some(node.kind.as_str() == *kind)
    });
    let kinds: Vec<bool> = found.collect();
    let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    let right_kinds = kinds.iter().filter(|is_right| **is_right).count();
    [share(right, first.len()), share(kinds.len(), listed.len().min(SHOWN)), share(right_kinds, kinds.len())]
}

fn find<'g>(graph: &'g Graph, name: &str) -> Option<&'g Node> {
    graph.find(&names_in(name).first()?.replace(' ', "-"))
}
