//! Asks the model that is chosen for the graph how the things that a document names are connected, after it was indexed.

use crate::jobs::{RELATE, RelatePayload, payload, retried_job};
use crate::records::{Chunk, Document, Mention};
use crate::tables::{self, relations};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use graph::Kind;
use llm::{Caller, Cause, Chat, ChatError, Format, Message, Model, Piece, Providers, Purpose, Who};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use store::Db;
use store::jobs::{self, Handler, Job, JobError, Retry, Worker};
use tokio_util::sync::CancellationToken;

const PROMPT: &str = include_str!("../prompts/relations.md");
const MAX_NAMES: usize = 12;
const MAX_ANSWER_TOKENS: usize = 300;
const MAX_VERB_WORDS: usize = 4;
/// Passages that a job asks about before it stores what it has heard, and leaves the rest to another.
const PASSAGES: i64 = 20;
/// How long a model that cannot answer now is left alone.
const PAUSE: Duration = Duration::from_secs(600);

/// Runs the jobs, one at a time: documents are indexed beside it.
pub fn worker(db: Db, providers: Arc<Providers>, lease: Duration) -> Worker {
    let handler = Arc::new(Relating { db: db.clone(), providers });
    Worker { lease, concurrency: 1, ..Worker::new(db, &[RELATE], handler) }
}

struct Relating {
    db: Db,
    providers: Arc<Providers>,
}

impl Handler for Relating {
    fn run(&self, job: Job, _: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            let relating: RelatePayload = payload(&job)?;
            let id = relating.document_id.clone();
            let mut page = tables::chunks::page::<Chunk>(&self.db, &[&id], relating.from, PASSAGES).await?;
            page.retain(|row| row.revision == relating.revision);
            let (model, document) =
                (self.providers.chosen_model(Purpose::Graph), tables::documents::get(&self.db, &id).await?);
            let mut found = HashMap::new();
            if let (Some(model), Some(document)) = (model, document) {
                for row in &page {
                    relate(&model, &document, &row.chunk, &mut found).await.map_err(failed)?;
                }
            } else {
                page.clear();
            }
            let mut tx = self.db.begin().await?;
            // The document may have been deleted meanwhile.
            if tables::documents::get_in(&mut tx, &id).await?.is_some() {
                relations::add(&mut tx, &id, &found).await?;
            }
            if let Some(last) = page.last() {
                let from = last.chunk.position + 1;
                jobs::enqueue(&mut tx, retried_job(RELATE, RelatePayload { from, ..relating })).await?;
            }
            jobs::complete(&mut tx, &job).await?;
            Ok(tx.commit().await?)
        })
    }
}

/// Asks about a passage that names several things.
async fn relate(
    model: &Model,
    document: &Document,
    chunk: &Chunk,
    found: &mut HashMap<relations::Relation, i64>,
) -> Result<(), ChatError> {
    let names = names(chunk);
    if names.len() >= 2 {
        let text = ask(model, caller(document), &chunk.text, &names).await?;
        for relation in read(&text, &names) {
            *found.entry(relation).or_insert(0) += 1;
        }
    }
    Ok(())
}

/// A model that cannot be reached, or whose budget is used up, is asked again later; what it refuses, it refuses again.
fn failed(error: ChatError) -> JobError {
    match error.cause {
        Cause::Refused { status: 400..=428, .. } | Cause::TooLong { .. } | Cause::Declined(_) => {
            JobError::never(error.to_string())
        }
        _ => JobError { message: error.to_string(), retry: Retry::After(PAUSE) },
    }
}

/// Returns the things that a passage names, the most important first.
fn names(chunk: &Chunk) -> Vec<&Mention> {
    let mut names: Vec<&Mention> =
        chunk.mentions.iter().filter(|mention| mention.kind != Kind::Concept.as_str()).collect();
    names.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    names.truncate(MAX_NAMES);
    names
}

/// Returns on whose behalf a document's passages are read: its user's, or whoever has added it to a space.
fn caller(document: &Document) -> Caller {
    let (user, space) = match document.added_by.as_str() {
        "" => (&document.user_id, None),
        _ => (&document.added_by, Some(document.user_id.clone())),
    };
    Caller { space, ..Caller::new(Who::User(user.clone()), Purpose::Graph) }
}

async fn ask(model: &Model, caller: Caller, text: &str, names: &[&Mention]) -> Result<String, ChatError> {
    let labels: Vec<&str> = names.iter().map(|name| name.label.as_str()).collect();
    let passage = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let mut reply = model.chat(Chat {
        messages: vec![
            Message::system(PROMPT.trim()),
            Message::user(format!("Passage: {passage}\nNames: {}", labels.join("; "))),
        ],
        max_tokens: MAX_ANSWER_TOKENS,
        temperature: 0.0,
        stop: Vec::new(),
        seed: 0,
        urgent: false,
        caller,
        tries: llm::USUAL_TRIES,
        tools: None,
        format: Format::Text,
    });
    let mut written = String::new();
    while let Some(piece) = reply.next().await {
        if let Piece::Text(piece) = piece? {
            written.push_str(&piece);
        }
    }
    Ok(written)
}

/// Reads the lines of an answer that connect two of the names.
fn read(text: &str, names: &[&Mention]) -> Vec<relations::Relation> {
    let id = |label: &str| {
        let label = label.trim().trim_start_matches(['-', '*', ' ']);
        let name = names.iter().find(|name| name.label.to_lowercase() == label.to_lowercase())?;
        Some(graph::id(&name.key))
    };
    let line = |line: &str| {
        let mut parts = line.split('|');
        let (source, verb, target) = (parts.next()?, parts.next()?, parts.next()?);
        let relation = (id(source)?, snake_case(verb)?, id(target)?);
        (relation.0 != relation.2).then_some(relation)
    };
    text.lines().filter_map(line).collect()
}

fn snake_case(verb: &str) -> Option<String> {
    let lower = verb.trim().to_lowercase().replace(['_', '-'], " ");
    let words: Vec<&str> = lower.split_whitespace().collect();
    let is_verb = !words.is_empty()
        && words.len() <= MAX_VERB_WORDS
        && words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()));
    is_verb.then(|| words.join("_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_connect_two_of_the_names_are_read() {
        let mention = |label: &str| Mention {
            key: label.to_lowercase(),
            label: label.to_owned(),
            kind: "organization".to_owned(),
            count: 1,
            weight: 1.0,
            defines: false,
            sentences: 1,
        };
        let (acme, vik) = (mention("Acme"), mention("Ada Vik"));
        let text = "Ada Vik | works for | ACME\n- Acme | is-part of | Ada Vik | really\nAcme | owns | Mars\n\
                    Acme | is | Acme\nAcme | costs 5 | Ada Vik\nNONE\n|";
        let id = |name: &str| graph::id(name);
        let expected = [
            (id("ada vik"), "works_for".to_owned(), id("acme")),
            (id("acme"), "is_part_of".to_owned(), id("ada vik")),
        ];
        assert_eq!(read(text, &[&acme, &vik]), expected);
    }
}
