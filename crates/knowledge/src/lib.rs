//! Stoa's knowledge service: accounts, document ingestion, search, the knowledge graph and chat.
//!
//! `http` has the routes; each other module owns one thing: `accounts`, `ingest` (from a file to chunks), `removal`,
//! `listing`, `spaces`, `sources`, `indexes` (chunks in memory), `search`, `embeddings`, `chat`, `connections` (to models),
//! `usage` (of models), `conversations`. `records` is what is kept, SQL is in `tables`. Other services are reached over HTTP only.

mod accounts;
mod chat;
mod connections;
mod conversations;
mod deep_check;
mod embeddings;
mod http;
mod indexes;
mod ingest;
mod jobs;
mod listing;
mod media_type;
mod passwords;
mod quotas;
mod records;
mod relations;
mod removal;
mod search;
mod secrets;
mod sources;
mod spaces;
mod spans;
mod summary;
mod tables;
mod title;
mod usage;

pub use crate::http::openapi;
pub use accounts::{AccountError, Accounts, Administrator, GatewayTokenSettings, NewUser};
pub use chat::{Answer, AnswerPart, Ask, ChatFailure, ShownSource, cited, uncited};
pub use connections::Connections;
pub use connectors::{Environment, Listeners};
pub use deep_check::{CheckError, check, fault, named_objects};
pub use extract::Extractor;
pub use indexes::IndexSettings;
pub use ingest::{IngestError, Spool, Upload};
pub use kit::headers::CookieSecure;
pub use quotas::Quotas;
pub use records::{Document, Status, User};
pub use retrieval::Mode;
pub use search::{Filters, Question, SearchError};
pub use secrets::SecretKeys;
pub use sources::SourceSettings;
pub use tables::objects::ObjectCursor;
pub use usage::Usage;

use base::token::Tokens;
use base::{Clock, Random};
use chat::Chats;
use conversations::Conversations;
use indexes::{Indexes, Snapshots};
use inference::Engine;
use ingest::{DocumentOwner, Ingest, IngestSettings, NewFile};
use kit::health::Health;
use kit::serve::{AxumHandler, Door, Drain};
use llm::{DefaultModel, Providers};
use records::Scope;
use search::Search;
use serde::Serialize;
use sources::Sources;
use spaces::Spaces;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::admins::Admins;
use store::{Blobs, Db};
use utoipa::ToSchema;

/// How often expired documents are looked for.
const EXPIRY_PAUSE: Duration = Duration::from_secs(30);

/// The service's tables.
pub const SCHEMA: store::Schema = store::Schema { scope: tables::SCOPE, migrations: tables::MIGRATIONS };

pub struct KnowledgeSettings {
    pub max_upload_bytes: u64,
    pub chat_requests_per_minute: u32,
    pub chat_model: DefaultModel,
    pub cookie_secure: CookieSecure,
    pub gateway_tokens: GatewayTokenSettings,
    /// Whether users of single sign-on who have no account get one.
    pub sso_creates_users: bool,
    /// Whether users who are not administrators may make spaces.
    pub users_create_spaces: bool,
    pub quotas: Quotas,
    /// Holds large uploads until they are stored, and mapped indexes.
    pub spool_folder: PathBuf,
    /// How long a job stays with a worker that has died.
    pub job_lease: Duration,
    pub index: IndexSettings,
    /// The files of the embedded models, present or not.
    pub models: Vec<ModelFile>,
}

/// A file that an embedded model needs.
pub struct ModelFile {
    /// The model's name.
    pub name: String,
    pub purpose: ModelPurpose,
    pub path: PathBuf,
    /// None if any file will do.
    pub expected_size: Option<u64>,
}

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelPurpose {
    /// It turns passages and questions into vectors.
    Search,
    /// It writes answers.
    Chat,
}

/// What the service shares with the rest of the process.
pub struct Shared {
    pub db: Db,
    pub blobs: Blobs,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub engine: Option<Arc<Engine>>,
    pub providers: Arc<Providers>,
    pub connections: Connections,
    pub usage: Usage,
    pub extractor: Extractor,
    pub sources: SourceSettings,
    pub clock: Clock,
    pub random: Random,
    pub drain: Drain,
}

#[derive(Clone)]
pub struct Knowledge(Arc<Inner>);

pub(crate) struct Inner {
    pub accounts: Accounts,
    pub spaces: Spaces,
    pub sources: Sources,
    pub connections: Connections,
    pub usage: Usage,
    pub ingest: Ingest,
    pub search: Arc<Search>,
    pub chats: Arc<Chats>,
    pub conversations: Arc<Conversations>,
    pub indexes: Arc<Indexes>,
    pub db: Db,
    pub blobs: Blobs,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub engine: Option<Arc<Engine>>,
    pub clock: Clock,
    pub random: Random,
    pub drain: Drain,
    pub settings: KnowledgeSettings,
}

impl Inner {
    /// Removes documents whose time has come, as long as the process runs.
    async fn remove_expired(&self) {
        loop {
            if let Err(error) = removal::remove_expired(&self.db, self.clock.now_ms()).await {
                tracing::warn!(%error, "expired documents cannot be removed");
            }
            tokio::time::sleep(EXPIRY_PAUSE).await;
        }
    }
}

