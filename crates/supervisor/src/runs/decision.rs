//! Decisions about artifacts that wait for approval, and how they are stored.

use super::error::RunError;
use crate::events::DecisionKind;
use crate::project_tx::ProjectTx;
use crate::records::{Artifact, Checkpoint};
use crate::status::{CheckpointStatus, Level};
use crate::tables;
use crate::workflow::Output;
use serde::de::IgnoredAny;

/// What is decided about an artifact that waits for approval.
pub enum Decision {
    Approve,
    Edit { content: String },
    Reject { feedback: String },
}

impl Decision {
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve => DecisionKind::Approve,
            Self::Edit { .. } => DecisionKind::Edit,
            Self::Reject { .. } => DecisionKind::Reject,
        }
    }
}

/// Answers an approval. Returns the id of the artifact that an edit has made.
pub async fn decide(
    tx: &mut ProjectTx<'_>,
    mut approval: Checkpoint,
    decision: Decision,
    by: &str,
) -> Result<Option<String>, RunError> {
    approval.decided_by = Some(by.to_owned());
    approval.decided_at = Some(tx.now());
    let name: &str = decision.kind().into();
    let mut edited = None;
    match decision {
        Decision::Approve => approval.status = CheckpointStatus::Approved,
        Decision::Edit { content } => {
            let id = approval.artifact_id.take().unwrap_or_default();
            let old = tables::artifacts::get_locked(tx.inner(), &id).await?;
            let old = old.ok_or_else(|| RunError::Conflict("the artifact is gone".into()))?;
            let artifact = insert_edited(tx, old, content, by)?;
            approval.status = CheckpointStatus::Edited;
            approval.artifact_id = Some(artifact.id.clone());
            edited = Some(artifact.id);
        }
        Decision::Reject { feedback } => {
            // The rejected artifact stays until there is another.
            approval.status = CheckpointStatus::Rejected;
            approval.feedback = Some(feedback);
        }
    }
    if !tables::checkpoints::decide(tx.inner(), &approval).await? {
        return Err(not_waiting(&approval.id));
    }
    let message = format!("{by} decided: {name}");
    tx.log(Level::Info, &approval.phase, approval.agent.as_deref(), message);
    Ok(edited)
}

/// Stores an edited artifact as a new version.
pub fn insert_edited(
    tx: &mut ProjectTx<'_>,
    old: Artifact,
    content: String,
    by: &str,
) -> Result<Artifact, RunError> {
    if old.kind == Output::Json
        && let Err(fault) = kit::json::parse::<IgnoredAny>(content.as_bytes())
    {
        return Err(RunError::Invalid(format!("`content` is not JSON, as this artifact is: {fault}")));
    }
    let artifact = Artifact {
        id: tx.new_id(),
        content,
        version: old.version + 1,
        superseded: false,
        edited_by: Some(by.to_owned()),
        created_at: tx.now(),
        ..old
    };
    tables::artifacts::insert(tx.inner(), &artifact);
    Ok(artifact)
}

/// Refuses an approval that was answered before, and says by whom.
pub async fn refuse_decided(tx: &mut ProjectTx<'_>, approval_id: &str) -> Result<(), RunError> {
    let project_id = tx.project.id.clone();
    let found = tables::checkpoints::get_locked(tx.inner(), &project_id, approval_id).await?;
    let Some(Checkpoint { id, status, decided_by, decided_at, .. }) = found else { return Ok(()) };
    let decision = match status {
        CheckpointStatus::Approved => DecisionKind::Approve,
        CheckpointStatus::Edited => DecisionKind::Edit,
        CheckpointStatus::Rejected => DecisionKind::Reject,
        CheckpointStatus::Waiting | CheckpointStatus::Complete | CheckpointStatus::Interrupted => {
            return Ok(());
        }
    };
    let by = decided_by.unwrap_or_default();
    Err(RunError::Decided { approval_id: id, decision, by, at: decided_at })
}

pub fn not_waiting(approval_id: &str) -> RunError {
    RunError::Conflict(format!(
        "approval `{approval_id}` does not wait: it was answered already, or belongs to another run"
    ))
}

pub fn which_one(waiting: &[Checkpoint]) -> RunError {
    let named = waiting.iter().map(|checkpoint| {
        format!("`{}` ({})", checkpoint.id, checkpoint.agent.as_deref().unwrap_or_default())
    });
    let named: Vec<String> = named.collect();
    RunError::Conflict(format!(
        "{} artifacts wait: set `approvalId` to one of {}",
        waiting.len(),
        named.join(" or ")
    ))
}
