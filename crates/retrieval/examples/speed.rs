//! Measures how fast passages are stored and found, and whether the nearest are exact: for each size the passages
//! stored per second, memory, the time of a search of the mapped file in each mode, and recall compared with all floats in double
//! precision.
//!
//! `speed SIZE…`. Vectors lie in clusters and words follow Zipf's law, as those of real texts do.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "not the product")]

use retrieval::{Index, Mention, Mode, Passage, Query};
use std::env;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

const DIMENSION: usize = 384;
const WORDS: usize = 120;
const PASSAGES_OF_A_DOCUMENT: usize = 4;
const SEARCHES: usize = 300;

fn main() {
    for size in env::args().skip(1).map(|size| size.parse().unwrap()) {
        let mut random = Random(1);
        let clusters: Vec<Vec<f32>> = (0..size / 50 + 4).map(|_| random.vector(None)).collect();
        let vectors: Vec<Vec<f32>> = (0..size).map(|_| random.vector(Some(&clusters))).collect();
        let in_memory = store(&vectors, &mut random);
        let index = mapped(&in_memory);
        drop(in_memory);
        let questions: Vec<(String, Vec<f32>)> =
            (0..SEARCHES).map(|_| (random.text(10), random.vector(Some(&clusters)))).collect();
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid, Mode::Graph] {
            time(&index, mode, &questions);
        }
        println!("{:>8} recall@10 of the dense search {:.4}", "", recall(&index, &vectors, &questions));
    }
}

fn store(vectors: &[Vec<f32>], random: &mut Random) -> Index {
    let texts: Vec<(String, Vec<String>)> = vectors
        .iter()
        .map(|_| {
            (random.text(WORDS), (0..8).map(|_| format!("name {}", random.zipf(vectors.len()))).collect())
        })
        .collect();
    let mut index = Index::new(DIMENSION);
    let start = Instant::now();
    let documents = vectors.chunks(PASSAGES_OF_A_DOCUMENT).zip(texts.chunks(PASSAGES_OF_A_DOCUMENT));
    for (document, (vectors, texts)) in documents.enumerate() {
        let title = format!("name {document}");
        let mention = |key| Mention { key, defines: key == title };
        let mentions: Vec<Vec<Mention<'_>>> = texts
            .iter()
            .map(|(_, names)| names.iter().chain([&title]).map(|name| mention(name)).collect())
            .collect();
        let parts = vectors.iter().zip(texts).zip(&mentions);
        let passages = parts.map(|((vector, (text, _)), mentions)| Passage {
            title: &title,
            headings: &[],
            text,
            vector,
            mentions,
        });
        index.put(&document.to_string(), &passages.collect::<Vec<_>>());
    }
    let (count, took) = (vectors.len() as f64, start.elapsed().as_secs_f64());
    let beside_floats = index.bytes() as f64 / count - 4.0 * DIMENSION as f64;
    println!(
        "{:>8} stored at {:.0}/s, {beside_floats:.0} bytes each beside the floats",
        index.len(),
        count / took
    );
    index
}

/// Writes the index to a file and maps it.
fn mapped(index: &Index) -> Index {
    let path = env::temp_dir().join(format!("stoa-speed-{}", std::process::id()));
    let start = Instant::now();
    let mut file = BufWriter::new(File::create(&path).unwrap());
    index.write(&[], &mut file).unwrap();
    file.flush().unwrap();
    let (written, size) = (start.elapsed(), file.get_ref().metadata().unwrap().len());
    let start = Instant::now();
    let (index, _) = Index::open(&File::open(&path).unwrap()).unwrap();
    println!(
        "{:>8} written in {:.2} s, {} bytes each; mapped in {:.3} s, {} bytes each in memory",
        "",
        written.as_secs_f64(),
        size / index.len().max(1) as u64,
        start.elapsed().as_secs_f64(),
        index.bytes() / index.len().max(1)
    );
    fs::remove_file(path).unwrap();
    index
}

fn time(index: &Index, mode: Mode, questions: &[(String, Vec<f32>)]) {
    let mut times: Vec<Duration> = questions
        .iter()
        .map(|(text, vector)| {
            let start = Instant::now();
            search(index, mode, text, vector);
            start.elapsed()
        })
        .collect();
    times.sort();
    let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize].as_secs_f64() * 1e3;
    println!("{:>8} {:8} p50 {:.3} ms  p99 {:.3} ms", "", format!("{mode:?}"), at(0.5), at(0.99));
}

fn search(index: &Index, mode: Mode, text: &str, vector: &[f32]) -> Vec<(String, u32)> {
    let query = Query { text, vector: Some(vector), names: &[], mode, limit: 10, accept: None };
    index.search(&query).into_iter().map(|hit| (hit.document, hit.passage)).collect()
}

fn recall(index: &Index, vectors: &[Vec<f32>], questions: &[(String, Vec<f32>)]) -> f64 {
    let questions = &questions[..questions.len().min(100)];
    let mut hits = 0;
    for (text, question) in questions {
        let product = |vector: &Vec<f32>| -> f64 {
            vector.iter().zip(question).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let mut exact: Vec<(f64, usize)> = vectors.iter().map(product).zip(0..).collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let found = search(index, Mode::Dense, text, question);
        let place = |number: usize| {
            let document = number / PASSAGES_OF_A_DOCUMENT;
            (document.to_string(), (number % PASSAGES_OF_A_DOCUMENT) as u32)
        };
        hits += exact[..10].iter().filter(|(_, number)| found.contains(&place(*number))).count();
    }
    hits as f64 / (10 * questions.len()) as f64
}

struct Random(u64);

impl Random {
    /// Returns a number from 0 to 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }

    fn pick(&mut self, of: usize) -> usize {
        ((self.next() * of as f32) as usize).min(of - 1)
    }

    /// Returns a number below `of`; small ones are far more frequent.
    fn zipf(&mut self, of: usize) -> usize {
        ((of as f32).powf(self.next()) as usize - 1).min(of - 1)
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| format!("w{} ", self.zipf(50_000))).collect()
    }

    /// Returns a vector of length 1, near one of the clusters if there are any.
    fn vector(&mut self, clusters: Option<&[Vec<f32>]>) -> Vec<f32> {
        let mut vector: Vec<f32> =
            (0..DIMENSION).map(|_| self.next() + self.next() + self.next() - 1.5).collect();
        normalise(&mut vector);
        if let Some(clusters) = clusters {
            let center = &clusters[self.pick(clusters.len())];
            vector.iter_mut().zip(center).for_each(|(value, center)| *value += center);
            normalise(&mut vector);
        }
        vector
    }
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|value| *value /= length);
}
