//! Measures how close the encoder is to its float reference, on a collection in the format of BEIR: the cosine of
//! each text's two vectors, and nDCG@10 of an exact search with each.
//!
//! `accuracy MODELS CORPUS [TEXTS [KERNEL]]`: the encoder's folder, the collection's folder, the most texts to
//! compare (all of them for a comparable nDCG; the reference takes a quarter of a second for each), and the kernel.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "not the product")]

#[path = "../tests/reference/encoder.rs"]
mod reference;

use inference::encoder::Encoder;
use inference::{Engine, Kernel, Models, Priority};
use reference::Reference;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (models, folder) = (Path::new(&arguments[0]), Path::new(&arguments[1]));
    let most = arguments.get(2).map_or(usize::MAX, |most| most.parse().expect("a number of texts"));
    let kernel = arguments.get(3).map_or(Kernel::best(), |name| Kernel::named(name).expect("a kernel"));
    let documents = read(&folder.join("corpus.jsonl"), most);
    let queries = read(&folder.join("queries.jsonl"), usize::MAX);
    let texts: Vec<String> = documents.iter().chain(&queries).map(|(_, text)| text.clone()).collect();

    let encoder = Encoder::load(models, kernel).unwrap();
    let engine = Engine::start(Models { encoder: Some(encoder), threads: 2, ..Models::default() });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fast = runtime.block_on(engine.embed("", texts.clone(), Priority::Bulk).unwrap()).unwrap();
    let exact = reference(models, &texts);

    let cosines: Vec<f32> = fast.iter().zip(&exact).map(|(a, b)| dot(a, b)).collect();
    let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
    let lowest = cosines.iter().copied().fold(1.0, f32::min);
    println!("{} texts: cosine to the reference {mean:.4} on average, {lowest:.4} at least", texts.len());
    for (name, vectors) in [("reference", &exact), ("int8", &fast)] {
        let quality = ndcg(&documents, &queries, vectors, &folder.join("qrels.tsv"));
        println!("nDCG@10 {quality:.4} ({name})");
    }
}

fn read(file: &Path, most: usize) -> Vec<(String, String)> {
    let text = fs::read_to_string(file).expect("the collection");
    let field = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let lines = text.lines().take(most).map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines
        .map(|line| (field(&line, "_id"), format!("{} {}", field(&line, "title"), field(&line, "text"))))
        .collect()
}

fn reference(models: &Path, texts: &[String]) -> Vec<Vec<f32>> {
    let reference = Reference::load(models);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            match texts.get(index) {
                Some(text) => done.push((index, reference.embed(text))),
                None => return done,
            }
        }
    };
    let mut all: Vec<(usize, Vec<f32>)> = thread::scope(|scope| {
        let threads = [scope.spawn(worker), scope.spawn(worker)];
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, vector)| vector).collect()
}

fn ndcg(
    documents: &[(String, String)],
    queries: &[(String, String)],
    vectors: &[Vec<f32>],
    file: &Path,
) -> f64 {
    let judgements = fs::read_to_string(file).expect("the judgements");
    let mut relevant: HashMap<&str, HashMap<&str, f64>> = HashMap::new();
    for line in judgements.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if let [query, .., document, grade] = fields[..]
            && let Ok(grade) = grade.parse()
        {
            relevant.entry(query).or_default().insert(document, grade);
        }
    }
    let (documents_vectors, query_vectors) = vectors.split_at(documents.len());
    let mut sum = 0.0;
    let mut judged = 0;
    for ((id, _), query) in queries.iter().zip(query_vectors) {
        let Some(grades) = relevant.get(id.as_str()) else { continue };
        let mut ranked: Vec<(f32, &str)> = documents_vectors
            .iter()
            .zip(documents)
            .map(|(vector, (id, _))| (dot(vector, query), id.as_str()))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let gains = ranked.iter().take(10).map(|(_, id)| grades.get(id).copied().unwrap_or(0.0));
        let mut ideal: Vec<f64> = grades.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let best = discounted(ideal.into_iter().take(10));
        if best > 0.0 {
            sum += discounted(gains) / best;
            judged += 1;
        }
    }
    sum / f64::from(judged)
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains.enumerate().map(|(rank, gain)| gain.max(0.0) / (rank as f64 + 2.0).log2()).sum()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
