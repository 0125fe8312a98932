//! `stoa eval DIR --questions FILE`: counts the questions that the chat answers rightly, by their kind.
//!
//! A line of the file has a `question`, the `document` below DIR that answers it, and what a right answer has: see
//! `judge`. Without facts, the right answer is that the documents do not say.

use super::judge::{Asked, Given, Turn, Verdict};
use super::{open, owner, records};
use crate::config::Config;
use anyhow::{Context, Result};
use futures_util::StreamExt;
use knowledge::{Answer, AnswerPart, Ask, Knowledge, ShownSource, Spool, Status, Upload, User};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is asked, and over which documents.
pub struct Questions {
    /// The documents lie below it.
    pub folder: PathBuf,
    pub file: PathBuf,
    /// Only the questions with this `split`.
    pub split: Option<String>,
    /// Where the ingested documents are kept for the next time.
    pub keep: Option<PathBuf>,
}

/// The file in the kept folder that says what was ingested.
const INGESTED: &str = "ingested.json";

#[derive(Deserialize, Serialize)]
struct Ingested {
    owner: String,
    /// The documents' names, by their ids.
    names: HashMap<String, String>,
}

pub async fn run(config: Config, questions: Questions) -> Result<()> {
    let Questions { folder, file: questions, split, keep } = &questions;
    let records = records(questions)?;
    let asked: Vec<Asked> = records
        .into_iter()
        .map(|record| serde_json::from_value(record).with_context(|| questions.display().to_string()))
        .collect::<Result<_>>()?;
    let temporary = tempfile::tempdir()?;
    let data = keep.as_deref().unwrap_or(temporary.path());
    let knowledge = open(&config, data).await?;
    let work = tokio::spawn(knowledge.clone().work());
    let kept = std::fs::read(data.join(INGESTED)).ok();
    let Ingested { owner, names } = match kept {
        Some(kept) => serde_json::from_slice(&kept)?,
        None => {
            let ingested = ingest_all(&knowledge, folder, &asked).await?;
            std::fs::write(data.join(INGESTED), serde_json::to_vec(&ingested)?)?;
            ingested
        }
    };
    let owner = knowledge.accounts().get(&owner).await?.context("the kept folder has another database")?;
    let mut figures = Figures::default();
    for asked in asked.iter().filter(|asked| split.as_ref().is_none_or(|split| asked.split == *split)) {
        let started = Instant::now();
        let (answer, sources) = ask(&knowledge, &owner, asked, &names).await?;
        let taken = started.elapsed();
        let verdict = asked.judge(&answer, &sources);
        figures.add(asked, verdict, taken);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{:<8} {}", verdict.name(), asked.question)?;
        writeln!(out, "         {}", answer.replace('\n', "\n         "))?;
    }
    work.abort();
    Ok(figures.print()?)
}

/// Ingests the documents that the questions are about.
async fn ingest_all(knowledge: &Knowledge, folder: &Path, asked: &[Asked]) -> Result<Ingested> {
    let owner = owner(knowledge).await?;
    let named = asked.iter().flat_map(|asked| asked.document.iter().chain(&asked.documents));
    let documents: BTreeSet<&String> = named.filter(|name| !name.is_empty()).collect();
    let mut names = HashMap::new();
    for name in documents {
        match ingest(knowledge, &owner, folder, name).await? {
            Ok(id) => drop(names.insert(id, name.clone())),
            Err(why) => writeln!(std::io::stderr(), "{name} cannot be indexed: {why}")?,
        }
    }
    Ok(Ingested { owner: owner.id, names })
}

/// Ingests a document. Returns its id, or why it cannot be indexed.
async fn ingest(
    knowledge: &Knowledge,
    owner: &User,
    folder: &Path,
    name: &str,
) -> Result<Result<String, String>> {
    let path = folder.join(name);
    let body = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let mut spool = Spool::new(u64::MAX);
    spool.push(&body, Path::new("."))?;
    let filename = path.file_name().map_or(name.to_owned(), |name| name.display().to_string());
    let document = knowledge.ingest(owner, Upload { filename, spool: spool.finish() }, "").await?;
    Ok(match document {
        Some(document) if document.status == Status::Indexed => Ok(document.id),
        other => Err(other.and_then(|document| document.error).unwrap_or_default()),
    })
}

/// Asks a question. Returns the answer and its sources.
async fn ask(
    knowledge: &Knowledge,
    owner: &User,
    asked: &Asked,
    names: &HashMap<String, String>,
) -> Result<(String, Vec<Given>)> {
    let line = |turn: &Turn| match turn.role.as_str() {
        "assistant" => format!("Assistant: {}", turn.content),
        _ => format!("User: {}", turn.content),
    };
    let history = asked.history.iter().map(line).collect::<Vec<String>>().join("\n");
    let question = Ask { history, ..Ask::new(&asked.question) };
    let Answer { sources, mut parts, .. } = knowledge.chat(owner, question).await?;
    let mut answer = String::new();
    while let Some(part) = parts.next().await {
        if let AnswerPart::Text(piece) = part? {
            answer.push_str(&piece);
        }
    }
    let given = sources.into_iter().map(|source| {
        let id = match &source.shown {
            ShownSource::Found(result) => Some(&result.document_id),
            ShownSource::Given(_) => None,
        };
        Given { document: id.and_then(|id| names.get(id)).cloned().unwrap_or_default(), text: source.text }
    });
    Ok((answer, given.collect()))
}

#[derive(Default)]
struct Figures {
    /// How many were right and how many were asked, by kind.
    kinds: BTreeMap<String, [usize; 2]>,
    answered: [usize; 2],
    refused: [usize; 2],
    times: Vec<Duration>,
}

impl Figures {
    fn add(&mut self, asked: &Asked, verdict: Verdict, taken: Duration) {
        let all = if asked.is_answerable() { &mut self.answered } else { &mut self.refused };
        for count in [self.kinds.entry(asked.kind().to_owned()).or_default(), all] {
            count[0] += usize::from(verdict == Verdict::Right);
            count[1] += 1;
        }
        self.times.push(taken);
    }

    fn print(&mut self) -> std::io::Result<()> {
        self.times.sort();
        let median = self.times.get(self.times.len() / 2).copied().unwrap_or_default();
        let all: Duration = self.times.iter().sum();
        let mean = all.as_secs_f64() / self.times.len().max(1) as f64;
        let mut out = std::io::stdout().lock();
        for (kind, [right, asked]) in &self.kinds {
            writeln!(out, "{kind:<10} {right} of {asked}")?;
        }
        writeln!(out, "seconds at the median {:.2}", median.as_secs_f64())?;
        writeln!(out, "answered {} of {}", self.answered[0], self.answered[1])?;
        writeln!(out, "refused {} of {}", self.refused[0], self.refused[1])?;
        writeln!(out, "seconds each {mean:.2}")
    }
}
