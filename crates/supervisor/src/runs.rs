//! What people ask of runs: start one, stop it, answer it. What a run does by itself is in `drive`.

mod decision;

pub use decision::Decision;

use crate::entry::Entry;
use crate::guests::{Guest, GuestError, GuestLimits};
use crate::halt::{self, halt};
use crate::records::{Checkpoint, Project, Run};
use crate::tables;
use crate::words::{Level, Mark, ProjectStatus, RunStatus, Signal, Word};
use crate::workflow::Workflow;
use decision::{decide, not_waiting, which_one};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Cancel, NewJob};
use store::{Db, StoreError, events};

/// The kind of job that carries on a run.
pub const JOB: &str = "supervisor.run";
/// A process that dies costs an attempt, and a run survives however many of them.
const MOST_ATTEMPTS: i64 = 1_000_000;
/// A run that was told to stop does so within half a second; its process may have died.
const STOPPING: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    Invalid(String),
    #[error("no project `{0}`")]
    NoProject(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    TooMany(String, Duration),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<GuestError> for RunError {
    fn from(error: GuestError) -> Self {
        match error {
            GuestError::TooMany { message, wait } => Self::TooMany(message, wait),
            GuestError::Store(error) => Self::Store(error),
        }
    }
}

/// How a phase is to be run.
#[derive(Default)]
pub struct Order<'a> {
    /// The project's current one where absent.
    pub phase: Option<&'a str>,
    /// Who is to answer for all agents, and with which model; as the workflow and the settings say where absent.
    pub provider: Option<&'static str>,
    pub model: Option<&'a str>,
    /// The caller's claims.
    pub caller: Option<String>,
    /// The caller, if that is a guest.
    pub guest: Option<&'a Guest>,
}

impl Order<'_> {
    /// Whether a run that is open is what was asked for.
    fn is_met_by(&self, run: &Run) -> bool {
        self.provider.is_none_or(|provider| run.provider.as_deref() == Some(provider))
            && self.model.is_none_or(|model| run.model.as_deref() == Some(model))
    }
}

#[derive(Clone)]
pub struct Runs {
    db: Db,
    workflow: Arc<Workflow>,
    guest_limits: Arc<GuestLimits>,
}

impl Runs {
    pub fn new(db: Db, workflow: Arc<Workflow>, guest_limits: Arc<GuestLimits>) -> Self {
        Self { db, workflow, guest_limits }
    }

    /// The run of a phase, and the event after which whoever asked should be told: the one that is open, the one
    /// that failed, carried on, or a new one.
    pub async fn execute(&self, project_id: &str, order: Order<'_>) -> Result<(Run, i64), RunError> {
        let mut entry = self.begin(project_id).await?;
        let current = &entry.project.current_phase;
        // The workflow may have changed, and the phase be gone.
        let current = self.workflow.phase(current).map_or(self.workflow.first(), |phase| &phase.name);
        let phase = order.phase.unwrap_or(current).to_owned();
        self.check_phase(&entry.project, &phase)?;
        let latest = tables::runs::latest_locked(entry.tx(), project_id).await?;
        let (mut run, is_new) = match latest {
            Some(run) if run.last_event.is_none() && run.phase == phase => {
                if !order.is_met_by(&run) {
                    return Err(RunError::Conflict(format!(
                        "phase `{phase}` is {} with another `provider` or `model`: leave them out to join it",
                        run.status.as_str()
                    )));
                }
                let before = run.first_event - 1;
                return Ok((run, before));
            }
            Some(run) if run.last_event.is_none() => {
                let (status, other) = (run.status.as_str(), run.phase);
                return Err(RunError::Conflict(format!(
                    "phase `{other}` is {status}: `{phase}` can be executed when that is over"
                )));
            }
            Some(run) if run.status == RunStatus::Error && run.phase == phase => (run, false),
            _ => (new_run(&mut entry, &phase).await?, true),
        };
        if let Some(guest) = order.guest {
            self.guest_limits.check_runs(entry.tx(), guest).await?;
        }
        let seen = events::last(entry.tx(), &Project::stream(project_id)).await?;
        run.status = RunStatus::Running;
        run.caller = order.caller;
        run.guest_address = order.guest.map(|guest| guest.address.clone());
        if order.provider.is_some() || order.model.is_some() {
            run.provider = order.provider.map(str::to_owned);
            run.model = order.model.map(str::to_owned);
        }
        run.last_event = None;
        run.ended_at = None;
        run.reason.clear();
        run.job_id = Some(enqueue(&mut entry, &run).await?);
        if is_new {
            tables::runs::insert(entry.tx(), &run).await?;
            entry.log(Level::Info, &phase, None, format!("phase `{phase}` starts"));
        } else {
            tables::runs::update(entry.tx(), &run).await?;
            let why = "executed again after an error: it goes on after the last step that had ended";
            entry.event("resumed", json!({ "phase": phase, "agent": null, "decision": null, "reason": why }));
            entry.log(Level::Info, &phase, None, why);
        }
        tables::projects::set_status(entry.tx(), project_id, ProjectStatus::Running).await?;
        entry.commit().await?;
        Ok((run, seen))
    }

