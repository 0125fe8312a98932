//! Edits of artifacts: each is a new version, with the name of its author.

use super::decision::insert_edited;
use super::{RunError, Runs};
use crate::records::Artifact;
use crate::status::{Level, RunStatus};
use crate::tables;

impl Runs {
    /// Stores new content of a project's artifact as its next version. An artifact that is not the newest version is
    /// refused, so that of two edits at the same time neither is lost.
    pub async fn edit(
        &self,
        project_id: &str,
        artifact_id: &str,
        content: String,
        by: &str,
    ) -> Result<Artifact, RunError> {
        let mut tx = self.begin(project_id).await?;
        let found = tables::artifacts::get_locked(tx.inner(), artifact_id).await?;
        let old = found.filter(|artifact| artifact.project_id == project_id);
        let old = old.ok_or_else(|| RunError::NoArtifact(artifact_id.to_owned()))?;
        if old.superseded {
            return Err(RunError::Conflict(
                "there is a newer version of this artifact: edit that one".into(),
            ));
        }
        let latest = tables::runs::latest_locked(tx.inner(), project_id).await?;
        let open = latest.filter(|run| run.last_event.is_none() && run.phase == old.phase);
        // The worker of a run has counted the versions of its phase, and gives the next number itself.
        if let Some(run) = open.as_ref().filter(|run| run.status == RunStatus::Running) {
            let message = format!("phase `{}` is running: interrupt it, or wait until it ends", run.phase);
            return Err(RunError::Conflict(message));
        }
        let edited = insert_edited(&mut tx, old, content, by)?;
        if let Some(run) = open {
            tables::checkpoints::replace_artifact(tx.inner(), &run.id, artifact_id, &edited.id).await?;
        }
        let message = format!("{by} has edited it: version {}", edited.version);
        tx.log(Level::Info, &edited.phase, Some(&edited.agent), message);
        tx.commit().await?;
        Ok(edited)
    }
}
