//! What callers may do with runs: execute a phase, interrupt, cancel and resume its run. How a run is executed is in
//! `executor`.

mod decision;
mod edit;
mod error;

pub use decision::Decision;
pub use error::RunError;

use crate::events::{DecisionKind, Resumed, RunEvent};
use crate::guests::{Guest, GuestLimits};
use crate::project_tx::ProjectTx;
use crate::records::{Checkpoint, Project, Run};
use crate::run_job::{self, RunJob};
use crate::status::{CheckpointStatus, Level, ProjectStatus, RunStatus, Signal, StoredName};
use crate::tables;
use crate::transitions::{apply_signal, approval_reason};
use crate::workflow::Workflow;
use decision::{decide, not_waiting, refuse_decided, which_one};
use std::sync::Arc;
use std::time::Duration;
use store::jobs::{self, Cancel};
use store::{Db, StoreError, events};

/// How long a request waits for a run to stop. A worker needs less than half a second, but its process may have died.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// What a caller asks to be executed.
#[derive(Default)]
pub struct RunRequest<'a> {
    /// The project's current phase if absent.
    pub phase: Option<&'a str>,
    /// The provider for all agents; if absent, the workflow and the settings decide.
    pub provider: Option<&'a str>,
    /// The model for all agents; if absent, the workflow and the settings decide.
    pub model: Option<&'a str>,
    /// The caller's claims, as JSON.
    pub caller: Option<String>,
    /// The caller, if it is a guest.
    pub guest: Option<&'a Guest>,
}

impl RunRequest<'_> {
    /// Returns whether an open run has the provider and the model that were asked for.
    fn is_met_by(&self, run: &Run) -> bool {
        self.provider.is_none_or(|provider| run.provider.as_deref() == Some(provider))
            && self.model.is_none_or(|model| run.model.as_deref() == Some(model))
    }
}

/// A run, and the event after which the caller should follow it.
enum Executed {
    Started(Run, i64),
    /// It was open, and nothing is written.
    Joined(Run, i64),
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

    /// Starts the run of a phase, or joins the open one, or continues one that ended in error. Returns the run, and the
    /// event after which the caller should follow it.
    pub async fn execute(&self, project_id: &str, request: RunRequest<'_>) -> Result<(Run, i64), RunError> {
        // Together with other runs, what it finds may not be committed yet. A start is committed with it; any other
        // answer counts only alone.
        if let Some(tx) = ProjectTx::begin_in_group(&self.db, project_id).await? {
            match self.start_or_join(tx, &request).await {
                Ok(Executed::Started(run, after)) => return Ok((run, after)),
                Err(RunError::Store(error)) if !matches!(error, StoreError::Undone) => {
                    return Err(error.into());
                }
                Ok(Executed::Joined(..)) | Err(_) => {}
            }
        }
        match self.start_or_join(self.begin(project_id).await?, &request).await? {
            Executed::Started(run, after) | Executed::Joined(run, after) => Ok((run, after)),
        }
    }

