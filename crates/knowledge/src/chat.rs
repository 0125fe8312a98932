//! From a question to a grounded answer: search, reader, model, citations.
//!
//! `request` says whether it is a question at all, and `follow_up` what it continues. A large model gets the passages that go
//! best with it, which `context` fits to its window, and answers in its own words (`writer`). Otherwise what the reader finds
//! in the passages is the answer (`reader`), laid out by `answer_style`. What is to be written goes to any model that can
//! write. `citations` removes citations that name no source. What a request looks like is left to `http`.

mod agents;
mod allowance;
mod answer_style;
mod citations;
mod connections;
mod context;
mod follow_up;
mod quoted;
mod reader;
mod readers;
mod request;
mod source;
mod summary;
mod support;
mod writer;

pub use agents::Agent;
pub use citations::{cited, uncited};
pub use context::TooLong;
pub use source::{NumberedSource, ShownSource, Source, SourceBody};

use crate::indexes::{IndexError, Indexes};
use crate::records::Scope;
use crate::search::{Filters, Question, Search, SearchError};
use allowance::Allowance;
use base::Random;
use citations::Citations;
use futures_util::stream::{self, BoxStream, StreamExt};
use llm::{ChatError, DefaultModel, Model, Piece, Providers, Purpose, Skill, UnknownProvider, Usage};
use quoted::Quoted;
use readers::Readers;
use reading::Request;
use retrieval::Mode;
use std::sync::Arc;
use store::{BlobError, Blobs, Db, StoreError};
use support::Support;
use writer::Order;

pub const DEFAULT_TEMPERATURE: f32 = 0.2;
pub const DEFAULT_SOURCES: usize = 5;

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
    /// What it counts as in the usage.
    pub purpose: Purpose,
    pub agent: Agent,
    /// The sources to answer from; none: a search finds them.
    pub sources: Option<Vec<Source>>,
    /// The spaces to search; empty: all of the caller's, and the caller's own documents.
    pub space_ids: Vec<String>,
    /// The documents to search, all of them in these spaces; empty: all that are.
    pub document_ids: Vec<String>,
    /// Who owns the files that were put into the conversation. Unless spaces or documents are named, only they are searched.
    pub files_owner: Option<String>,
    /// Whether the model alone answers.
    pub without_documents: bool,
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
            purpose: Purpose::Chat,
            agent: Agent::default(),
            sources: None,
            space_ids: Vec::new(),
            document_ids: Vec::new(),
            files_owner: None,
            without_documents: false,
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
    Files(#[from] BlobError),
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
    /// What the user should know about what was not read for it, a sentence each.
    pub notices: Vec<String>,
    pub provider: String,
    pub model: String,
    pub parts: AnswerStream,
}

impl Answer {
    fn new(model: &Model, sources: Vec<Source>, allowance: Allowance, parts: AnswerStream) -> Self {
        let notices = allowance.into_notices();
        let (provider, model) = (model.provider().to_owned(), model.model().to_owned());
        Self { sources, notices, provider, model, parts }
    }
}

pub struct Chats {
    db: Db,
    providers: Arc<Providers>,
    /// Names what answers if a request names no model, or a vendor that has no key, and no administrator has chosen another.
    default: DefaultModel,
    search: Arc<Search>,
    indexes: Arc<Indexes>,
    blobs: Blobs,
    random: Random,
    readers: Readers,
}

impl Chats {
    pub fn new(
        db: Db,
        providers: Arc<Providers>,
        default: DefaultModel,
        search: Arc<Search>,
        indexes: Arc<Indexes>,
        blobs: Blobs,
        random: Random,
    ) -> Self {
        Self { db, providers, default, search, indexes, blobs, random, readers: Readers::default() }
    }

    pub fn providers(&self) -> &Arc<Providers> {
        &self.providers
    }

    pub fn default_model(&self) -> Model {
        self.providers.default_model(&self.providers.chosen(Purpose::Chat, &self.default))
    }

    /// Fails if the question names a provider that does not exist.
    pub fn check_model(&self, ask: &Ask) -> Result<(), UnknownProvider> {
        self.model(ask.choice.as_ref()).map(drop)
    }

