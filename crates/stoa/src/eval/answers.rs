//! `stoa eval DIR --questions FILE`: counts the questions that the chat answers with the right fact and a right citation.
//!
//! A line of the file has a `question`, the `document` below DIR that answers it, and `facts`: spellings of which one
//! must be in the answer and in a source that it cites. Without facts, the right answer is that nothing was found.

use super::{open, owner, records};
use crate::config::Config;
use anyhow::{Context, Result, ensure};
use futures_util::StreamExt;
use knowledge::{Answer, AnswerPart, Ask, Knowledge, Spool, Status, Upload, User, cited};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

struct Asked {
    question: String,
    facts: Vec<String>,
}

pub async fn run(config: Config, folder: &Path, questions: &Path) -> Result<()> {
    let records = records(questions)?;
    let temporary = tempfile::tempdir()?;
    let knowledge = open(&config, temporary.path()).await?;
    let work = tokio::spawn(knowledge.clone().work());
    let owner = owner(&knowledge).await?;
    let documents: BTreeSet<&str> = records.iter().filter_map(|record| record["document"].as_str()).collect();
    for document in documents {
        ingest(&knowledge, &owner, folder, document).await?;
    }
    let (mut right, mut answerable, mut refused, mut asked) = (0, 0, 0, 0);
    let mut seconds = 0.0;
    for record in &records {
        let record = Asked::of(record);
        let started = Instant::now();
        let (answer, sources) = ask(&knowledge, &owner, &record.question).await?;
        seconds += started.elapsed().as_secs_f64();
        asked += 1;
        let good = if record.facts.is_empty() {
            refused += usize::from(sources.is_empty());
            sources.is_empty()
        } else {
            answerable += 1;
            let good = record.is_right(&answer, &sources);
            right += usize::from(good);
            good
        };
        let mut out = std::io::stdout().lock();
        let verdict = match good {
            true => "right",
            // Tells whether the answer or the search is wrong.
            false if sources.iter().any(|source| record.has_fact(source)) => "WRONG",
            false => "unfound",
        };
        writeln!(out, "{verdict:<8} {}\n         {}", record.question, answer.replace('\n', "\n         "))?;
    }
    work.abort();
    let mut out = std::io::stdout().lock();
    writeln!(out, "answered {right} of {answerable}")?;
    writeln!(out, "refused {refused} of {}", asked - answerable)?;
    writeln!(out, "seconds each {:.2}", seconds / f64::from(asked.max(1) as u32))?;
    Ok(())
}

async fn ingest(knowledge: &Knowledge, owner: &User, folder: &Path, name: &str) -> Result<()> {
    let path = folder.join(name);
    let body = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let mut spool = Spool::new(u64::MAX);
    spool.push(&body, Path::new("."))?;
    let filename = path.file_name().map_or(name.to_owned(), |name| name.display().to_string());
    let document = knowledge.ingest(owner, Upload { filename, spool: spool.finish() }, "").await?;
    let indexed = document.is_some_and(|document| document.status == Status::Indexed);
    ensure!(indexed, "{} cannot be indexed", path.display());
    Ok(())
}

/// Asks a question. Returns the answer and the texts of its sources.
async fn ask(knowledge: &Knowledge, owner: &User, question: &str) -> Result<(String, Vec<String>)> {
    let Answer { sources, mut parts, .. } = knowledge.chat(owner, Ask::new(question)).await?;
    let mut answer = String::new();
    while let Some(part) = parts.next().await {
        if let AnswerPart::Text(piece) = part? {
            answer.push_str(&piece);
        }
    }
    Ok((answer, sources.into_iter().map(|source| source.text).collect()))
}

impl Asked {
    fn of(record: &Value) -> Self {
        let facts = record["facts"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Self {
            question: record["question"].as_str().unwrap_or_default().to_owned(),
            facts: facts.map(plain).collect(),
        }
    }

    fn is_right(&self, answer: &str, sources: &[String]) -> bool {
        let cited = cited(answer).into_iter().filter_map(|number| sources.get(number.checked_sub(1)?));
        self.has_fact(answer) && cited.into_iter().any(|source| self.has_fact(source))
    }

    fn has_fact(&self, text: &str) -> bool {
        let text = plain(text);
        self.facts.iter().any(|fact| text.contains(fact))
    }
}

/// Removes what may be written in several ways.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace(['`', '*'], "");
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_answer_has_the_fact_and_cites_a_source_that_has_it() {
        let asked = Asked { question: String::new(), facts: vec!["7 days".to_owned()] };
        let sources = ["It rains.".to_owned(), "Valid for `7`\ndays.".to_owned()];
        assert!(asked.is_right("It is valid for 7  days [2].", &sources));
        assert!(!asked.is_right("It is valid for 7 days [1].", &sources));
        assert!(!asked.is_right("It is valid for 7 days.", &sources));
        assert!(!asked.is_right("It is valid for a week [2].", &sources));
        assert!(!asked.is_right("It is valid for 7 days [0] [9].", &sources));
    }
}