    async fn start_or_join(
        &self,
        mut tx: ProjectTx<'_>,
        request: &RunRequest<'_>,
    ) -> Result<Executed, RunError> {
        let project_id = &tx.project.id.clone();
        let current = &tx.project.current_phase;
        // The current phase may be missing in a workflow that was changed since.
        let current = self.workflow.phase(current).map_or(self.workflow.first(), |phase| &phase.name);
        let phase = request.phase.unwrap_or(current).to_owned();
        self.check_phase(&tx.project, &phase)?;
        let latest = tables::runs::latest_locked(tx.inner(), project_id).await?;
        let seen = events::last(tx.inner(), &Project::stream(project_id)).await?;
        let (mut run, is_new) = match latest {
            Some(run) if run.last_event.is_none() && run.phase == phase => {
                if !request.is_met_by(&run) {
                    return Err(RunError::Conflict(format!(
                        "phase `{phase}` is {} with another `provider` or `model`: leave them out to join it",
                        run.status.as_str()
                    )));
                }
                let before = run.first_event - 1;
                return Ok(Executed::Joined(run, before));
            }
            Some(run) if run.last_event.is_none() => {
                let (status, other) = (run.status.as_str(), run.phase);
                return Err(RunError::Conflict(format!(
                    "phase `{other}` is {status}: `{phase}` can be executed when that is over"
                )));
            }
            Some(run) if run.status == RunStatus::Error && run.phase == phase => (run, false),
            _ => (new_run(&tx, &phase, seen), true),
        };
        if let Some(guest) = request.guest {
            self.guest_limits.check_runs(tx.inner(), guest).await?;
            let now = tx.now().0;
            tables::guests::started(tx.inner(), project_id, &guest.address, now);
        }
        run.status = RunStatus::Running;
        run.caller = request.caller.clone();
        run.guest_address = request.guest.map(|guest| guest.address.clone());
        // Those of the one who starts it, also if an earlier start had others: they may cost money.
        run.provider = request.provider.map(str::to_owned);
        run.model = request.model.map(str::to_owned);
        run.last_event = None;
        run.ended_at = None;
        run.reason.clear();
        run.job_id = Some(enqueue(&mut tx, &run).await?);
        if is_new {
            tables::runs::insert(tx.inner(), &run);
            tx.log(Level::Info, &phase, None, format!("phase `{phase}` starts"));
        } else {
            tables::runs::update(tx.inner(), &run);
            let reason = "executed again after an error: it goes on after the last step that had ended";
            let resumed =
                Resumed { phase: phase.clone(), reason: Some(reason.to_owned()), ..Resumed::default() };
            tx.event(RunEvent::Resumed(resumed));
            tx.log(Level::Info, &phase, None, reason);
        }
        tables::projects::set_status(tx.inner(), project_id, ProjectStatus::Running);
        tx.commit().await?;
        Ok(Executed::Started(run, seen))
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

    /// Stops the project's run until it is resumed, and returns the run.
    pub async fn interrupt(&self, project_id: &str, reason: &str) -> Result<Run, RunError> {
        self.signal(project_id, Signal::Interrupt, reason).await
    }

    /// Ends the project's run for good, and returns it. Artifacts of complete steps stay.
    pub async fn cancel(&self, project_id: &str, reason: &str) -> Result<Run, RunError> {
        self.signal(project_id, Signal::Cancel, reason).await
    }

    async fn signal(&self, project_id: &str, signal: Signal, reason: &str) -> Result<Run, RunError> {
        let mut tx = self.begin(project_id).await?;
        let mut run = open_run(&mut tx).await?;
        if run.status == RunStatus::Interrupted && signal == Signal::Interrupt {
            return Ok(run);
        }
        // A cancellation is not replaced by a later interruption.
        if run.signal != Some(Signal::Cancel) {
            run.signal = Some(signal);
            run.reason = reason.to_owned();
        }
        let has_worker = match run.job_id {
            Some(job) => jobs::cancel(tx.inner(), job).await? == Cancel::Requested,
            None => false,
        };
        if has_worker {
            tables::runs::update(tx.inner(), &run);
            tx.commit().await?;
            return Ok(self.wait_until_stopped(run).await?);
        }
        apply_signal(&mut tx, &mut run, &self.workflow).await?;
        tx.commit().await?;
        Ok(run)
    }

    /// Returns the run after its worker has stopped it, or as it is after `STOP_WAIT`.
    async fn wait_until_stopped(&self, mut run: Run) -> Result<Run, StoreError> {
        let mut wakeup = events::watch(&self.db, &Project::stream(&run.project_id));
        let deadline = tokio::time::Instant::now() + STOP_WAIT;
        loop {
            match tables::runs::get(&self.db, &run.id).await? {
                Some(now) => run = now,
                None => return Ok(run),
            }
            if run.status != RunStatus::Running
                || tokio::time::timeout_at(deadline, wakeup.notified()).await.is_err()
            {
                return Ok(run);
            }
        }
    }

    /// Continues an interrupted run. If artifacts wait for approval, `decision` answers the approval `approval_id`, which
    /// may be left out if only one waits; the run continues when none waits any longer.
    pub async fn resume(
        &self,
        project_id: &str,
        approval_id: Option<&str>,
        decision: Option<Decision>,
        by: &str,
    ) -> Result<Run, RunError> {
        let mut tx = self.begin(project_id).await?;
        // Before the state of the run: the earlier decision may have continued it.
        if let Some(id) = approval_id {
            refuse_decided(&mut tx, id).await?;
        }
        let mut run = open_run(&mut tx).await?;
        if run.status != RunStatus::Interrupted {
            return Err(RunError::Conflict(
                "the project is not interrupted: there is nothing to resume".into(),
            ));
        }
        let checkpoints = tables::checkpoints::of_run_locked(tx.inner(), &run.id).await?.into_iter();
        let mut waiting: Vec<Checkpoint> =
            checkpoints.filter(|checkpoint| checkpoint.status == CheckpointStatus::Waiting).collect();
        let mut resumed =
            Resumed { phase: run.phase.clone(), decision: Some(DecisionKind::Approve), ..Resumed::default() };
        if waiting.is_empty() {
            check_plain_resume(approval_id, decision.as_ref())?;
        } else {
            let approval = waiting.remove(find_approval(&waiting, approval_id)?);
            let decision = decision.ok_or_else(|| {
                RunError::Invalid("`decision` is missing: one of approve, reject, edit".into())
            })?;
            resumed.approval_id = Some(approval.id.clone());
            resumed.agent = approval.agent.clone();
            resumed.decision = Some(decision.kind());
            resumed.artifact_id = decide(&mut tx, approval, decision, by).await?;
        }
        resumed.waiting = Some(waiting.len());
        if waiting.is_empty() {
            run.status = RunStatus::Running;
            run.signal = None;
            run.reason.clear();
            run.job_id = Some(enqueue(&mut tx, &run).await?);
            tables::runs::update(tx.inner(), &run);
            tables::projects::set_status(tx.inner(), project_id, ProjectStatus::Running);
            tx.log(Level::Info, &run.phase, None, format!("resumed by {by}"));
        } else if let Some(agent) = waiting.first().and_then(|checkpoint| checkpoint.agent.as_deref()) {
            run.reason = approval_reason(agent);
            tables::runs::update(tx.inner(), &run);
        }
        tx.event(RunEvent::Resumed(resumed));
        tx.commit().await?;
        Ok(run)
    }

    async fn begin(&self, project_id: &str) -> Result<ProjectTx<'static>, RunError> {
        let tx = ProjectTx::begin(&self.db, project_id).await?;
        tx.ok_or_else(|| RunError::NoProject(project_id.to_owned()))
    }
}

