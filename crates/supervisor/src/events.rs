//! The events of a run. Each is stored in the project's event stream under its name, and sent to clients as a
//! server-sent event.

use crate::records::Artifact;
use crate::status::RunStatus;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use store::StoreError;
use strum::IntoStaticStr;
use utoipa::ToSchema;

/// An event of a run: `event` is its name, and `data` is JSON.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum RunEvent {
    AgentStart(AgentStart),
    AgentProgress(AgentProgress),
    AgentText(AgentText),
    AgentComplete(AgentComplete),
    PhaseComplete(PhaseComplete),
    Interrupt(Interrupt),
    Resumed(Resumed),
    Error(RunFailed),
    Cancelled(Cancelled),
}

/// An agent starts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentStart {
    #[schema(example = "analyst")]
    pub agent: String,
    #[schema(example = "prd")]
    pub phase: String,
}

/// The model has written more of an agent's answer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentProgress {
    #[schema(example = "analyst")]
    pub agent: String,
    #[schema(example = "prd")]
    pub phase: String,
    /// In percent. It only rises.
    #[schema(minimum = 0, maximum = 100, example = 40)]
    pub progress: i64,
}

/// A piece of what an agent is writing. It is sent live and not stored: it has no `id`, and a client that comes later gets
/// one piece with all that is there so far. Clients of other processes than the one that executes the run get none.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentText {
    #[schema(example = "analyst")]
    pub agent: String,
    #[schema(example = "prd")]
    pub phase: String,
    #[schema(example = "## Problem\n\nBeekeepers")]
    pub text: String,
    /// How much of the agent's text comes before this piece, in UTF-16 units. 0 starts the text again: the agent makes
    /// another attempt, or the client has come back.
    #[schema(example = 0)]
    pub offset: usize,
}

/// An agent has stored its artifact.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentComplete {
    #[schema(example = "analyst")]
    pub agent: String,
    #[schema(example = "prd")]
    pub phase: String,
    /// Stored in place of the artifact, whose content is stored only once.
    #[serde(rename = "artifactId", skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub artifact_id: Option<String>,
    #[serde(default, deserialize_with = "not_stored", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Artifact, required = true)]
    pub artifact: Option<Box<Artifact>>,
}

/// Every agent of the phase is complete. This is the last event of its run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PhaseComplete {
    #[schema(example = "prd")]
    pub phase: String,
    pub status: RunStatus,
}

/// The run has stopped until it is resumed: it was interrupted, or an artifact waits for approval.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interrupt {
    /// The agent whose artifact waits, or the first agent that was interrupted.
    #[schema(example = "analyst")]
    pub agent: Option<String>,
    /// All agents that were interrupted; absent if an artifact waits for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    #[schema(example = "prd")]
    pub phase: String,
    #[schema(example = "the artifact of `analyst` waits for approval")]
    pub reason: String,
    /// Null unless an artifact waits for approval.
    #[schema(example = "0199a2f5-a052-7b7f-8ed4-526172fe9ead")]
    pub approval_id: Option<String>,
}

/// The run continues, or one of several approvals was answered.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resumed {
    #[schema(example = "prd")]
    pub phase: String,
    /// The agent whose artifact was decided on.
    #[schema(example = "analyst")]
    pub agent: Option<String>,
    /// Null if the run was executed again after an error.
    pub decision: Option<DecisionKind>,
    #[schema(example = "0199a2f5-a052-7b7f-8ed4-526172fe9ead")]
    pub approval_id: Option<String>,
    /// How many artifacts still wait for approval; the run continues if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 0)]
    pub waiting: Option<usize>,
    /// Why the run continues, if it was executed again after an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Stored in place of the artifact, whose content is stored only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub artifact_id: Option<String>,
    /// The artifact as it was edited.
    #[serde(default, deserialize_with = "not_stored", skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Box<Artifact>>,
}