impl Knowledge {
    pub async fn open(shared: Shared, settings: KnowledgeSettings) -> Result<Self, store::StoreError> {
        let Shared { db, blobs, tokens, admins, engine, providers, connections, extractor, .. } = shared;
        let Shared { usage, sources, clock, random, drain, .. } = shared;
        let ingest = Ingest::new(
            db.clone(),
            blobs.clone(),
            clock.clone(),
            random.clone(),
            engine.clone(),
            extractor,
            IngestSettings { quotas: settings.quotas, spool_folder: settings.spool_folder.clone() },
        );
        let sources = Sources::new(db.clone(), clock.clone(), random.clone(), ingest.clone(), sources);
        let accounts = Accounts::open(db.clone(), admins.clone(), clock.clone(), random.clone()).await?;
        connections.load().await?;
        let encoder = engine.as_ref().and_then(|engine| engine.encoder());
        let encoder = encoder.map(|encoder| (encoder.fingerprint().to_owned(), encoder.dimension()));
        let snapshots = Snapshots {
            db: db.clone(),
            blobs: blobs.clone(),
            random: random.clone(),
            folder: settings.spool_folder.clone(),
        };
        let indexes = Arc::new(Indexes::new(snapshots, encoder, settings.index.clone()));
        let search = Arc::new(Search::new(db.clone(), engine.clone(), indexes.clone()));
        let chats = Chats::new(
            db.clone(),
            providers,
            settings.chat_model.clone(),
            search.clone(),
            indexes.clone(),
            blobs.clone(),
            random.clone(),
        );
        let chats = Arc::new(chats);
        let conversations = Conversations::new(
            db.clone(),
            chats.clone(),
            clock.clone(),
            random.clone(),
            settings.job_lease,
            drain.token(),
        );
        Ok(Self(Arc::new(Inner {
            chats,
            conversations: Arc::new(conversations),
            search,
            ingest,
            sources,
            connections,
            usage,
            accounts,
            spaces: Spaces::new(db.clone(), clock.clone(), random.clone(), settings.users_create_spaces),
            indexes,
            db,
            blobs,
            tokens,
            admins,
            engine,
            clock,
            random,
            drain,
            settings,
        })))
    }

    /// Indexes documents, evicts indexes that are not used, and ends answers of dead processes, until the process is asked
    /// to stop. Then waits for the answers that are being written.
    pub async fn work(self) {
        let shutdown = self.0.drain.token();
        let lease = self.0.settings.job_lease;
        let worker = ingest::worker(self.0.ingest.clone(), lease);
        let snapshots = indexes::worker(self.0.indexes.clone(), lease);
        let [runs, removals] = sources::workers(&self.0.sources, lease);
        let relating = relations::worker(self.0.db.clone(), self.0.chats.providers().clone(), lease);
        let watching = self.0.sources.clone();
        let expiry = self.0.clone();
        let documents = async {
            tokio::select! {
                _ = async { tokio::join!(
                    worker.run(shutdown.clone()),
                    snapshots.run(shutdown.clone()),
                    runs.run(shutdown.clone()),
                    relating.run(shutdown.clone()),
                    removals.run(shutdown)
                ) } => {}
                () = watching.watch() => {}
                () = self.0.indexes.evict_idle() => {}
                () = expiry.remove_expired() => {}
            }
        };
        tokio::join!(documents, self.0.conversations.work());
    }

    pub fn handler(&self, health: Health, door: Door) -> AxumHandler {
        http::handler(self.0.clone(), health, door)
    }

    /// Returns how many users have an index in memory, and the bytes of them and of their graphs.
    pub fn indexes_held(&self) -> (u64, u64) {
        self.0.indexes.held()
    }

    pub fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    /// Stores a file for a user and indexes it. Returns the document at the end; none if it was deleted meanwhile.
    pub async fn ingest(
        &self,
        owner: &User,
        upload: Upload,
        title: &str,
    ) -> Result<Option<Document>, IngestError> {
        let metadata = [("title".to_owned(), title.to_owned())].into();
        let file = NewFile { metadata, ..NewFile::new(DocumentOwner::user(owner), upload) };
        let submitted = self.0.ingest.submit(file).await?;
        Ok(self.0.ingest.finished(&owner.id, &submitted.document.id).await?)
    }

    /// Searches as a request does, texts included, and returns how many passages were found.
    pub async fn search(&self, owner: &User, question: Question) -> Result<usize, SearchError> {
        Ok(self.0.search.ask(&Scope::own(&owner.id), question).await?.results.len())
    }

    /// Returns the ids of the documents whose passages answer a question, in the order of the passages.
    pub async fn rank(&self, owner: &User, question: Question) -> Result<Vec<String>, SearchError> {
        let ranked = self.0.search.rank(&Scope::own(&owner.id), question).await?;
        Ok(ranked.hits.into_iter().map(|hit| hit.document).collect())
    }

    /// Answers a question from a user's documents.
    pub async fn chat(&self, owner: &User, ask: Ask) -> Result<Answer, ChatFailure> {
        self.0.chats.answer(&owner.id, ask).await
    }
}
