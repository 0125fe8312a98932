//! What the service keeps of a project. Runs, artifacts and log lines are shown to clients as they are kept, without the
//! fields that are skipped here; how the others are shown is in `http`.

use crate::status::{CheckpointStatus, Level, ProjectStatus, RunStatus, Signal, TraceStatus};
use crate::workflow::Output;
use kit::fields::Time;
use kit::page::excerpt;
use serde::Serialize;
use utoipa::ToSchema;

/// Characters of a long text that are shown in lists. Those of a seed are kept in the project's row.
pub const EXCERPT: usize = 300;

/// A project with the beginning of its seed. The whole seed is in a table of its own.
#[derive(Clone, Debug)]
pub struct Project {
    pub id: String,
    pub name: String,
    pub seed_excerpt: String,
    /// Characters of the whole seed.
    pub seed_length: i64,
    pub current_phase: String,
    pub status: ProjectStatus,
    pub owner: Owner,
    /// The space whose members share it.
    pub space_id: Option<String>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// Whose a project is.
#[derive(Clone, Debug, PartialEq)]
pub enum Owner {
    Administrators,
    /// All guests together.
    Guests,
    User {
        id: String,
        /// What the user was called when the project was created.
        name: String,
    },
}

impl Project {
    /// Returns the name of the project's event stream, which has the events of all its runs.
    pub fn stream(id: &str) -> String {
        format!("supervisor/{id}")
    }

    /// Returns `seed_excerpt` and `seed_length` of a seed.
    pub fn excerpt_of(product_seed: &str) -> (String, i64) {
        (excerpt(product_seed, EXCERPT).0.to_owned(), product_seed.chars().count() as i64)
    }

    /// Returns whether `seed_excerpt` is only the beginning of the seed.
    pub fn is_seed_truncated(&self) -> bool {
        self.seed_length > EXCERPT as i64
    }
}

/// A run of a phase.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Run {
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    pub id: String,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub project_id: String,
    #[schema(example = "prd")]
    pub phase: String,
    pub status: RunStatus,
    #[serde(skip)]
    pub signal: Option<Signal>,
    /// Why it was interrupted or cancelled, or the error that ended it; otherwise empty.
    #[schema(example = "")]
    pub reason: String,
    /// The provider that was asked for; null if the workflow and the settings decide.
    #[schema(example = "vendor-a")]
    pub provider: Option<String>,
    /// The model that was asked for; null if the workflow and the settings decide.
    #[schema(example = "a-large-model")]
    pub model: Option<String>,
    /// The claims of the caller who started it, as JSON, if the gateway or a token named them.
    #[serde(skip)]
    pub caller: Option<String>,
    /// The network address of the guest who started it, until it ends.
    #[serde(skip)]
    pub guest_address: Option<String>,
    /// The job that executes it, while it runs.
    #[serde(skip)]
    pub job_id: Option<i64>,
    /// The id of its first event.
    pub first_event: i64,
    /// The id of its last event; null while it is open.
    #[schema(example = 7)]
    pub last_event: Option<i64>,
    pub created_at: Time,
    pub ended_at: Option<Time>,
}

/// What an agent or a person has written. It is never changed after it was stored, except for `superseded`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Artifact {
    #[schema(example = "0199a2f5-7e30-7f5d-8cb2-304f5e6d7c8b")]
    pub id: String,
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub project_id: String,
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    pub run_id: String,
    #[schema(example = "prd")]
    pub phase: String,
    #[schema(example = "analyst")]
    pub agent: String,
    #[serde(rename = "type")]
    pub kind: Output,
    #[schema(example = "## Problem\n\nBeekeepers lose their notes.")]
    pub content: String,
    /// Counts from 1 for each agent of a project.
    pub version: i64,
    /// Whether there is a newer version.
    #[schema(example = false)]
    pub superseded: bool,
    /// Who edited it; null if an agent wrote it.
    #[schema(example = "admin")]
    pub edited_by: Option<String>,
    pub created_at: Time,
}

/// One step of an agent, from its start to its end.
#[derive(Clone, Debug)]
pub struct Trace {
    pub id: String,
    pub project_id: String,
    pub run_id: String,
    pub phase: String,
    pub agent: String,
    pub status: TraceStatus,
    pub progress: i64,
    pub provider: String,
    pub model: String,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub error: Option<String>,
    pub started_at: Time,
    pub ended_at: Option<Time>,
}

/// The state of an agent in a run. A run continues from the last checkpoint of each agent.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    pub id: String,
    pub project_id: String,
    pub run_id: String,
    pub phase: String,
    /// None if it is about the whole run.
    pub agent: Option<String>,
    /// How many steps of the run had ended.
    pub step: i64,
    pub status: CheckpointStatus,
    pub artifact_id: Option<String>,
    pub feedback: Option<String>,
    pub decided_by: Option<String>,
    /// None also if an earlier version of the program stored the decision.
    pub decided_at: Option<Time>,
    pub created_at: Time,
}

/// A line of a project's log.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Log {
    #[schema(example = "0199a2f5-8f41-7a6e-9dc3-4150616e8d9c")]
    pub id: String,
    pub level: Level,
    #[schema(example = "phase `prd` is complete")]
    pub message: String,
    #[schema(example = "analyst")]
    pub agent: Option<String>,
    #[schema(example = "prd")]
    pub phase: Option<String>,
    pub created_at: Time,
}
