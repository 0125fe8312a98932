//! A question to a grounded answer: search, context, model, citations.
//!
//! A model that can write gets the sources whole, as `context` fits them to its window, and answers in its own words.
//! One that cannot is only a reader: `evidence` finds the sentences that bear on the question, `lens` lays them out as
//! the agent would, and `grounding` lets pass what the model adds that they bear out. `citations` removes what names
//! no source. What a request looks like is left to `http`.

mod agents;
mod citations;
mod connections;
mod context;
mod evidence;
mod grounding;
mod lens;
mod source;
mod units;

pub use agents::Agent;
pub use citations::cited;
pub use context::TooLong;
pub use source::Source;

use crate::indexes::{IndexError, Indexes};
use crate::search::{Filters, Question, Search, SearchError};
use base::Random;
use citations::Citations;
use context::Parts;
use evidence::Sentence;
use futures_util::stream::{self, BoxStream, StreamExt};
use grounding::Grounding;
use lens::Lens;
use llm::{ChatError, DefaultModel, Model, Piece, Providers, UnknownProvider, Usage};
use retrieval::Mode;
use std::sync::Arc;
use store::StoreError;
use tokio::sync::Semaphore;

pub const DEFAULT_TEMPERATURE: f32 = 0.2;
pub const DEFAULT_SOURCES: usize = 5;

/// Tokens of an answer where the request sets none: a reader only adds a sentence.
const READER_ANSWER: usize = 48;
const WRITER_ANSWER: usize = 1024;
/// A reader chooses its sources from so many times more passages, by their sentences.
const READER_POOL: usize = 3;
/// The score of a search from which on a passage has to do with the question. Where a user has few passages, all scores
/// are low, and a sentence that has this share of the question's words does as well.
const RELEVANT_SCORE: f32 = 0.15;
const RELEVANT_SHARE: f32 = 0.4;

const NOTHING_FOUND: &str =
    "I found nothing about this in the documents. Try other words, or add a document that covers it.";
/// Stands before what a reader says in its own words.
const IN_SHORT: &str = "\n\nIn short: ";

