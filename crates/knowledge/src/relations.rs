//! Asks the model that is chosen for the graph how the things that a document names are connected, after it was indexed.

use crate::jobs::{IngestPayload, RELATE, payload};
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
use store::jobs::{self, Handler, Job, JobError, Worker};
use tokio_util::sync::CancellationToken;

const PROMPT: &str = include_str!("../prompts/relations.md");
/// Passages of a document that a model is asked about: the first ones that name several things.
const MAX_PASSAGES: usize = 500;
const MAX_NAMES: usize = 12;
const MAX_ANSWER_TOKENS: usize = 300;
const MAX_VERB_WORDS: usize = 4;
/// Passages that are read from the database at once.
const PAGE: i64 = 100;

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
            let id = payload::<IngestPayload>(&job)?.document_id;
            let document = tables::documents::get(&self.db, &id).await?;
            let found = match (self.providers.chosen_model(Purpose::Graph), document) {
                (Some(model), Some(document)) => self.relate(&model, &document).await?,
                _ => HashMap::new(),
            };
            let mut tx = self.db.begin().await?;
            // The document may have been deleted meanwhile.
            if tables::documents::get_in(&mut tx, &id).await?.is_some() {
                relations::replace(&mut tx, &id, &found).await?;
            }
            jobs::complete(&mut tx, &job).await?;
            Ok(tx.commit().await?)
        })
    }
}

impl Relating {
    async fn relate(
        &self,
        model: &Model,
        document: &Document,
    ) -> Result<HashMap<relations::Relation, i64>, JobError> {
        let (mut found, mut asked, mut from) = (HashMap::new(), 0, 0);
        let caller = caller(document);
        loop {
            let page = tables::chunks::page::<Chunk>(&self.db, &[&document.id], from, PAGE).await?;
            for row in &page {
                let names = names(&row.chunk);
                if names.len() < 2 || asked == MAX_PASSAGES {
                    continue;
                }
                asked += 1;
                let text = ask(model, caller.clone(), &row.chunk.text, &names).await.map_err(failed)?;
                for relation in read(&text, &names) {
                    *found.entry(relation).or_insert(0) += 1;
                }
            }
            match page.last() {
                Some(last) if asked < MAX_PASSAGES => from = last.chunk.position + 1,
                _ => return Ok(found),
            }
        }
    }
}

/// A model that cannot be reached, or whose budget is used up, is asked again later; what it refuses, it refuses again.
fn failed(error: ChatError) -> JobError {
    match error.cause {
        Cause::Refused { status: 400..=428, .. } | Cause::TooLong { .. } | Cause::Declined(_) => {
            JobError::never(error.to_string())
        }
        _ => JobError::retry(error.to_string()),
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
