//! From a question to a grounded answer: search, context, model, citations.
//!
//! A model that can write gets whole sources, which `context` fits to its window, and answers in its own words. A model
//! that is too small for that (a reader) only adds to quotations: `evidence` finds the sentences that have to do with the
//! question, `answer_style` lays them out as the agent would, and `grounding` keeps what the model adds if they support it.
//! `citations` removes citations that name no source. What a request looks like is left to `http`.

mod agents;
mod answer_style;
mod citations;
mod connections;
mod context;
mod evidence;
mod grounding;
mod sentence;
mod source;
mod units;

pub use agents::Agent;
pub use citations::{cited, uncited};
pub use context::TooLong;
pub use source::{NumberedSource, ShownSource, Source, SourceBody};

use crate::indexes::{IndexError, Indexes};
use crate::search::{Filters, Question, Search, SearchError};
use answer_style::AnswerStyle;
use base::Random;
use citations::Citations;
use context::PromptParts;
use futures_util::stream::{self, BoxStream, StreamExt};
use grounding::Grounding;
use llm::{ChatError, DefaultModel, Model, Piece, Providers, UnknownProvider, Usage};
use retrieval::Mode;
use sentence::Sentence;
use std::sync::Arc;
use store::StoreError;
use tokio::sync::Semaphore;

pub const DEFAULT_TEMPERATURE: f32 = 0.2;
pub const DEFAULT_SOURCES: usize = 5;

/// Tokens of an answer if the request does not limit them. A reader only adds a sentence.
const READER_ANSWER: usize = 48;
const WRITER_ANSWER: usize = 1024;
/// A reader chooses its sources, by their sentences, from so many times as many passages.
const READER_POOL: usize = 3;
/// The lowest search score of a passage that has to do with the question. If a user has few passages, all scores are low:
/// then a sentence with this share of the question's words is enough.
const RELEVANT_SCORE: f64 = 0.15;
const RELEVANT_SHARE: f32 = 0.4;

const NOTHING_FOUND: &str =
    "I found nothing about this in the documents. Try other words, or add a document that covers it.";
/// Goes before what a reader adds in its own words.
const IN_SHORT: &str = "\n\nIn short: ";

/// The model that is to answer.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    pub provider: String,
    pub model: Option<String>,
    pub max_tokens: Option<usize>,
}

/// A question, with all that the request says about how to answer it.
#[derive(Clone, Debug)]
pub struct Ask {
    pub query: String,
    pub agent: Agent,
    /// The sources to answer from; none: a search finds them.
    pub sources: Option<Vec<Source>>,
    /// The documents to search, all of them the caller's; empty: all of the caller's.
    pub document_ids: Vec<String>,
    pub choice: Option<ModelChoice>,
    /// In place of the agent's prompt.
    pub system_prompt: Option<String>,
    pub temperature: f32,
    pub history: String,
    pub goals: String,
    pub top_k: usize,
    /// Texts at which the model stops. Quotations of sources are not cut.
    pub stop: Vec<String>,
    /// Random if absent.
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

/// A piece of an answer, as it is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerPart {
    Text(String),
    /// The last part.
    End(Usage),
}

pub type AnswerStream = BoxStream<'static, Result<AnswerPart, ChatError>>;

/// An answer that is being written. Dropping it stops the model.
pub struct Answer {
    pub sources: Vec<Source>,
    pub provider: &'static str,
    pub model: String,
    pub parts: AnswerStream,
}

pub struct Chats {
    providers: Arc<Providers>,
    /// Answers if a request names no model, or a vendor that has no key.
    default: Model,
    search: Arc<Search>,
    indexes: Arc<Indexes>,
    random: Random,
    /// Limits how many questions have their sentences scored at the same time: more would slow down searches.
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

    /// Fails if the question names a provider that does not exist.
    pub fn check_model(&self, ask: &Ask) -> Result<(), UnknownProvider> {
        self.model(ask.choice.as_ref()).map(drop)
    }

