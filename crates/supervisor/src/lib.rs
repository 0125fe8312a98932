//! Stoa's supervisor: projects, their phases, and the agents that carry them through.
//!
//! `http` is the front door; `runs` is what people ask of a run, `drive` what it does by itself, `halt` how it stops.
//! `workflow` says who works in which phase. SQL is in `tables`. Other services are reached over HTTP only.

mod drive;
mod entry;
mod guests;
mod halt;
mod http;
mod projects;
mod records;
mod runs;
mod tables;
mod words;
mod workflow;

pub use drive::KnowledgeSearch;
pub use guests::GuestLimits;
pub use workflow::{Faults, Workflow};

use base::token::Tokens;
use drive::Stepper;
use kit::guests::Guests;
use kit::health::Health;
use kit::serve::{AxumHandler, Door, Drain};
use llm::{DefaultModel, Providers};
use projects::Projects;
use runs::Runs;
use std::sync::Arc;
use std::time::Duration;
use store::admins::Admins;
use store::{Db, StoreError};

/// The service's interface, as OpenAPI.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// The service's tables.
pub const SCHEMA: store::Schema = store::Schema { scope: tables::SCOPE, migrations: tables::MIGRATIONS };

pub struct SupervisorSettings {
    pub workflow: Workflow,
    /// Who answers for agents where neither the run nor the workflow says it.
    pub default_model: DefaultModel,
    /// Most characters of any project's seed.
    pub seed_characters: usize,
    pub guests: Guests,
    pub guest_limits: GuestLimits,
    /// Lets in whoever has it, from wherever.
    pub token: Option<String>,
    /// How long a run stays with a process that gives no sign of life.
    pub job_lease: Duration,
}

/// What the service shares with the rest of the process.
pub struct Shared {
    pub db: Db,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub providers: Arc<Providers>,
    /// What agents search, where the service is known.
    pub knowledge: Option<KnowledgeSearch>,
    pub drain: Drain,
}

#[derive(Clone)]
pub struct Supervisor(Arc<Inner>);

pub(crate) struct Inner {
    pub db: Db,
    pub workflow: Arc<Workflow>,
    pub projects: Projects,
    pub runs: Runs,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub providers: Arc<Providers>,
    pub knowledge: Option<KnowledgeSearch>,
    pub drain: Drain,
    pub default_model: DefaultModel,
    pub seed_characters: usize,
    pub guests: Guests,
    pub guest_limits: Arc<GuestLimits>,
    pub token: Option<String>,
    pub job_lease: Duration,
}

impl Supervisor {
    pub async fn open(shared: Shared, settings: SupervisorSettings) -> Result<Self, StoreError> {
        let Shared { db, tokens, admins, providers, knowledge, drain } = shared;
        let SupervisorSettings {
            workflow,
            default_model,
            seed_characters,
            guests,
            guest_limits,
            token,
            job_lease,
        } = settings;
        db.migrate(tables::SCOPE, tables::MIGRATIONS).await?;
        let (workflow, guest_limits) = (Arc::new(workflow), Arc::new(guest_limits));
        Ok(Self(Arc::new(Inner {
            projects: Projects::new(db.clone(), workflow.clone(), guest_limits.clone()),
            runs: Runs::new(db.clone(), workflow.clone(), guest_limits.clone()),
            db,
            workflow,
            tokens,
            admins,
            providers,
            knowledge,
            drain,
            default_model,
            seed_characters,
            guests,
            guest_limits,
            token,
            job_lease,
        })))
    }

    /// Carries on runs until the process is asked to stop.
    pub async fn work(self) {
        let Inner { db, workflow, providers, default_model, knowledge, job_lease, drain, .. } = &*self.0;
        let stepper = Stepper::new(db.clone(), providers.clone(), default_model.clone(), knowledge.clone());
        let worker = drive::worker(db.clone(), workflow.clone(), stepper, *job_lease);
        worker.run(drain.token()).await;
    }

    pub fn handler(&self, health: Health, door: Door) -> AxumHandler {
        http::handler(self.0.clone(), health, door)
    }
}
