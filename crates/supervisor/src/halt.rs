//! The ways in which a run stops: interrupted, cancelled, failed, complete. Whoever finds that it has to stop writes
//! it, be that the worker, the person who asked, or the next worker after a dead one.

use crate::entry::Entry;
use crate::records::{Checkpoint, Run};
use crate::tables;
use crate::words::{Level, Mark, ProjectStatus, RunStatus, Signal, Word};
use crate::workflow::Workflow;
use metrics::counter;
use serde_json::json;
use store::StoreError;

/// Does what the run's signal says; without one, it is an interruption.
pub async fn halt(entry: &mut Entry<'_>, run: &mut Run, workflow: &Workflow) -> Result<(), StoreError> {
    match run.signal {
        Some(Signal::Cancel) => cancel(entry, run, workflow).await,
        Some(Signal::Interrupt) | None => interrupt(entry, run).await,
    }
}

/// Abandons what its agents have begun, for good.
async fn cancel(entry: &mut Entry<'_>, run: &mut Run, workflow: &Workflow) -> Result<(), StoreError> {
    let now = entry.now();
    tables::traces::interrupt_all(entry.tx(), &run.id, now).await?;
    entry.event("cancelled", json!({ "phase": run.phase, "reason": run.reason }));
    entry.log(Level::Warn, &run.phase, None, with_reason("cancelled", &run.reason));
    end(entry, run, RunStatus::Cancelled);
    settle_status(entry, workflow).await
}

/// Abandons what its agents have begun: they begin again when the run is resumed.
async fn interrupt(entry: &mut Entry<'_>, run: &mut Run) -> Result<(), StoreError> {
    let now = entry.now();
    let abandoned = tables::traces::interrupt_all(entry.tx(), &run.id, now).await?;
    let agent = abandoned.first().cloned();
    let checkpoints = tables::checkpoints::of_run_locked(entry.tx(), &run.id).await?;
    let ended = checkpoints.iter().map(|checkpoint| checkpoint.step).max().unwrap_or(0);
    let checkpoint = Checkpoint { agent: agent.clone(), ..checkpoint(entry, run, ended, Mark::Interrupted) };
    tables::checkpoints::insert(entry.tx(), &checkpoint).await?;
    entry.event(
        "interrupt",
        json!({ "agent": agent, "agents": abandoned, "phase": run.phase, "reason": run.reason, "approvalId": null }),
    );
    entry.log(Level::Warn, &run.phase, agent.as_deref(), with_reason("interrupted", &run.reason));
    // Those that had to wait for the others are told of as well.
    let waiting = checkpoints.into_iter().filter(|checkpoint| checkpoint.mark == Mark::Waiting);
    let waiting: Vec<(String, String)> =
        waiting.map(|checkpoint| (checkpoint.agent.unwrap_or_default(), checkpoint.id)).collect();
    await_approval(entry, run, &waiting).await
}

/// Stops until the artifacts of these checkpoints are approved, edited or rejected.
pub async fn await_approval(
    entry: &mut Entry<'_>,
    run: &mut Run,
    waiting: &[(String, String)],
) -> Result<(), StoreError> {
    for (agent, approval_id) in waiting {
        let reason = waits(agent);
        let told = json!({ "agent": agent, "phase": run.phase, "reason": reason, "approvalId": approval_id });
        entry.event("interrupt", told);
        entry.log(Level::Info, &run.phase, Some(agent), reason.clone());
        if run.reason.is_empty() {
            run.reason = reason;
        }
    }
    run.status = RunStatus::Interrupted;
    run.signal = Some(Signal::Interrupt);
    run.job_id = None;
    tables::runs::update(entry.tx(), run).await?;
    let project = entry.project.id.clone();
    counter!("supervisor_interrupts_total").increment(1);
    tables::projects::set_status(entry.tx(), &project, ProjectStatus::Interrupted).await
}

pub fn waits(agent: &str) -> String {
    format!("the artifact of `{agent}` waits for approval")
}

/// A step has failed for good.
pub async fn fail(
    entry: &mut Entry<'_>,
    run: &mut Run,
    agent: Option<&str>,
    message: &str,
) -> Result<(), StoreError> {
    let now = entry.now();
    tables::traces::interrupt_all(entry.tx(), &run.id, now).await?;
    run.reason = message.to_owned();
    entry.event("error", json!({ "agent": agent, "phase": run.phase, "message": message }));
    entry.log(Level::Error, &run.phase, agent, format!("the run ends in error: {message}"));
    end(entry, run, RunStatus::Error);
    let project = entry.project.id.clone();
    tables::projects::set_status(entry.tx(), &project, ProjectStatus::Error).await
}

/// Every agent of the phase is done: the project is at the next.
pub async fn complete(entry: &mut Entry<'_>, run: &mut Run, workflow: &Workflow) -> Result<(), StoreError> {
    let (project, now) = (entry.project.id.clone(), entry.now());
    // Of agents that the workflow has no more.
    tables::traces::interrupt_all(entry.tx(), &run.id, now).await?;
    // Written before the question which phases are complete.
    run.status = RunStatus::Complete;
    tables::runs::update(entry.tx(), run).await?;
    let current = workflow.position(&entry.project.current_phase);
    if current.is_none_or(|current| Some(current) == workflow.position(&run.phase)) {
        let position = workflow.position(&run.phase).unwrap_or(0);
        if let Some(next) = workflow.phases.get(position + 1) {
            tables::projects::set_phase(entry.tx(), &project, &next.name).await?;
        }
    }
    entry.event("phase_complete", json!({ "phase": run.phase, "status": RunStatus::Complete.as_str() }));
    entry.log(Level::Info, &run.phase, None, format!("phase `{}` is complete", run.phase));
    end(entry, run, RunStatus::Complete);
    settle_status(entry, workflow).await
}

/// What a project is when nothing runs.
async fn settle_status(entry: &mut Entry<'_>, workflow: &Workflow) -> Result<(), StoreError> {
    let project = entry.project.id.clone();
    let is_complete = tables::runs::has_completed(entry.tx(), &project, workflow.last()).await?;
    let status = if is_complete { ProjectStatus::Complete } else { ProjectStatus::Active };
    tables::projects::set_status(entry.tx(), &project, status).await
}

fn end(entry: &mut Entry<'_>, run: &mut Run, status: RunStatus) {
    run.status = status;
    run.signal = None;
    run.job_id = None;
    run.guest_address = None;
    run.ended_at = Some(entry.now());
    counter!("supervisor_runs_total", "status" => status.as_str()).increment(1);
    entry.ends(run.clone());
}

/// One of the run, without an agent yet.
pub fn checkpoint(entry: &Entry<'_>, run: &Run, step: i64, mark: Mark) -> Checkpoint {
    Checkpoint {
        id: entry.new_id(),
        project_id: run.project_id.clone(),
        run_id: run.id.clone(),
        phase: run.phase.clone(),
        agent: None,
        step,
        mark,
        artifact_id: None,
        feedback: None,
        decided_by: None,
        created_at: entry.now(),
    }
}

fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
