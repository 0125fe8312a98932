//! `stoa eval`: measures how well the right documents are found, on a collection with known answers, through the real
//! ingest and search in a temporary folder.

mod answers;
mod judge;

pub use answers::{Questions, run as run_answers};

use crate::config::Config;
use crate::extractor::extractor;
use crate::models;
use anyhow::{Context, Result, anyhow};
use base::token::Tokens;
use base::{Clock, Random};
use kit::serve::Drain;
use knowledge::{
    Connections, CookieSecure, Environment, Filters, GatewayTokenSettings, IndexSettings, Knowledge,
    KnowledgeSettings, Mode, NewUser, Question, SecretKeys, Shared, SourceSettings, Spool, Status, Upload,
    Usage, User,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::admins::Admins;
use store::{Blobs, Db, S3Settings};
use tokio::task::JoinSet;

/// How many documents are ingested at the same time.
const UPLOADS: usize = 32;
/// How many passages are searched for: enough for a hundred documents.
const PASSAGES: usize = 300;
const RESULTS: usize = 5;

struct Collection {
    documents: Vec<(String, String, String)>,
    queries: Vec<(String, String)>,
    /// How relevant each document is, by query and document.
    relevant: HashMap<String, BTreeMap<String, f64>>,
}

pub async fn run(config: Config, folder: PathBuf, mode: String, rerank: bool) -> Result<()> {
    let collection = Collection::read(&folder)?;
    let temporary = tempfile::tempdir()?;
    let knowledge = open(&config, temporary.path()).await?;
    let drain_work = tokio::spawn(knowledge.clone().work());
    let owner = owner(&knowledge).await?;

    let started = Instant::now();
    let names = ingest(&knowledge, &owner, &collection).await?;
    let per_second = collection.documents.len() as f64 / started.elapsed().as_secs_f64();
    let mut figures = Figures::default();
    for (id, question) in &collection.queries {
        let Some(relevant) = collection.relevant.get(id) else { continue };
        let question = |limit| {
            let (text, mode) = (question.clone(), mode_of(&mode));
            Question { text, mode, limit, filters: Filters::default(), rerank }
        };
        let found = knowledge.rank(&owner, question(PASSAGES)).await?;
        // As a user would search: a few passages with their texts.
        let asked = Instant::now();
        knowledge.search(&owner, question(RESULTS)).await?;
        figures.times.push(asked.elapsed());
        let mut seen = HashSet::new();
        let ranked: Vec<&str> = found
            .iter()
            .filter_map(|id| names.get(id))
            .map(String::as_str)
            .filter(|id| seen.insert(*id))
            .collect();
        figures.add(&ranked, relevant);
    }
    drain_work.abort();
    Ok(figures.print(per_second)?)
}

/// Opens a knowledge service in an empty folder.
async fn open(config: &Config, folder: &Path) -> Result<Knowledge> {
    let (clock, random) = (Clock::system(), Random::system());
    let database = format!("sqlite://{}", folder.join("stoa.db").display());
    let objects = format!("file://{}", folder.join("objects").display());
    let loaded = models::load(config).await;
    loaded.state().map_err(|missing| anyhow!(missing))?;
    let db = Db::open(&database, clock.clone(), random.clone()).await?;
    let blobs = Blobs::open(&objects, S3Settings::default()).await?;
    let usage = Usage::new(db.clone(), clock.clone(), random.clone());
    let (keys, providers) =
        (Arc::new(SecretKeys::new(&[])), loaded.providers(config.vendors.clone(), usage.clone())?);
    let connections = Connections::new(db.clone(), clock.clone(), random.clone(), keys, providers.clone());
    let shared = Shared {
        admins: Admins::new(db.clone(), blobs.clone()),
        db,
        blobs,
        tokens: Arc::new(Tokens::new(&random.bytes::<32>(), "eval", "eval", clock.clone())),
        connections,
        usage,
        providers,
        engine: loaded.engine,
        extractor: extractor(&config.extract)?,
        sources: SourceSettings {
            environment: Environment::default(),
            keys: SecretKeys::new(&[]),
            largest_item: config.max_upload_bytes,
            spool_folder: folder.to_owned(),
        },
        clock,
        random,
        drain: Drain::default(),
    };
    let settings = KnowledgeSettings {
        max_upload_bytes: config.max_upload_bytes,
        chat_requests_per_minute: config.chat_requests_per_minute,
        chat_model: config.chat_model.clone(),
        cookie_secure: CookieSecure::Auto,
        gateway_tokens: GatewayTokenSettings { ttl: config.jwt_ttl, environment: config.environment },
        sso_creates_users: false,
        users_create_spaces: false,
        quotas: knowledge::Quotas::default(),
        spool_folder: folder.to_owned(),
        job_lease: config.job_lease,
        // No client waits for an answer here.
        index: IndexSettings { patience: Duration::from_secs(3600), ..config.index.clone() },
        models: Vec::new(),
    };
    Ok(Knowledge::open(shared, settings).await?)
}

async fn owner(knowledge: &Knowledge) -> Result<User> {
    let new = NewUser {
        username: None,
        email: "eval@localhost".to_owned(),
        name: "eval".to_owned(),
        password: "no user signs in".to_owned(),
        goals: String::new(),
        is_admin: false,
    };
    Ok(knowledge.accounts().create(new, String::new()).await?)
}

/// Ingests the documents. Returns the collection's own name of each, by its id.
async fn ingest(
    knowledge: &Knowledge,
    owner: &User,
    collection: &Collection,
) -> Result<HashMap<String, String>> {
    let mut running: JoinSet<Result<(String, String)>> = JoinSet::new();
    let mut names = HashMap::new();
    for (name, title, body) in &collection.documents {
        while running.len() >= UPLOADS {
            keep(&mut names, running.join_next().await)?;
        }
        let (knowledge, owner) = (knowledge.clone(), owner.clone());
        let (name, title, body) = (name.clone(), title.clone(), body.clone());
        running.spawn(async move {
            let mut spool = Spool::new(u64::MAX);
            spool.push(body.as_bytes(), Path::new("."))?;
            let upload = Upload { filename: format!("{name}.txt"), spool: spool.finish() };
            let document = knowledge.ingest(&owner, upload, &title).await?;
            match document.filter(|document| document.status == Status::Indexed) {
                Some(document) => Ok((document.id, name)),
                // Some collections have empty documents.
                None => Ok((String::new(), name)),
            }
        });
    }
    while let Some(done) = running.join_next().await {
        keep(&mut names, Some(done))?;
    }
    Ok(names)
}

type Done = Option<Result<Result<(String, String)>, tokio::task::JoinError>>;

fn keep(names: &mut HashMap<String, String>, done: Done) -> Result<()> {
    if let Some(done) = done {
        let (id, name) = done??;
        names.insert(id, name);
    }
    Ok(())
}

fn mode_of(name: &str) -> Mode {
    match name {
        "dense" => Mode::Dense,
        "lexical" => Mode::Lexical,
        "hybrid" => Mode::Hybrid,
        _ => Mode::Graph,
    }
}

impl Collection {
    fn read(folder: &Path) -> Result<Self> {
        let field = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let corpus = records(&folder.join("corpus.jsonl"))?;
        let queries = records(&folder.join("queries.jsonl"))?;
        let judged = read_text(&folder.join("qrels.tsv"))?;
        let mut relevant: HashMap<String, BTreeMap<String, f64>> = HashMap::new();
        for line in judged.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            // The first line may name the columns.
            let (&[query, document, score], true) = (parts.as_slice(), parts.len() == 3) else { continue };
            let Ok(score) = score.trim().parse::<f64>() else { continue };
            if score > 0.0 {
                relevant.entry(query.to_owned()).or_default().insert(document.to_owned(), score);
            }
        }
        Ok(Self {
            documents: corpus
                .iter()
                .map(|record| (field(record, "_id"), field(record, "title"), field(record, "text")))
                .collect(),
            queries: queries.iter().map(|record| (field(record, "_id"), field(record, "text"))).collect(),
            relevant,
        })
    }
}

