//! Stoa's supervisor: projects, and the agents that work through their phases.
//!
//! `http` is the interface; `runs` is what callers may do with runs, `executor` executes them, `transitions` is how they
//! stop. `workflow` has the phases and their agents. SQL is in `tables`. Other services are reached over HTTP only.

mod access;
mod deep_check;
mod events;
mod executor;
mod guests;
mod http;
mod knowledge;
mod live_text;
mod project_tx;
mod projects;
mod records;
mod run_job;
mod runs;
mod status;
mod tables;
mod transitions;
mod workflow;

pub use crate::http::openapi;
pub use deep_check::check;
pub use guests::GuestLimits;
pub use knowledge::KnowledgeClient;
pub use workflow::{Faults, Workflow};

use base::token::Tokens;
use executor::StepRunner;
use kit::guests::Guests;
use kit::health::Health;
use kit::serve::{AxumHandler, Door, Drain};
use live_text::LiveTexts;
use llm::{DefaultModel, Providers};
use projects::Projects;
use runs::Runs;
use std::sync::Arc;
use std::time::Duration;
use store::admins::Admins;
use store::{Db, StoreError};

/// The service's tables.
pub const SCHEMA: store::Schema = store::Schema { scope: tables::SCOPE, migrations: tables::MIGRATIONS };

pub struct SupervisorSettings {
    pub workflow: Arc<Workflow>,
    /// The model of agents for which neither the run nor the workflow names one.
    pub default_model: DefaultModel,
    /// Characters that a project's seed may have.
    pub seed_characters: usize,
    pub guests: Guests,
    pub guest_limits: Arc<GuestLimits>,
    /// A bearer token with which callers are accepted from any address.
    pub token: Option<String>,
    /// How long a run stays with a process that has stopped responding.
    pub job_lease: Duration,
}

/// What the service shares with the other services of the process.
pub struct Shared {
    pub db: Db,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub providers: Arc<Providers>,
    /// The knowledge service, if its address is known.
    pub knowledge: Option<KnowledgeClient>,
    pub drain: Drain,
}

#[derive(Clone)]
pub struct Supervisor(Arc<Inner>);

pub(crate) struct Inner {
    pub db: Db,
    pub projects: Projects,
    pub runs: Runs,
    pub tokens: Arc<Tokens>,
    pub admins: Admins,
    pub providers: Arc<Providers>,
    pub knowledge: Option<KnowledgeClient>,
    pub texts: LiveTexts,
    pub drain: Drain,
    pub settings: SupervisorSettings,
}

impl Supervisor {
    pub async fn open(shared: Shared, settings: SupervisorSettings) -> Result<Self, StoreError> {
        let Shared { db, tokens, admins, providers, knowledge, drain } = shared;
        db.migrate(tables::SCOPE, tables::MIGRATIONS).await?;
        let SupervisorSettings { workflow, guest_limits, .. } = &settings;
        let projects = Projects::new(db.clone(), workflow.clone(), guest_limits.clone());
        let runs = Runs::new(db.clone(), workflow.clone(), guest_limits.clone());
        let texts = LiveTexts::default();
        let inner =
            Inner { db, projects, runs, tokens, admins, providers, knowledge, texts, drain, settings };
        Ok(Self(Arc::new(inner)))
    }

    /// Executes runs until the process is asked to stop.
    pub async fn work(self) {
        let Inner { db, providers, knowledge, texts, drain, settings, .. } = &*self.0;
        let SupervisorSettings { workflow, default_model, job_lease, .. } = settings;
        let (providers, knowledge) = (providers.clone(), knowledge.clone());
        let step_runner =
            StepRunner::new(db.clone(), providers, default_model.clone(), knowledge, texts.clone());
        let worker = executor::worker(db.clone(), workflow.clone(), step_runner, *job_lease);
        worker.run(drain.token()).await;
    }

    pub fn handler(&self, health: Health, door: Door) -> AxumHandler {
        http::handler(self.0.clone(), health, door)
    }
}