/// Which model is to answer.
#[derive(Clone, Debug)]
pub struct Choice {
    pub provider: String,
    pub model: Option<String>,
    pub max_tokens: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Ask {
    pub query: String,
    pub agent: Agent,
    /// Those of the caller; none: a search finds them.
    pub sources: Option<Vec<Source>>,
    /// Those that are searched, all of them the caller's; empty: all.
    pub document_ids: Vec<String>,
    pub choice: Option<Choice>,
    /// In place of the agent's prompt.
    pub system_prompt: Option<String>,
    pub temperature: f32,
    pub history: String,
    pub goals: String,
    pub top_k: usize,
    /// Where the model ends its own words; what is quoted of the sources stays whole.
    pub stop: Vec<String>,
    /// None: another one each time.
    pub seed: Option<u64>,
}

impl Ask {
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            agent: Agent::default(),
            sources: None,
            document_ids: Vec::new(),
            choice: None,
            system_prompt: None,
            temperature: DEFAULT_TEMPERATURE,
            history: String::new(),
            goals: String::new(),
            top_k: DEFAULT_SOURCES,
            stop: Vec::new(),
            seed: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ChatFailure {
    #[error(transparent)]
    UnknownProvider(#[from] UnknownProvider),
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Model(#[from] ChatError),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Spoken {
    Text(String),
    /// The last one.
    End(Usage),
}

pub type Speech = BoxStream<'static, Result<Spoken, ChatError>>;

/// An answer in the making. Dropping it ends the work on it.
pub struct Answer {
    pub sources: Vec<Source>,
    pub provider: &'static str,
    pub model: String,
    pub spoken: Speech,
}

pub struct Chats {
    providers: Arc<Providers>,
    /// Answers where a request names no model, or a vendor without its secret.
    default: Model,
    search: Arc<Search>,
    indexes: Arc<Indexes>,
    random: Random,
    /// Questions whose sentences are weighed at the same time: more would only hold up searches.
    readers: Semaphore,
}

impl Chats {
    pub fn new(
        providers: Arc<Providers>,
        default: &DefaultModel,
        search: Arc<Search>,
        indexes: Arc<Indexes>,
        random: Random,
    ) -> Self {
        let default = providers.default_model(default);
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get());
        Self { providers, default, search, indexes, random, readers: Semaphore::new((cores / 2).max(1)) }
    }

    pub fn providers(&self) -> &Providers {
        &self.providers
    }

    pub fn default_model(&self) -> &Model {
        &self.default
    }

    pub async fn answer(&self, user_id: &str, mut ask: Ask) -> Result<Answer, ChatFailure> {
        let model = self.model(ask.choice.as_ref())?;
        // Whoever gives a prompt of their own wants the model's own words.
        let writes = model.can_write() || ask.system_prompt.is_some();
        let _turn = if writes { None } else { self.readers.acquire().await.ok() };
        let (sources, searched) = match ask.sources.take() {
            Some(given) => (given, None),
            None if writes => (self.find_relevant(user_id, &ask).await?, Some(ask.top_k)),
            None => (self.find(user_id, &ask, ask.top_k * READER_POOL).await?, Some(ask.top_k)),
        };
        let (sources, spoken) = if sources.is_empty() {
            (sources, said(NOTHING_FOUND.to_owned()))
        } else {
            let connections = match ask.agent {
                Agent::GraphAnalyst => {
                    let (graph, query) = (self.indexes.graph(user_id).await?.graph, ask.query.clone());
                    let (named, documents) = (sources.clone(), ask.document_ids.clone());
                    let following = move || connections::among(&graph, &query, &named, &documents);
                    tokio::task::spawn_blocking(following).await.map_err(|_| StoreError::Stopping)?
                }
                _ => Vec::new(),
            };
            match writes {
                true => self.write(&model, &ask, sources, &connections)?,
                false => self.read(&model, &ask, sources, searched, &connections).await?,
            }
        };
        Ok(Answer { sources, provider: model.provider(), model: model.model().to_owned(), spoken })
    }

    /// A model without sources: what it knows by itself.
    pub fn converse(&self, model: &Model, chat: llm::Chat) -> Speech {
        let pieces = model.chat(chat).map(|piece| {
            piece.map(|piece| match piece {
                Piece::Text(text) => Spoken::Text(text),
                Piece::End(usage) => Spoken::End(usage),
            })
        });
        pieces.boxed()
    }

    fn model(&self, choice: Option<&Choice>) -> Result<Model, UnknownProvider> {
        let named = match choice {
            None => None,
            Some(choice) => self.providers.find(&choice.provider, choice.model.as_deref())?,
        };
        Ok(named.unwrap_or_else(|| self.default.clone()))
    }

    async fn find(&self, user_id: &str, ask: &Ask, limit: usize) -> Result<Vec<Source>, SearchError> {
        let filters = Filters { document_ids: ask.document_ids.clone(), ..Filters::default() };
        let question = Question { text: ask.query.clone(), mode: Mode::Graph, limit, filters };
        let found = self.search.ask(user_id, question).await?.found;
        Ok(found.iter().map(Source::found).collect())
    }

    /// None where they have nothing to do with the question: a model would make something of them.
    async fn find_relevant(&self, user_id: &str, ask: &Ask) -> Result<Vec<Source>, ChatFailure> {
        let sources = self.find(user_id, ask, ask.top_k).await?;
        if sources.iter().any(|source| source.score() >= RELEVANT_SCORE) {
            return Ok(sources);
        }
        let question = ask.query.clone();
        let looking = tokio::task::spawn_blocking(move || {
            (evidence::largest_share(&question, &sources) >= RELEVANT_SHARE).then_some(sources)
        });
        Ok(looking.await.map_err(|_| StoreError::Stopping)?.unwrap_or_default())
    }

    /// The model answers from whole sources.
    fn write(
        &self,
        model: &Model,
        ask: &Ask,
        sources: Vec<Source>,
        connections: &[String],
    ) -> Result<(Vec<Source>, Speech), TooLong> {
        let answer = answer_tokens(model, ask, WRITER_ANSWER);
        let context = context::build(model, &parts(ask, connections, answer), sources, None)?;
        let reply = model.chat(self.chat(ask, context.messages, answer));
        let spoken = formatted(reply, None, Citations::new(context.sources.len()));
        Ok((context.sources, spoken))
    }

    /// The sources' own sentences answer, and the model adds to them what they bear out.
    async fn read(
        &self,
        model: &Model,
        ask: &Ask,
        sources: Vec<Source>,
        searched: Option<usize>,
        connections: &[String],
    ) -> Result<(Vec<Source>, Speech), ChatFailure> {
        let lens = Lens::of(ask.agent);
        let evidence = self.evidence(&ask.query, &sources, lens).await?;
        // What the caller gives is to be answered from, whatever the question.
        if searched.is_some() && !evidence::bears_on_question(&evidence) {
            return Ok((Vec::new(), said(NOTHING_FOUND.to_owned())));
        }
        let (sources, evidence) = evidence::best_sources(sources, evidence, searched.unwrap_or(usize::MAX));
        let chosen = lens.choose(&evidence);
        let quoted = lens.lay_out(&sources, &chosen, connections);
        let Some(best) = evidence::outstanding(&chosen) else { return Ok((sources, said(quoted))) };
        let grounding = Grounding::new(&ask.query, &sources, best, IN_SHORT);
        let answer = answer_tokens(model, ask, READER_ANSWER);
        let context = context::build(model, &parts(ask, connections, answer), sources.clone(), Some(best))?;
        let reply = model.chat(self.chat(ask, context.messages, answer));
        let added = formatted(reply, Some(grounding), Citations::new(sources.len())).map(or_silence);
        let first = stream::iter([Ok(Spoken::Text(quoted))]);
        Ok((sources, first.chain(added).boxed()))
    }

    /// The sentences of the sources, weighed by words and by meaning.
    async fn evidence(
        &self,
        query: &str,
        sources: &[Source],
        lens: Lens,
    ) -> Result<Vec<Sentence>, ChatFailure> {
        let (question, texts) = (query.to_owned(), sources.to_vec());
        // Sources that the caller gives may be long.
        let reading = tokio::task::spawn_blocking(move || evidence::promising(&question, &texts, &lens));
        let mut evidence = reading.await.map_err(|_| StoreError::Stopping)?;
        let mut texts = evidence::embedded(sources, &evidence);
        texts.push(query.to_owned());
        match self.search.embed_all(texts).await? {
            Some(mut vectors) => {
                let question = vectors.pop().unwrap_or_default();
                evidence::weigh(&mut evidence, &question, &vectors);
            }
            None => evidence::weigh_by_words(&mut evidence),
        }
        Ok(evidence)
    }

    fn chat(&self, ask: &Ask, messages: Vec<llm::Message>, max_tokens: usize) -> llm::Chat {
        llm::Chat {
            messages,
            max_tokens,
            temperature: ask.temperature,
            stop: ask.stop.clone(),
            seed: ask.seed.unwrap_or_else(|| u64::from_le_bytes(self.random.bytes())),
            urgent: true,
            tries: llm::USUAL_TRIES,
        }
    }
}

fn answer_tokens(model: &Model, ask: &Ask, default: usize) -> usize {
    let asked = ask.choice.as_ref().and_then(|choice| choice.max_tokens);
    asked.unwrap_or(default).min(model.window() / 2)
}

fn parts<'a>(ask: &'a Ask, connections: &'a [String], answer: usize) -> Parts<'a> {
    Parts {
        task: ask.system_prompt.as_deref().unwrap_or(ask.agent.prompt()),
        question: &ask.query,
        connections,
        goals: &ask.goals,
        history: &ask.history,
        answer,
    }
}

/// Without a model.
fn said(text: String) -> Speech {
    stream::iter([Ok(Spoken::Text(text)), Ok(Spoken::End(Usage::default()))]).boxed()
}

/// Where the sources' sentences answer, a model that fails is not missed.
fn or_silence(spoken: Result<Spoken, ChatError>) -> Result<Spoken, ChatError> {
    spoken.or_else(|error| {
        tracing::debug!(%error, "nothing is added to the sources");
        Ok(Spoken::End(Usage::default()))
    })
}

/// What the model says, as it is shown.
fn formatted(reply: llm::Reply, grounding: Option<Grounding>, citations: Citations) -> Speech {
    let start = Some((reply, grounding, citations));
    let steps = stream::unfold(start, |state| async {
        let (mut reply, mut grounding, mut citations) = state?;
        Some(match reply.next().await? {
            Err(error) => (vec![Err(error)], None),
            Ok(Piece::Text(text)) => {
                let text = match &mut grounding {
                    Some(grounding) => grounding.push(&text),
                    None => text,
                };
                (vec![Ok(Spoken::Text(citations.push(&text)))], Some((reply, grounding, citations)))
            }
            Ok(Piece::End(mut usage)) => {
                let rest = match grounding {
                    Some(grounding) => {
                        let rest = grounding.finish(usage.cut_off);
                        // Only whole sentences pass, so what is shown is not cut off.
                        usage.cut_off = false;
                        rest
                    }
                    None => String::new(),
                };
                let text = citations.push(&rest) + &citations.finish();
                (vec![Ok(Spoken::Text(text)), Ok(Spoken::End(usage))], None)
            }
        })
    });
    let is_silence =
        |item: &Result<Spoken, ChatError>| matches!(item, Ok(Spoken::Text(text)) if text.is_empty());
    steps.flat_map(stream::iter).filter(move |item| std::future::ready(!is_silence(item))).boxed()
}