fn records(path: &Path) -> Result<Vec<Value>> {
    let lines = read_text(path)?;
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).with_context(|| path.display().to_string())).collect()
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[derive(Default)]
struct Figures {
    ndcg: f64,
    recall: f64,
    perfect: f64,
    queries: f64,
    times: Vec<Duration>,
}

impl Figures {
    fn add(&mut self, ranked: &[&str], relevant: &BTreeMap<String, f64>) {
        let discount = |rank: usize| (rank as f64 + 2.0).log2();
        let gains = ranked.iter().take(10).map(|id| relevant.get(*id).copied().unwrap_or(0.0));
        let gained: f64 = gains.enumerate().map(|(rank, gain)| gain / discount(rank)).sum();
        let mut best: Vec<f64> = relevant.values().copied().collect();
        best.sort_by(|one, other| other.total_cmp(one));
        let ideal: f64 = best.iter().take(10).enumerate().map(|(rank, gain)| gain / discount(rank)).sum();
        let among = |first: usize| ranked.iter().take(first).filter(|id| relevant.contains_key(**id)).count();
        self.ndcg += if ideal > 0.0 { gained / ideal } else { 0.0 };
        self.recall += among(100) as f64 / relevant.len() as f64;
        self.perfect += f64::from(u8::from(among(8) == relevant.len()));
        self.queries += 1.0;
    }

    fn print(&mut self, documents_per_second: f64) -> std::io::Result<()> {
        self.times.sort();
        let at = |part: f64| {
            let index = (self.times.len() as f64 * part) as usize;
            let time = self.times.get(index.min(self.times.len().saturating_sub(1)));
            time.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
        };
        let queries = self.queries.max(1.0);
        let mut out = std::io::stdout().lock();
        writeln!(out, "nDCG@10 {:.4}", self.ndcg / queries)?;
        writeln!(out, "Recall@100 {:.4}", self.recall / queries)?;
        writeln!(out, "perfect@8 {:.4}", self.perfect / queries)?;
        writeln!(out, "documents/s {documents_per_second:.1}")?;
        writeln!(out, "p50 ms {:.2}", at(0.5))?;
        writeln!(out, "p99 ms {:.2}", at(0.99))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_textbook() {
        let relevant: BTreeMap<String, f64> = [("a".to_owned(), 1.0), ("b".to_owned(), 1.0)].into();
        let mut figures = Figures::default();
        figures.add(&["a", "x", "b"], &relevant);
        let expected = (1.0 + 1.0 / 4f64.log2()) / (1.0 + 1.0 / 3f64.log2());
        assert!((figures.ndcg - expected).abs() < 1e-12);
        assert_eq!((figures.recall, figures.perfect), (1.0, 1.0));
        figures.add(&["x", "a"], &relevant);
        assert_eq!((figures.recall, figures.perfect), (1.5, 1.0));
    }
}
