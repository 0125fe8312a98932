//! What a person decides about an artifact that waits for approval, and what is written of it.

use super::RunError;
use crate::entry::Entry;
use crate::records::{Artifact, Checkpoint};
use crate::tables;
use crate::words::{Level, Mark};
use crate::workflow::Output;

/// What a person says to an artifact that waits for approval.
pub enum Decision {
    Approve,
    Edit { content: String },
    Reject { feedback: String },
}

impl Decision {
    fn mark(&self) -> Mark {
        match self {
            Self::Approve => Mark::Approved,
            Self::Edit { .. } => Mark::Edited,
            Self::Reject { .. } => Mark::Rejected,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Edit { .. } => "edit",
            Self::Reject { .. } => "reject",
        }
    }
}

/// Answers an approval; the id of the artifact that an edit has made.
pub async fn decide(
    entry: &mut Entry<'_>,
    mut approval: Checkpoint,
    decision: Decision,
    by: &str,
) -> Result<Option<String>, RunError> {
    approval.mark = decision.mark();
    approval.decided_by = Some(by.to_owned());
    let mut edited = None;
    let name = decision.name();
    match decision {
        Decision::Approve => {}
        Decision::Edit { content } => {
            let id = insert_edited(entry, &approval, content, by).await?;
            approval.artifact_id = Some(id.clone());
            edited = Some(id);
        }
        Decision::Reject { feedback } => {
            // Its artifact stays until there is another.
            approval.feedback = Some(feedback);
        }
    }
    if !tables::checkpoints::decide(entry.tx(), &approval).await? {
        return Err(not_waiting(&approval.id));
    }
    let message = format!("{by} decided: {name}");
    entry.log(Level::Info, &approval.phase, approval.agent.as_deref(), message);
    Ok(edited)
}

/// The agent's artifact as a person has written it: a version of its own.
async fn insert_edited(
    entry: &mut Entry<'_>,
    approval: &Checkpoint,
    content: String,
    by: &str,
) -> Result<String, RunError> {
    let id = approval.artifact_id.clone().unwrap_or_default();
    let old = tables::artifacts::get_locked(entry.tx(), &id).await?;
    let old = old.ok_or_else(|| RunError::Conflict("the artifact is gone".into()))?;
    if old.kind == Output::Json.as_str()
        && let Err(fault) = kit::json::parse::<serde_json::Value>(content.as_bytes())
    {
        return Err(RunError::Invalid(format!("`content` is not JSON, as this artifact is: {fault}")));
    }
    let mut artifact = Artifact {
        id: entry.new_id(),
        content,
        edited_by: Some(by.to_owned()),
        created_at: entry.now(),
        ..old
    };
    tables::artifacts::insert(entry.tx(), &mut artifact).await?;
    Ok(artifact.id)
}

pub fn not_waiting(approval_id: &str) -> RunError {
    RunError::Conflict(format!(
        "approval `{approval_id}` does not wait: it has been answered, or is none of this run"
    ))
}

pub fn which_one(waiting: &[Checkpoint]) -> RunError {
    let named = waiting.iter().map(|checkpoint| {
        format!("`{}` ({})", checkpoint.id, checkpoint.agent.as_deref().unwrap_or_default())
    });
    let named: Vec<String> = named.collect();
    RunError::Conflict(format!(
        "{} artifacts wait: `approvalId` has to say which, {}",
        waiting.len(),
        named.join(" or ")
    ))
}