    pub async fn answer(&self, user_id: &str, mut ask: Ask) -> Result<Answer, ChatFailure> {
        let model = self.model(ask.choice.as_ref())?;
        // A caller who sends a prompt wants the model's own words.
        let skill = if ask.system_prompt.is_some() { Skill::Answers } else { model.skill() };
        let mut allowance = Allowance::new(user_id);
        let given = ask.sources.take();
        let files = self.files(&mut ask, &model, &mut allowance).await?;
        if ask.without_documents {
            return self.talk(&model, skill, user_id, &ask, files.pictures, allowance).await;
        }
        let scope = match &ask.files_owner {
            Some(owner_id) if files.are_meant => Scope::files(user_id, owner_id),
            // Documents that are named may be some of the files.
            Some(owner_id) if !ask.document_ids.is_empty() => {
                self.search.scope(user_id, &ask.space_ids).await?.and_files(owner_id)
            }
            _ => self.search.scope(user_id, &ask.space_ids).await?,
        };
        let request = match Request::of(&ask.query) {
            _ if ask.system_prompt.is_some() => Request::Question,
            Request::Writing => Request::Writing,
            _ if given.is_some() => Request::Question,
            request => request,
        };
        let writes = skill >= writer::needed(request) || !files.pictures.is_empty();
        let _turn = if writes { None } else { Some(self.readers.turn(user_id).await) };
        let reply = self.reply(&scope, &ask, request).await?;
        if reply.is_none() && given.is_none() {
            allowance.count_unread(&self.db, &scope, &ask.document_ids).await?;
        }
        let quoted = match reply {
            Some(reply) => reply,
            None if writes => {
                let number = given.as_ref().map_or(0, Vec::len);
                let sources = match given {
                    Some(given) => given,
                    None => self.find_for_writer(&model, &scope, &ask, request, &mut allowance).await?,
                };
                if !sources.is_empty() || request == Request::Writing || !files.pictures.is_empty() {
                    let connections = self.connections(&scope, &ask, &sources).await?;
                    let order = Order { request, connections, pictures: files.pictures };
                    let (sources, parts) = self.write(&model, user_id, &ask, sources, order).await?;
                    allowance.note_sources(sources.len(), number);
                    return Ok(Answer::new(&model, sources, allowance, parts));
                }
                Quoted::nothing_found(allowance.unread)
            }
            None => self.quote(&scope, ask, request, given, &mut allowance).await?,
        };
        Ok(Answer::new(&model, quoted.sources, allowance, fixed_answer(quoted.text)))
    }

    /// Returns how the names in the question are connected, for the agent that shows it.
    async fn connections(
        &self,
        scope: &Scope,
        ask: &Ask,
        sources: &[Source],
    ) -> Result<Vec<String>, ChatFailure> {
        if ask.agent != Agent::GraphAnalyst {
            return Ok(Vec::new());
        }
        let (graph, query) = (self.indexes.graph(scope).await?.graph, ask.query.clone());
        let (named, documents) = (sources.to_vec(), ask.document_ids.clone());
        let following = move || connections::among(&graph, &query, &named, &documents);
        Ok(tokio::task::spawn_blocking(following).await.map_err(|_| StoreError::Stopping)?)
    }

    fn model(&self, choice: Option<&ModelChoice>) -> Result<Model, UnknownProvider> {
        let named = match choice {
            None => None,
            Some(choice) => self.providers.find(&choice.provider, choice.model.as_deref())?,
        };
        Ok(named.unwrap_or_else(|| self.default_model()))
    }

    async fn find(
        &self,
        scope: &Scope,
        question: &str,
        ask: &Ask,
        limit: usize,
    ) -> Result<Vec<Source>, SearchError> {
        let filters = Filters { document_ids: ask.document_ids.clone(), ..Filters::default() };
        let question =
            Question { text: question.to_owned(), mode: Mode::Graph, limit, filters, rerank: false };
        let found = self.search.ask(scope, question).await?.results;
        Ok(found.into_iter().map(Source::found).collect())
    }
}

/// Answers without a model.
fn fixed_answer(text: impl Into<String>) -> AnswerStream {
    stream::iter([Ok(AnswerPart::Text(text.into())), Ok(AnswerPart::End(Usage::default()))]).boxed()
}

/// Turns the model's reply into an answer with valid citations, and with marks where no source bears it out.
fn format_reply(reply: llm::Reply, filters: (Citations, Support)) -> AnswerStream {
    let steps = stream::unfold(Some((reply, filters)), |state| async {
        let (mut reply, (mut citations, mut support)) = state?;
        Some(match reply.next().await? {
            Err(error) => (vec![Err(error)], None),
            Ok(Piece::Text(text)) => {
                let text = support.push(&citations.push(&text));
                (vec![Ok(AnswerPart::Text(text))], Some((reply, (citations, support))))
            }
            // The model was given no tools.
            Ok(Piece::Call(_)) => (Vec::new(), Some((reply, (citations, support)))),
            Ok(Piece::End(usage)) => {
                let rest = support.push(&citations.finish()) + &support.finish();
                (vec![Ok(AnswerPart::Text(rest)), Ok(AnswerPart::End(usage))], None)
            }
        })
    });
    let is_empty =
        |item: &Result<AnswerPart, ChatError>| matches!(item, Ok(AnswerPart::Text(text)) if text.is_empty());
    steps.flat_map(stream::iter).filter(move |item| std::future::ready(!is_empty(item))).boxed()
}
