//! What a collection or a text looks like as a graph, and how fast it was made.
//!
//! `look corpus.jsonl` (one object with `_id`, `title` and `text` a line) or `look text.txt`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for looking, run by hand")]

use std::time::Instant;

use graph::{Evidence, Graph, Mention, Passage, mentions};

fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let documents = if path.ends_with(".jsonl") { collection(&text) } else { vec![single(&path, &text)] };
        look(&path, &documents);
    }
}

struct Document {
    id: String,
    title: String,
    passages: Vec<String>,
}

fn collection(text: &str) -> Vec<Document> {
    let document = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Document { id: field("_id"), title: field("title"), passages: vec![field("text")] }
    };
    text.lines().map(document).collect()
}

/// Passages of about 180 words, cut at paragraphs.
fn single(path: &str, text: &str) -> Document {
    let mut passages = vec![String::new()];
    for paragraph in text.split("\n\n") {
        let last = passages.last_mut().unwrap();
        last.push_str(paragraph);
        last.push_str("\n\n");
        if last.split_whitespace().count() > 180 {
            passages.push(String::new());
        }
    }
    let title = path.rsplit('/').next().unwrap_or(path).to_owned();
    Document { id: path.to_owned(), title, passages }
}

fn look(path: &str, documents: &[Document]) {
    let start = Instant::now();
    let found: Vec<Vec<Mention>> = documents
        .iter()
        .map(|document| {
            let passages: Vec<Passage<'_>> =
                document.passages.iter().map(|text| Passage { text, headings: &[] }).collect();
            mentions(&document.title, &passages)
        })
        .collect();
    let took = start.elapsed();
    let rows: usize = found.iter().map(Vec::len).sum();
    println!(
        "\n== {path}: {rows} mentions in {took:.0?}, {:.0} documents/s",
        documents.len() as f64 / took.as_secs_f64()
    );
    let start = Instant::now();
    let graph = Graph::build(
        documents
            .iter()
            .zip(&found)
            .flat_map(|(document, found)| found.iter().map(|mention| evidence(&document.id, mention))),
    );
    let took = start.elapsed();
    println!("   {} nodes, {} edges in {took:.0?}", graph.nodes().len(), graph.edges().len());
    let view = graph.strongest(60);
    for node in &view.nodes {
        let documents = node.documents.len();
        println!(
            "{:.2} {:12} {:3} x{documents:<4} {}",
            node.strength,
            node.kind.as_str(),
            node.community,
            node.label
        );
    }
    let mut edges = view.edges;
    edges.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    for edge in edges.iter().take(30) {
        let label = |place: u32| &graph.nodes()[place as usize].label;
        println!("  {:.2} {} -- {}", edge.strength, label(edge.source), label(edge.target));
    }
}

fn evidence<'a>(document: &'a str, mention: &'a Mention) -> Evidence<'a> {
    Evidence {
        document,
        passage: mention.passage,
        key: &mention.key,
        label: &mention.label,
        kind: mention.kind,
        count: mention.count,
        weight: mention.weight,
        defines: mention.defines,
        sentences: mention.sentences,
    }
}
