//! Projects: made, shown whole, removed.

use crate::entry::Entry;
use crate::guests::{Guest, GuestError, GuestLimits};
use crate::records::{Checkpoint, EXCERPT, Log, Project, Run, Trace};
use crate::tables;
use crate::words::{Mark, ProjectStatus, Signal, Word};
use crate::workflow::Workflow;
use kit::page::{PAGE_BYTES, first_page};
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Db, StoreError, events, jobs};

#[derive(Clone)]
pub struct Projects {
    db: Db,
    workflow: Arc<Workflow>,
    guest_limits: Arc<GuestLimits>,
}

impl Projects {
    pub fn new(db: Db, workflow: Arc<Workflow>, guest_limits: Arc<GuestLimits>) -> Self {
        Self { db, workflow, guest_limits }
    }

    /// `guest` is who asks, if that is a guest: they make only so many.
    pub async fn create(
        &self,
        name: &str,
        product_seed: &str,
        guest: Option<&Guest>,
    ) -> Result<Project, GuestError> {
        let now = self.db.clock().now_ms();
        let (seed_excerpt, seed_length) = Project::excerpt_of(product_seed);
        let project = Project {
            id: self.db.random().uuid_v7(self.db.clock()).to_string(),
            name: name.to_owned(),
            seed_excerpt,
            seed_length,
            current_phase: self.workflow.first().to_owned(),
            status: ProjectStatus::Active,
            by_guest: guest.is_some(),
            created_at: now,
            updated_at: now,
        };
        if let Some(guest) = guest {
            self.guest_limits.count_project(&self.db, guest).await?;
        }
        let mut tx = self.db.begin().await?;
        if guest.is_some() {
            self.guest_limits.check_projects(&mut tx).await?;
        }
        tables::projects::insert(&mut tx, &project, product_seed).await?;
        tx.commit().await?;
        Ok(project)
    }

    /// With everything that was made in it. A run that is under way ends. False where there is no such project.
    pub async fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let Some(mut entry) = Entry::begin(&self.db, id).await? else { return Ok(false) };
        let run = tables::runs::latest_locked(entry.tx(), id).await?;
        if let Some(job) = run.and_then(|run| run.job_id) {
            jobs::cancel(entry.tx(), job).await?;
        }
        tables::projects::delete(entry.tx(), id).await?;
        events::delete_stream(entry.tx(), &Project::stream(id)).await?;
        entry.commit().await?;
        Ok(true)
    }

    /// The project's `system_state`, and what it waits for.
    pub async fn state(&self, project: &Project) -> Result<Value, StoreError> {
        let run = tables::runs::latest(&self.db, &project.id).await?;
        let run = run.filter(|run| run.last_event.is_none());
        let mut approvals = Vec::new();
        if let Some(run) = &run {
            let checkpoints = tables::checkpoints::of_run(&self.db, &run.id).await?;
            let waiting = checkpoints.iter().filter(|checkpoint| checkpoint.mark == Mark::Waiting);
            approvals.extend(waiting.map(|checkpoint| {
                json!({ "approvalId": checkpoint.id, "agent": checkpoint.agent, "artifactId": checkpoint.artifact_id })
            }));
        }
        let is_signalled = run.as_ref().is_some_and(|run| run.signal == Some(Signal::Interrupt));
        Ok(json!({
            "interrupt_signal": is_signalled,
            "status": project.status.as_str(),
            "projectId": project.id,
            "phase": run.as_ref().map_or(&project.current_phase, |run| &run.phase),
            "runId": run.as_ref().map(|run| &run.id),
            "reason": run.as_ref().map(|run| &run.reason).filter(|reason| !reason.is_empty()),
            "approvals": approvals,
        }))
    }

    /// The project with its history: of what grows without end the newest `limit`, log lines older than `before`, and
    /// long texts cut.
    pub async fn hydrate(
        &self,
        project: &Project,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Value, StoreError> {
        let (db, id) = (&self.db, project.id.as_str());
        // One more than is shown tells whether there are more.
        let mut logs = tables::logs::page(db, id, before, limit + 1).await?;
        let has_more = logs.len() > limit;
        logs.truncate(limit);
        let artifacts = tables::artifacts::current_within(db, id, PAGE_BYTES, EXCERPT).await?;
        let checkpoints = tables::checkpoints::newest(db, id, limit).await?;
        let traces = tables::traces::page(db, id, None, limit).await?;
        let runs = tables::runs::page(db, id, None, limit).await?;
        let shown_logs = shown(&logs, Log::to_json);
        let has_more = has_more || shown_logs.len() < logs.len();
        let next = shown_logs.last().filter(|_| has_more).map(|log| log["id"].clone());
        let product_seed = tables::projects::seed(db, id).await?.unwrap_or_default();
        Ok(json!({
            "project": project.to_json(&product_seed),
            "system_state": self.state(project).await?,
            "history": {
                "logs": shown_logs,
                "artifacts": shown(&artifacts, |(artifact, is_cut)| artifact.to_cut_json(*is_cut)),
                "checkpoints": shown(&checkpoints, Checkpoint::to_json),
                "traces": shown(&traces, Trace::to_json),
                "runs": shown(&runs, Run::to_json),
                "next": next,
            },
        }))
    }
}

/// As many as make a page.
fn shown<T>(records: &[T], show: impl Fn(&T) -> Value) -> Vec<Value> {
    first_page(records.iter().map(show))
}