    fn check_phase(&self, project: &Project, phase: &str) -> Result<(), RunError> {
        let Some(asked) = self.workflow.position(phase) else {
            return Err(RunError::Invalid(format!(
                "unknown phase `{phase}`: one of {}",
                self.workflow.names()
            )));
        };
        let current = self.workflow.position(&project.current_phase);
        if current.is_some_and(|current| asked > current) {
            let current = &project.current_phase;
            return Err(RunError::Conflict(format!(
                "phase `{phase}` is ahead: the project is at `{current}`, which has to be completed first"
            )));
        }
        Ok(())
    }

    /// Stops the project's run until somebody resumes it. Returned is the run, when it has stopped.
    pub async fn interrupt(&self, project_id: &str, reason: &str) -> Result<Run, RunError> {
        self.signal(project_id, Signal::Interrupt, reason).await
    }

    /// Ends the project's run for good. What it has completed stays.
    pub async fn cancel(&self, project_id: &str, reason: &str) -> Result<Run, RunError> {
        self.signal(project_id, Signal::Cancel, reason).await
    }

    async fn signal(&self, project_id: &str, signal: Signal, reason: &str) -> Result<Run, RunError> {
        let mut entry = self.begin(project_id).await?;
        let mut run = open_run(&mut entry).await?;
        if run.status == RunStatus::Interrupted && signal == Signal::Interrupt {
            return Ok(run);
        }
        // Who wants to end it is not overruled by who wants to stop it.
        if run.signal != Some(Signal::Cancel) {
            run.signal = Some(signal);
            run.reason = reason.to_owned();
        }
        let works_on_it = match run.job_id {
            Some(job) => jobs::cancel(entry.tx(), job).await? == Cancel::Requested,
            None => false,
        };
        if works_on_it {
            tables::runs::update(entry.tx(), &run).await?;
            entry.commit().await?;
            return Ok(self.stopped(run).await?);
        }
        halt(&mut entry, &mut run, &self.workflow).await?;
        entry.commit().await?;
        Ok(run)
    }

    /// The run when its worker has stopped, or as it is where that takes too long.
    async fn stopped(&self, mut run: Run) -> Result<Run, StoreError> {
        let mut told = events::watch(&self.db, &Project::stream(&run.project_id));
        let deadline = tokio::time::Instant::now() + STOPPING;
        loop {
            match tables::runs::get(&self.db, &run.id).await? {
                Some(now) => run = now,
                None => return Ok(run),
            }
            if run.status != RunStatus::Running
                || tokio::time::timeout_at(deadline, told.notified()).await.is_err()
            {
                return Ok(run);
            }
        }
    }

