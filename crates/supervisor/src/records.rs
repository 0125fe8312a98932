//! What the service keeps of a project, and how each of it is shown.

use crate::words::{Mark, ProjectStatus, RunStatus, Signal, TraceStatus, Word};
use base::iso8601;
use kit::page::excerpt;
use serde_json::{Value, json};

/// Characters of a long text that are shown where it is not shown whole. Of a seed, they are kept with the project.
pub const EXCERPT: usize = 300;

/// A project without its seed, of which only the beginning is read with it.
#[derive(Clone, Debug)]
pub struct Project {
    pub id: String,
    pub name: String,
    pub seed_excerpt: String,
    /// Characters of the whole seed.
    pub seed_length: i64,
    pub current_phase: String,
    pub status: ProjectStatus,
    pub by_guest: bool,
    pub created_at: i64,
    pub updated_at: i64,
}

impl Project {
    /// Its events are one stream, through all its runs.
    pub fn stream(id: &str) -> String {
        format!("supervisor/{id}")
    }

    /// What is kept of a seed with its project: `seed_excerpt` and `seed_length`.
    pub fn excerpt_of(product_seed: &str) -> (String, i64) {
        (excerpt(product_seed, EXCERPT).0.to_owned(), product_seed.chars().count() as i64)
    }

    /// As a list has it.
    pub fn to_listed_json(&self) -> Value {
        let mut shown = self.to_json(&self.seed_excerpt);
        shown["product_seed_truncated"] = (self.seed_length > EXCERPT as i64).into();
        shown
    }

    pub fn to_json(&self, product_seed: &str) -> Value {
        let mut shown = self.to_new_json(product_seed);
        shown["updated_at"] = iso8601(self.updated_at).into();
        shown
    }

    /// As the answer to its creation has it.
    pub fn to_new_json(&self, product_seed: &str) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "product_seed": product_seed,
            "current_phase": self.current_phase,
            "status": self.status.as_str(),
            "created_at": iso8601(self.created_at),
        })
    }
}

#[derive(Clone, Debug)]
pub struct Run {
    pub id: String,
    pub project_id: String,
    pub phase: String,
    pub status: RunStatus,
    pub signal: Option<Signal>,
    /// Of the signal, or of the error in which it ended.
    pub reason: String,
    /// Who was asked for when it was started: the agents' own where absent.
    pub provider: Option<String>,
    pub model: Option<String>,
    /// The claims of whoever started it, where the gateway has told.
    pub caller: Option<String>,
    /// Where the guest is who started it, until it ends.
    pub guest_address: Option<String>,
    /// The job that carries it on, while it runs.
    pub job_id: Option<i64>,
    pub first_event: i64,
    /// None while it is open.
    pub last_event: Option<i64>,
    pub created_at: i64,
    pub ended_at: Option<i64>,
}

impl Run {
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "project_id": self.project_id,
            "phase": self.phase,
            "status": self.status.as_str(),
            "reason": self.reason,
            "provider": self.provider,
            "model": self.model,
            "first_event": self.first_event,
            "last_event": self.last_event,
            "created_at": iso8601(self.created_at),
            "ended_at": self.ended_at.map(iso8601),
        })
    }
}

/// Never changed once it is stored, but for `superseded`.
#[derive(Clone, Debug)]
pub struct Artifact {
    pub id: String,
    pub project_id: String,
    pub run_id: String,
    pub phase: String,
    pub agent: String,
    pub kind: String,
    pub content: String,
    pub version: i64,
    pub superseded: bool,
    /// Who wrote it, where that is a person.
    pub edited_by: Option<String>,
    pub created_at: i64,
}

impl Artifact {
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "project_id": self.project_id,
            "run_id": self.run_id,
            "phase": self.phase,
            "agent": self.agent,
            "type": self.kind,
            "content": self.content,
            "version": self.version,
            "superseded": self.superseded,
            "edited_by": self.edited_by,
            "created_at": iso8601(self.created_at),
        })
    }

    /// As a history has it, where `content` may be only its beginning.
    pub fn to_cut_json(&self, is_cut: bool) -> Value {
        let mut shown = self.to_json();
        shown["content_truncated"] = is_cut.into();
        shown
    }
}

/// An agent at work, once.
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
    pub started_at: i64,
    pub ended_at: Option<i64>,
}

impl Trace {
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "project_id": self.project_id,
            "run_id": self.run_id,
            "phase": self.phase,
            "agent": self.agent,
            "status": self.status.as_str(),
            "progress": self.progress,
            "provider": self.provider,
            "model": self.model,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "error": self.error,
            "created_at": iso8601(self.started_at),
            "started_at": iso8601(self.started_at),
            "ended_at": self.ended_at.map(iso8601),
            "duration_ms": self.ended_at.map(|ended| ended - self.started_at),
        })
    }
}

/// Where a run stood: it goes on from the last of each agent.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    pub id: String,
    pub project_id: String,
    pub run_id: String,
    pub phase: String,
    /// None where it is about the whole run.
    pub agent: Option<String>,
    /// How many steps of the run had ended.
    pub step: i64,
    pub mark: Mark,
    pub artifact_id: Option<String>,
    pub feedback: Option<String>,
    pub decided_by: Option<String>,
    pub created_at: i64,
}

impl Checkpoint {
    pub fn to_json(&self) -> Value {
        let feedback = self.feedback.as_deref().map(|feedback| excerpt(feedback, EXCERPT));
        json!({
            "id": self.id,
            "run_id": self.run_id,
            "phase": self.phase,
            "agent": self.agent,
            "step": self.step,
            "status": self.mark.as_str(),
            "artifact_id": self.artifact_id,
            "feedback": feedback.map(|(text, _)| text),
            "feedback_truncated": feedback.is_some_and(|(_, is_cut)| is_cut),
            "decided_by": self.decided_by,
            "created_at": iso8601(self.created_at),
        })
    }
}

#[derive(Clone, Debug)]
pub struct Log {
    pub id: String,
    pub level: String,
    pub message: String,
    pub agent: Option<String>,
    pub phase: Option<String>,
    pub created_at: i64,
}

impl Log {
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "level": self.level,
            "message": self.message,
            "agent": self.agent,
            "phase": self.phase,
            "created_at": iso8601(self.created_at),
        })
    }
}
