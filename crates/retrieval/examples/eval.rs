//! Measures the quality of the ranking on collections in the format of BEIR, in every mode: nDCG@10, Recall@100, and
//! the share of questions with all their documents among the first 8.
//!
//! `eval MODELS CACHE COLLECTION…`: the encoder's folder, a folder for vectors that were computed already, and the
//! collections' folders.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "not the product")]

use inference::encoder::Encoder;
use inference::{Engine, Kernel, Models, Priority};
use retrieval::{Index, Mention, Mode, Passage, Query};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::{env, fs};

/// Tokens that the encoder reads, without the two that it adds to a text.
const ROOM: usize = 254;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let encoder = Encoder::load(Path::new(&arguments[0]), Kernel::best()).unwrap();
    let engine = Engine::start(Models { encoder: Some(encoder), threads: 2, ..Models::default() });
    for folder in &arguments[2..] {
        let collection = Collection::read(Path::new(folder), &engine, Path::new(&arguments[1]));
        let index = collection.index();
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid, Mode::Graph] {
            println!(
                "{:>10} {:8} {}",
                collection.name,
                format!("{mode:?}"),
                collection.measure(&index, mode)
            );
        }
    }
}

struct Collection {
    name: String,
    documents: Vec<Document>,
    questions: Vec<Question>,
}

struct Document {
    id: String,
    title: String,
    passages: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

struct Question {
    text: String,
    vector: Vec<f32>,
    names: Vec<String>,
    /// The gain of each relevant document.
    gains: HashMap<String, f64>,
}

impl Collection {
    fn read(folder: &Path, engine: &Engine, cache: &Path) -> Self {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let documents: Vec<(String, String, Vec<String>)> = lines(&folder.join("corpus.jsonl"))
            .map(|line| {
                let (title, text) = (field(&line, "title"), field(&line, "text"));
                let passages = cut(&title, &text, engine);
                (field(&line, "_id"), title, passages)
            })
            .collect();
        let texts = documents
            .iter()
            .flat_map(|(_, title, passages)| passages.iter().map(move |text| format!("{title}\n{text}")));
        let mut vectors = embed(engine, texts.collect(), &cache.join(format!("{name}-passages"))).into_iter();
        let documents = documents.into_iter().map(|(id, title, passages)| {
            let vectors = vectors.by_ref().take(passages.len()).collect();
            Document { id, title, passages, vectors }
        });
        let documents = documents.collect();

        let mut gains: HashMap<String, HashMap<String, f64>> = HashMap::new();
        for line in fs::read_to_string(folder.join("qrels.tsv")).unwrap().lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let gain = fields[2].trim().parse().unwrap();
            gains.entry(fields[0].to_owned()).or_default().insert(fields[1].to_owned(), gain);
        }
        let questions: Vec<(String, String)> = lines(&folder.join("queries.jsonl"))
            .map(|line| (field(&line, "_id"), field(&line, "text")))
            .filter(|(id, _)| gains.get(id).is_some_and(|gains| gains.values().any(|gain| *gain > 0.0)))
            .collect();
        let texts = questions.iter().map(|(_, text)| text.clone()).collect();
        let vectors = embed(engine, texts, &cache.join(format!("{name}-questions")));
        let questions = questions.into_iter().zip(vectors).map(|((id, text), vector)| {
            let gains = gains.remove(&id).unwrap_or_default();
            Question { names: graph::names_in(&text), gains, text, vector }
        });
        Self { name, documents, questions: questions.collect() }
    }

    fn index(&self) -> Index {
        let mut index = Index::new(self.documents[0].vectors[0].len());
        for document in &self.documents {
            let texts =
                document.passages.iter().map(|text| graph::Passage { text, headings: &[], is_code: false });
            let found = graph::mentions(&document.title, &texts.collect::<Vec<_>>());
            let mut mentions = vec![Vec::new(); document.passages.len()];
            for mention in found.iter().filter(|mention| mention.kind != graph::Kind::Concept) {
                let named = Mention { key: &mention.key, defines: mention.defines };
                mentions[mention.passage as usize].push(named);
            }
            let parts = document.passages.iter().zip(&document.vectors).zip(&mentions);
            let passages = parts.map(|((text, vector), mentions)| Passage {
                title: &document.title,
                headings: &[],
                text,
                vector,
                mentions,
            });
            index.put(&document.id, &passages.collect::<Vec<_>>());
        }
        index
    }