    /// Goes on with an interrupted run. Where artifacts wait for approval, `decision` answers that of `approval_id`, which
    /// can be left out where only one waits; the run goes on when none is left.
    pub async fn resume(
        &self,
        project_id: &str,
        approval_id: Option<&str>,
        decision: Option<Decision>,
        by: &str,
    ) -> Result<Run, RunError> {
        let mut entry = self.begin(project_id).await?;
        let mut run = open_run(&mut entry).await?;
        if run.status != RunStatus::Interrupted {
            return Err(RunError::Conflict(
                "the project is not interrupted: there is nothing to resume".into(),
            ));
        }
        let checkpoints = tables::checkpoints::of_run_locked(entry.tx(), &run.id).await?;
        let mut waiting: Vec<Checkpoint> =
            checkpoints.into_iter().filter(|checkpoint| checkpoint.mark == Mark::Waiting).collect();
        let mut told =
            json!({ "phase": run.phase, "agent": null, "decision": "approve", "approvalId": null });
        if waiting.is_empty() {
            if let Some(id) = approval_id {
                return Err(not_waiting(id));
            }
            if !matches!(decision, None | Some(Decision::Approve)) {
                return Err(RunError::Invalid(
                    "no artifact waits for approval: `decision` can only be `approve`".into(),
                ));
            }
        } else {
            let place = match approval_id {
                None if waiting.len() > 1 => return Err(which_one(&waiting)),
                None => 0,
                Some(id) => {
                    let place = waiting.iter().position(|checkpoint| checkpoint.id == id);
                    place.ok_or_else(|| not_waiting(id))?
                }
            };
            let approval = waiting.remove(place);
            let decision = decision.ok_or_else(|| {
                RunError::Invalid("`decision` is missing: one of approve, reject, edit".into())
            })?;
            told["approvalId"] = approval.id.clone().into();
            told["agent"] = approval.agent.clone().into();
            told["decision"] = decision.name().into();
            if let Some(edited) = decide(&mut entry, approval, decision, by).await? {
                told["artifactId"] = edited.into();
            }
        }
        told["waiting"] = waiting.len().into();
        if waiting.is_empty() {
            run.status = RunStatus::Running;
            run.signal = None;
            run.reason.clear();
            run.job_id = Some(enqueue(&mut entry, &run).await?);
            tables::runs::update(entry.tx(), &run).await?;
            tables::projects::set_status(entry.tx(), project_id, ProjectStatus::Running).await?;
            entry.log(Level::Info, &run.phase, None, format!("resumed by {by}"));
        } else if let Some(agent) = waiting.first().and_then(|checkpoint| checkpoint.agent.as_deref()) {
            run.reason = halt::waits(agent);
            tables::runs::update(entry.tx(), &run).await?;
        }
        entry.event("resumed", told);
        entry.commit().await?;
        Ok(run)
    }

    async fn begin(&self, project_id: &str) -> Result<Entry<'static>, RunError> {
        let entry = Entry::begin(&self.db, project_id).await?;
        entry.ok_or_else(|| RunError::NoProject(project_id.to_owned()))
    }
}

async fn new_run(entry: &mut Entry<'_>, phase: &str) -> Result<Run, StoreError> {
    let stream = Project::stream(&entry.project.id);
    Ok(Run {
        id: entry.new_id(),
        project_id: entry.project.id.clone(),
        phase: phase.to_owned(),
        status: RunStatus::Running,
        signal: None,
        reason: String::new(),
        provider: None,
        model: None,
        caller: None,
        guest_address: None,
        job_id: None,
        first_event: events::last(entry.tx(), &stream).await? + 1,
        last_event: None,
        created_at: entry.now(),
        ended_at: None,
    })
}

async fn enqueue(entry: &mut Entry<'_>, run: &Run) -> Result<i64, StoreError> {
    let payload = json!({ "projectId": run.project_id, "runId": run.id });
    jobs::enqueue(entry.tx(), NewJob { max_attempts: MOST_ATTEMPTS, ..NewJob::new(JOB, payload) }).await
}

async fn open_run(entry: &mut Entry<'_>) -> Result<Run, RunError> {
    let project_id = entry.project.id.clone();
    let latest = tables::runs::latest_locked(entry.tx(), &project_id).await?;
    latest.filter(|run| run.last_event.is_none()).ok_or_else(|| {
        let status = entry.project.status.as_str();
        RunError::Conflict(format!("the project is `{status}`: it has no run"))
    })
}
