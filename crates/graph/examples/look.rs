//! Prints the graph of a collection or of a text, and how fast it was built.
//!
//! `look corpus.jsonl` (one object with `_id`, `title` and `text` a line) or `look text.txt`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for looking, run by hand")]

use graph::{Graph, Mention, Passage, mentions};

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

/// Returns passages of about 180 words, split at paragraphs.
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
    let start = processor_seconds();
    let found: Vec<Vec<Mention>> = documents
        .iter()
        .map(|document| {
            let passages: Vec<Passage<'_>> =
                document.passages.iter().map(|text| Passage { text, headings: &[] }).collect();
            mentions(&document.title, &passages)
        })
        .collect();
    let took = processor_seconds() - start;
    let rows: usize = found.iter().map(Vec::len).sum();
    let speed = documents.len() as f64 / took;
    println!("\n== {path}: {rows} mentions in {:.0} ms, {speed:.0} documents/s", took * 1e3);
    let start = processor_seconds();
    let graph = Graph::build(
        documents
            .iter()
            .zip(&found)
            .flat_map(|(document, found)| found.iter().map(|mention| mention.evidence(&document.id))),
    );
    let took = processor_seconds() - start;
    println!("   {} nodes, {} edges in {:.0} ms", graph.nodes().len(), graph.edges().len(), took * 1e3);
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
        let label = |index: u32| &graph.nodes()[index as usize].label;
        println!("  {:.2} {} -- {}", edge.strength, label(edge.source), label(edge.target));
    }
}

/// Returns the CPU time, so that other load on the machine is not measured; 0 if the system does not report it.
fn processor_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or_default() / 1e9
}