/// Checks a request to resume a run of which no artifact waits for approval.
fn check_plain_resume(approval_id: Option<&str>, decision: Option<&Decision>) -> Result<(), RunError> {
    if let Some(id) = approval_id {
        return Err(not_waiting(id));
    }
    match decision {
        None | Some(Decision::Approve) => Ok(()),
        Some(_) => {
            Err(RunError::Invalid("no artifact waits for approval: `decision` can only be `approve`".into()))
        }
    }
}

/// Returns the index of the approval that is meant.
fn find_approval(waiting: &[Checkpoint], approval_id: Option<&str>) -> Result<usize, RunError> {
    match approval_id {
        None if waiting.len() > 1 => Err(which_one(waiting)),
        None => Ok(0),
        Some(id) => {
            let index = waiting.iter().position(|checkpoint| checkpoint.id == id);
            index.ok_or_else(|| not_waiting(id))
        }
    }
}

/// Returns a new run of which no event is written yet: the stream's last is `seen`.
fn new_run(tx: &ProjectTx<'_>, phase: &str, seen: i64) -> Run {
    Run {
        id: tx.new_id(),
        project_id: tx.project.id.clone(),
        phase: phase.to_owned(),
        status: RunStatus::Running,
        signal: None,
        reason: String::new(),
        provider: None,
        model: None,
        caller: None,
        guest_address: None,
        job_id: None,
        first_event: seen + 1,
        last_event: None,
        created_at: tx.now(),
        ended_at: None,
    }
}

async fn enqueue(tx: &mut ProjectTx<'_>, run: &Run) -> Result<i64, StoreError> {
    let job = RunJob { project_id: run.project_id.clone(), run_id: run.id.clone() };
    run_job::enqueue(tx.inner(), &job).await
}

async fn open_run(tx: &mut ProjectTx<'_>) -> Result<Run, RunError> {
    let project_id = tx.project.id.clone();
    let latest = tables::runs::latest_locked(tx.inner(), &project_id).await?;
    latest.filter(|run| run.last_event.is_none()).ok_or_else(|| {
        let status = tx.project.status.as_str();
        RunError::Conflict(format!("the project is `{status}`: it has no run"))
    })
}