    pub async fn answer(&self, user_id: &str, mut ask: Ask) -> Result<Answer, ChatFailure> {
        let model = self.model(ask.choice.as_ref())?;
        // A caller who sends a prompt wants the model's own words.
        let writes = model.can_write() || ask.system_prompt.is_some();
        let _permit = if writes { None } else { self.readers.acquire().await.ok() };
        let (sources, searched) = match ask.sources.take() {
            Some(given) => (given, None),
            None if writes => (self.find_relevant(user_id, &ask).await?, Some(ask.top_k)),
            None => (self.find(user_id, &ask, ask.top_k * READER_POOL).await?, Some(ask.top_k)),
        };
        let (sources, parts) = if sources.is_empty() {
            (sources, fixed_answer(NOTHING_FOUND))
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
        Ok(Answer { sources, provider: model.provider(), model: model.model().to_owned(), parts })
    }

    /// Lets a model answer without sources.
    pub fn converse(&self, model: &Model, chat: llm::Chat) -> AnswerStream {
        let pieces = model.chat(chat).map(|piece| {
            piece.map(|piece| match piece {
                Piece::Text(text) => AnswerPart::Text(text),
                Piece::End(usage) => AnswerPart::End(usage),
            })
        });
        pieces.boxed()
    }

    fn model(&self, choice: Option<&ModelChoice>) -> Result<Model, UnknownProvider> {
        let named = match choice {
            None => None,
            Some(choice) => self.providers.find(&choice.provider, choice.model.as_deref())?,
        };
        Ok(named.unwrap_or_else(|| self.default.clone()))
    }

    async fn find(&self, user_id: &str, ask: &Ask, limit: usize) -> Result<Vec<Source>, SearchError> {
        let filters = Filters { document_ids: ask.document_ids.clone(), ..Filters::default() };
        let question = Question { text: ask.query.clone(), mode: Mode::Graph, limit, filters };
        let found = self.search.ask(user_id, question).await?.results;
        Ok(found.into_iter().map(Source::found).collect())
    }

    /// Returns no sources if none has to do with the question: a model would invent an answer from them.
    async fn find_relevant(&self, user_id: &str, ask: &Ask) -> Result<Vec<Source>, ChatFailure> {
        let sources = self.find(user_id, ask, ask.top_k).await?;
        if sources.iter().any(|source| source.score >= RELEVANT_SCORE) {
            return Ok(sources);
        }
        let question = ask.query.clone();
        let looking = tokio::task::spawn_blocking(move || {
            (evidence::largest_share(&question, &sources) >= RELEVANT_SHARE).then_some(sources)
        });
        Ok(looking.await.map_err(|_| StoreError::Stopping)?.unwrap_or_default())
    }

    /// Lets the model answer from whole sources.
    fn write(
        &self,
        model: &Model,
        ask: &Ask,
        sources: Vec<Source>,
        connections: &[String],
    ) -> Result<(Vec<Source>, AnswerStream), TooLong> {
        let answer = answer_tokens(model, ask, WRITER_ANSWER);
        let context = context::build(model, &prompt_parts(ask, connections, answer), sources, None)?;
        let reply = model.chat(self.chat(ask, context.messages, answer));
        let parts = format_reply(reply, None, Citations::new(context.sources.len()));
        Ok((context.sources, parts))
    }

    /// Answers with sentences of the sources. The model adds what they support.
    async fn read(
        &self,
        model: &Model,
        ask: &Ask,
        sources: Vec<Source>,
        searched: Option<usize>,
        connections: &[String],
    ) -> Result<(Vec<Source>, AnswerStream), ChatFailure> {
        let style = AnswerStyle::of(ask.agent);
        let evidence = self.evidence(&ask.query, &sources, style).await?;
        // Sources that the caller gives are used whatever the question is.
        if searched.is_some() && !evidence::bears_on_question(&evidence) {
            return Ok((Vec::new(), fixed_answer(NOTHING_FOUND)));
        }
        let (sources, evidence) = evidence::best_sources(sources, evidence, searched.unwrap_or(usize::MAX));
        let chosen = style.choose(&evidence);
        let quoted = style.lay_out(&sources, &chosen, connections);
        let Some(best) = evidence::outstanding(&chosen) else { return Ok((sources, fixed_answer(quoted))) };
        let grounding = Grounding::new(&ask.query, &sources, best, IN_SHORT);
        let answer = answer_tokens(model, ask, READER_ANSWER);
        let context =
            context::build(model, &prompt_parts(ask, connections, answer), sources.clone(), Some(best))?;
        let reply = model.chat(self.chat(ask, context.messages, answer));
        let added = format_reply(reply, Some(grounding), Citations::new(sources.len())).map(end_on_error);
        let first = stream::iter([Ok(AnswerPart::Text(quoted))]);
        Ok((sources, first.chain(added).boxed()))
    }

    /// Finds the sentences of the sources and scores them by words and by meaning.
    async fn evidence(
        &self,
        query: &str,
        sources: &[Source],
        style: AnswerStyle,
    ) -> Result<Vec<Sentence>, ChatFailure> {
        let (question, texts) = (query.to_owned(), sources.to_vec());
        // Sources that the caller gives may be long.
        let reading = tokio::task::spawn_blocking(move || evidence::promising(&question, &texts, &style));
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

fn prompt_parts<'a>(ask: &'a Ask, connections: &'a [String], answer: usize) -> PromptParts<'a> {
    PromptParts {
        task: ask.system_prompt.as_deref().unwrap_or(ask.agent.prompt()),
        question: &ask.query,
        connections,
        goals: &ask.goals,
        history: &ask.history,
        answer,
    }
}

/// Answers without a model.
fn fixed_answer(text: impl Into<String>) -> AnswerStream {
    stream::iter([Ok(AnswerPart::Text(text.into())), Ok(AnswerPart::End(Usage::default()))]).boxed()
}

/// Ends the answer if the model fails: the quoted sentences are an answer by themselves.
fn end_on_error(part: Result<AnswerPart, ChatError>) -> Result<AnswerPart, ChatError> {
    part.or_else(|error| {
        tracing::debug!(%error, "nothing is added to the sources");
        Ok(AnswerPart::End(Usage::default()))
    })
}

/// Turns the model's reply into an answer: only supported sentences, if there is a `grounding`, and valid citations.
fn format_reply(reply: llm::Reply, grounding: Option<Grounding>, citations: Citations) -> AnswerStream {
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
                (vec![Ok(AnswerPart::Text(citations.push(&text)))], Some((reply, grounding, citations)))
            }
            Ok(Piece::End(mut usage)) => {
                let rest = match grounding {
                    Some(grounding) => {
                        let rest = grounding.finish(usage.cut_off);
                        // Only whole sentences are kept, so the answer is not cut off.
                        usage.cut_off = false;
                        rest
                    }
                    None => String::new(),
                };
                let text = citations.push(&rest) + &citations.finish();
                (vec![Ok(AnswerPart::Text(text)), Ok(AnswerPart::End(usage))], None)
            }
        })
    });
    let is_empty =
        |item: &Result<AnswerPart, ChatError>| matches!(item, Ok(AnswerPart::Text(text)) if text.is_empty());
    steps.flat_map(stream::iter).filter(move |item| std::future::ready(!is_empty(item))).boxed()
}