/// What is decided about an artifact that waits for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum DecisionKind {
    /// The run continues with the artifact.
    Approve,
    /// The agent works again, with feedback.
    Reject,
    /// The run continues with other content.
    Edit,
}

/// A step has failed for good. This is the last event of its run, unless the phase is executed again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunFailed {
    /// Null if the error is not an agent's.
    #[schema(example = "analyst")]
    pub agent: Option<String>,
    #[schema(example = "prd")]
    pub phase: String,
    #[schema(example = "the model took longer than 300 s")]
    pub message: String,
}

/// The run was cancelled. This is its last event.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Cancelled {
    #[schema(example = "prd")]
    pub phase: String,
    #[schema(example = "not needed")]
    pub reason: String,
}

impl RunEvent {
    /// Returns where the event holds the id of an artifact, and where it holds the artifact, if it is about one.
    pub fn artifact(&mut self) -> Option<(&mut Option<String>, &mut Option<Box<Artifact>>)> {
        match self {
            Self::AgentComplete(data) => Some((&mut data.artifact_id, &mut data.artifact)),
            Self::Resumed(data) => Some((&mut data.artifact_id, &mut data.artifact)),
            _ => None,
        }
    }
}

/// An event as it is stored and sent: a name, and data in JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct NamedEvent {
    #[serde(rename = "event")]
    pub name: String,
    pub data: Value,
}

impl TryFrom<&RunEvent> for NamedEvent {
    type Error = StoreError;

    fn try_from(event: &RunEvent) -> Result<Self, StoreError> {
        serde_json::to_value(event).and_then(serde_json::from_value).map_err(corrupt)
    }
}

impl TryFrom<NamedEvent> for RunEvent {
    type Error = StoreError;

    fn try_from(event: NamedEvent) -> Result<Self, StoreError> {
        serde_json::to_value(event).and_then(serde_json::from_value).map_err(corrupt)
    }
}

/// Reads no artifact: stored events have only its id.
fn not_stored<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<Artifact>>, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| None)
}

fn corrupt(error: serde_json::Error) -> StoreError {
    StoreError::Corrupt { what: "an event of a run".to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stored_events_are_read_and_written_as_they_were() {
        for (name, data) in [
            ("agent_start", json!({ "agent": "a", "phase": "prd" })),
            ("agent_progress", json!({ "agent": "a", "phase": "prd", "progress": 40 })),
            ("agent_complete", json!({ "agent": "a", "phase": "prd", "artifactId": "x" })),
            ("phase_complete", json!({ "phase": "prd", "status": "complete" })),
            ("interrupt", json!({ "agent": "a", "phase": "prd", "reason": "r", "approvalId": "x" })),
            (
                "interrupt",
                json!({ "agent": null, "agents": [], "phase": "prd", "reason": "", "approvalId": null }),
            ),
            (
                "resumed",
                json!({ "agent": "a", "phase": "prd", "decision": "edit", "approvalId": "x", "waiting": 0,
                    "artifactId": "y" }),
            ),
            ("error", json!({ "agent": null, "phase": "prd", "message": "m" })),
            ("cancelled", json!({ "phase": "prd", "reason": "" })),
        ] {
            let event = RunEvent::try_from(NamedEvent { name: name.to_owned(), data: data.clone() }).unwrap();
            let again = NamedEvent::try_from(&event).unwrap();
            assert_eq!((again.name.as_str(), again.data), (name, data));
        }
    }

    #[test]
    fn a_resumed_event_of_an_earlier_version_is_read() {
        let data = json!({ "phase": "prd", "agent": null, "decision": null, "reason": "again" });
        let event = RunEvent::try_from(NamedEvent { name: "resumed".to_owned(), data }).unwrap();
        let RunEvent::Resumed(resumed) = event else { panic!("{event:?}") };
        assert_eq!((resumed.decision, resumed.reason.as_deref()), (None, Some("again")));
    }
}