    fn measure(&self, index: &Index, mode: Mode) -> String {
        let (mut ndcg, mut recall, mut perfect) = (0.0, 0.0, 0.0);
        for question in &self.questions {
            let hits = index.search(&Query {
                text: &question.text,
                vector: Some(&question.vector),
                names: &question.names,
                mode,
                limit: 200,
                accept: None,
            });
            let mut documents: Vec<String> = Vec::new();
            for hit in hits {
                if !documents.contains(&hit.document) {
                    documents.push(hit.document);
                }
            }
            let wanted: Vec<&String> =
                question.gains.iter().filter(|(_, gain)| **gain > 0.0).map(|(id, _)| id).collect();
            let among = |most: usize| {
                let first = &documents[..most.min(documents.len())];
                wanted.iter().filter(|id| first.contains(id)).count()
            };
            ndcg += question.ndcg(&documents);
            recall += among(100) as f64 / wanted.len() as f64;
            perfect += f64::from(among(8) == wanted.len());
        }
        let count = self.questions.len() as f64;
        let (ndcg, recall, perfect) = (ndcg / count, recall / count, perfect / count);
        format!("nDCG@10 {ndcg:.4}  Recall@100 {recall:.4}  perfect@8 {perfect:.2}")
    }
}

impl Question {
    fn ndcg(&self, documents: &[String]) -> f64 {
        let sum = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
            gains.take(10).enumerate().map(|(place, gain)| gain / (place as f64 + 2.0).log2()).sum()
        };
        let mut ideal: Vec<f64> = self.gains.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let found = documents.iter().map(|id| self.gains.get(id).copied().unwrap_or_default());
        sum(&mut found.into_iter()) / sum(&mut ideal.into_iter())
    }
}

/// Returns passages of whole sentences that the encoder can read together with the title.
fn cut(title: &str, text: &str, engine: &Engine) -> Vec<String> {
    let tokenizer = engine.encoder().unwrap().tokenizer();
    let room = ROOM.saturating_sub(tokenizer.count(title)).max(64);
    let mut passages = vec![String::new()];
    let mut used = 0;
    for sentence in text.split_inclusive(['.', '?', '!']) {
        let tokens = tokenizer.count(sentence);
        if used + tokens > room && used > 0 {
            passages.push(String::new());
            used = 0;
        }
        used += tokens;
        passages.last_mut().unwrap().push_str(sentence);
    }
    passages
}

/// Returns the vectors of the texts, from the cache if they are there.
fn embed(engine: &Engine, texts: Vec<String>, file: &Path) -> Vec<Vec<f32>> {
    let dimension = engine.encoder().unwrap().dimension();
    let cached = fs::read(file).unwrap_or_default();
    if cached.len() == 4 * dimension * texts.len() {
        let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
        let numbers: Vec<f32> = cached.chunks_exact(4).map(number).collect();
        return numbers.chunks_exact(dimension).map(<[f32]>::to_vec).collect();
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let batches = texts.chunks(512).map(|texts| engine.embed("", texts.to_vec(), Priority::Bulk).unwrap());
    let vectors: Vec<Vec<f32>> = batches.flat_map(|batch| runtime.block_on(batch).unwrap()).collect();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
        .unwrap();
    vectors
}

fn lines(file: &Path) -> impl Iterator<Item = BTreeMap<String, Value>> {
    let text = fs::read_to_string(file).expect("the collection");
    let lines: Vec<_> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines.into_iter()
}

fn field(line: &BTreeMap<String, Value>, name: &str) -> String {
    line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
