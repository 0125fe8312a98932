//! Projects: creating, changing and deleting them, and the state of their open run.

use crate::guests::{Guest, GuestError, GuestLimits};
use crate::project_tx::ProjectTx;
use crate::records::{Owner, Project};
use crate::status::{CheckpointStatus, ProjectStatus, Signal};
use crate::tables;
use crate::workflow::Workflow;
use kit::fields::Time;
use serde::Serialize;
use std::sync::Arc;
use store::{Db, StoreError, events, jobs};
use utoipa::ToSchema;

#[derive(Clone)]
pub struct Projects {
    db: Db,
    workflow: Arc<Workflow>,
    guest_limits: Arc<GuestLimits>,
}

/// Whether a project is interrupted, and what it waits for.
#[derive(Serialize, ToSchema)]
pub struct SystemState {
    /// Whether the open run was asked to stop, or waits for approval.
    #[schema(example = true)]
    pub interrupt_signal: bool,
    pub status: ProjectStatus,
    #[serde(rename = "projectId")]
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    pub project_id: String,
    /// The phase of the open run, or else the project's current phase.
    #[schema(example = "prd")]
    pub phase: String,
    /// The open run.
    #[serde(rename = "runId")]
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    pub run_id: Option<String>,
    #[schema(example = "the artifact of `analyst` waits for approval")]
    pub reason: Option<String>,
    /// Artifacts that wait for approval.
    pub approvals: Vec<Approval>,
}

/// An artifact that waits for approval.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    #[schema(example = "0199a2f5-a052-7b7f-8ed4-526172fe9ead")]
    pub approval_id: String,
    #[schema(example = "analyst")]
    pub agent: Option<String>,
    #[schema(example = "0199a2f5-7e30-7f5d-8cb2-304f5e6d7c8b")]
    pub artifact_id: Option<String>,
}

/// What is to change of a project. What is none stays.
pub struct ProjectChanges<'a> {
    pub name: Option<&'a str>,
    pub product_seed: Option<&'a str>,
    /// `Some(None)` takes it out of its space.
    pub space_id: Option<Option<&'a str>>,
}

/// How a change of a project went.
pub enum Change {
    Done,
    NoProject,
    /// An open run reads the seed.
    Running,
}

impl Projects {
    pub fn new(db: Db, workflow: Arc<Workflow>, guest_limits: Arc<GuestLimits>) -> Self {
        Self { db, workflow, guest_limits }
    }

    /// Creates a project. `guest` is the caller if it is a guest, whose projects are limited.
    pub async fn create(
        &self,
        name: &str,
        product_seed: &str,
        owner: Owner,
        space_id: Option<String>,
        guest: Option<&Guest>,
    ) -> Result<Project, GuestError> {
        let now = Time(self.db.clock().now_ms());
        let (seed_excerpt, seed_length) = Project::excerpt_of(product_seed);
        let project = Project {
            id: self.db.random().uuid_v7(self.db.clock()).to_string(),
            name: name.to_owned(),
            seed_excerpt,
            seed_length,
            current_phase: self.workflow.first().to_owned(),
            status: ProjectStatus::Active,
            owner,
            space_id,
            created_at: now,
            updated_at: now,
        };
        let mut tx = self.db.begin().await?;
        if let Some(guest) = guest {
            self.guest_limits.check_projects(&mut tx, guest).await?;
        }
        let address = guest.map(|guest| guest.address.as_str());
        tables::projects::insert(&mut tx, &project, product_seed, address).await?;
        tx.commit().await?;
        Ok(project)
    }

    /// Changes the name of a project, the space that it is in, or its seed if no run is open.
    pub async fn change(&self, id: &str, changes: ProjectChanges<'_>) -> Result<Change, StoreError> {
        let ProjectChanges { name, product_seed, space_id } = changes;
        let Some(mut tx) = ProjectTx::begin(&self.db, id).await? else { return Ok(Change::NoProject) };
        if let Some(seed) = product_seed {
            let run = tables::runs::latest_locked(tx.inner(), id).await?;
            if run.is_some_and(|run| run.last_event.is_none()) {
                return Ok(Change::Running);
            }
            let (excerpt, length) = Project::excerpt_of(seed);
            tables::projects::set_seed(tx.inner(), id, seed, &excerpt, length).await?;
        }
        if let Some(name) = name {
            tables::projects::set_name(tx.inner(), id, name).await?;
        }
        if let Some(space_id) = space_id {
            tables::projects::set_space(tx.inner(), id, space_id).await?;
        }
        tx.commit().await?;
        Ok(Change::Done)
    }

    /// Deletes a project with everything in it, and ends its open run. Returns false if there is no such project.
    pub async fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let Some(mut tx) = ProjectTx::begin(&self.db, id).await? else { return Ok(false) };
        let run = tables::runs::latest_locked(tx.inner(), id).await?;
        if let Some(job) = run.and_then(|run| run.job_id) {
            jobs::cancel(tx.inner(), job).await?;
        }
        tables::projects::delete(tx.inner(), id).await?;
        events::delete_stream(tx.inner(), &Project::stream(id)).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Returns the `system_state` of a project.
    pub async fn state(&self, project: &Project) -> Result<SystemState, StoreError> {
        let run = tables::runs::latest(&self.db, &project.id).await?;
        let run = run.filter(|run| run.last_event.is_none());
        let mut approvals = Vec::new();
        if let Some(run) = &run {
            let checkpoints = tables::checkpoints::of_run(&self.db, &run.id).await?.into_iter();
            let waiting = checkpoints.filter(|checkpoint| checkpoint.status == CheckpointStatus::Waiting);
            approvals.extend(waiting.map(|checkpoint| Approval {
                approval_id: checkpoint.id,
                agent: checkpoint.agent,
                artifact_id: checkpoint.artifact_id,
            }));
        }
        Ok(SystemState {
            interrupt_signal: run.as_ref().is_some_and(|run| run.signal == Some(Signal::Interrupt)),
            status: project.status,
            project_id: project.id.clone(),
            phase: run.as_ref().map_or(&project.current_phase, |run| &run.phase).clone(),
            run_id: run.as_ref().map(|run| run.id.clone()),
            reason: run.map(|run| run.reason).filter(|reason| !reason.is_empty()),
            approvals,
        })
    }
}
