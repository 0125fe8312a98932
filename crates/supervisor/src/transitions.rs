//! The transitions of a run that is open: interrupted, waiting for approval, cancelled, failed, complete. They are written
//! by the run's worker, by the request that asks for them if no worker has the run, or by the worker that takes over.

use crate::events::{Cancelled, Interrupt, PhaseComplete, RunEvent, RunFailed};
use crate::project_tx::ProjectTx;
use crate::records::{Checkpoint, Run};
use crate::status::{CheckpointStatus, Level, ProjectStatus, RunStatus, Signal, StoredName};
use crate::tables;
use crate::workflow::Workflow;
use metrics::counter;
use store::StoreError;

/// Cancels or interrupts the run, as its signal says; interrupts it if it has none.
pub async fn apply_signal(
    tx: &mut ProjectTx<'_>,
    run: &mut Run,
    workflow: &Workflow,
) -> Result<(), StoreError> {
    match run.signal {
        Some(Signal::Cancel) => cancel(tx, run, workflow).await,
        Some(Signal::Interrupt) | None => interrupt(tx, run).await,
    }
}

/// Ends the run and abandons the steps that have begun.
async fn cancel(tx: &mut ProjectTx<'_>, run: &mut Run, workflow: &Workflow) -> Result<(), StoreError> {
    let now = tx.now();
    tx.inner().flush().await?;
    tables::traces::interrupt_all(tx.inner(), &run.id, now).await?;
    tx.event(RunEvent::Cancelled(Cancelled { phase: run.phase.clone(), reason: run.reason.clone() }));
    tx.log(Level::Warn, &run.phase, None, with_reason("cancelled", &run.reason));
    end(tx, run, RunStatus::Cancelled);
    let project = tx.project.id.clone();
    tables::projects::settle(tx.inner(), &project, None, workflow.last());
    Ok(())
}

/// Stops the run and abandons the steps that have begun: they begin again when the run is resumed.
async fn interrupt(tx: &mut ProjectTx<'_>, run: &mut Run) -> Result<(), StoreError> {
    let now = tx.now();
    tx.inner().flush().await?;
    let abandoned = tables::traces::interrupt_all(tx.inner(), &run.id, now).await?;
    let agent = abandoned.first().cloned();
    let checkpoints = tables::checkpoints::of_run_locked(tx.inner(), &run.id).await?;
    let ended = checkpoints.iter().map(|checkpoint| checkpoint.step).max().unwrap_or(0);
    let checkpoint =
        Checkpoint { agent: agent.clone(), ..new_checkpoint(tx, run, ended, CheckpointStatus::Interrupted) };
    tables::checkpoints::insert(tx.inner(), &checkpoint);
    tx.event(RunEvent::Interrupt(Interrupt {
        agent: agent.clone(),
        agents: Some(abandoned),
        phase: run.phase.clone(),
        reason: run.reason.clone(),
        approval_id: None,
    }));
    tx.log(Level::Warn, &run.phase, agent.as_deref(), with_reason("interrupted", &run.reason));
    // Artifacts may wait for approval already, while the other agents were at work.
    let waiting = checkpoints.into_iter().filter(|checkpoint| checkpoint.status == CheckpointStatus::Waiting);
    let waiting: Vec<(String, String)> =
        waiting.map(|checkpoint| (checkpoint.agent.unwrap_or_default(), checkpoint.id)).collect();
    await_approval(tx, run, &waiting);
    Ok(())
}

/// Stops the run until the artifacts of these agents and checkpoints are approved, edited or rejected.
pub fn await_approval(tx: &mut ProjectTx<'_>, run: &mut Run, waiting: &[(String, String)]) {
    for (agent, approval_id) in waiting {
        let reason = approval_reason(agent);
        tx.event(RunEvent::Interrupt(Interrupt {
            agent: Some(agent.clone()),
            agents: None,
            phase: run.phase.clone(),
            reason: reason.clone(),
            approval_id: Some(approval_id.clone()),
        }));
        tx.log(Level::Info, &run.phase, Some(agent), reason.clone());
        if run.reason.is_empty() {
            run.reason = reason;
        }
    }
    run.status = RunStatus::Interrupted;
    run.signal = Some(Signal::Interrupt);
    run.job_id = None;
    tables::runs::update(tx.inner(), run);
    counter!("supervisor_interrupts_total").increment(1);
    set_project_status(tx, ProjectStatus::Interrupted);
}

/// Returns why a run waits for the approval of an agent's artifact.
pub fn approval_reason(agent: &str) -> String {
    format!("the artifact of `{agent}` waits for approval")
}

/// Ends the run in error. `agent` is the one whose step failed.
pub async fn fail(
    tx: &mut ProjectTx<'_>,
    run: &mut Run,
    agent: Option<&str>,
    message: &str,
) -> Result<(), StoreError> {
    let now = tx.now();
    tx.inner().flush().await?;
    tables::traces::interrupt_all(tx.inner(), &run.id, now).await?;
    run.reason = message.to_owned();
    tx.event(RunEvent::Error(RunFailed {
        agent: agent.map(str::to_owned),
        phase: run.phase.clone(),
        message: message.to_owned(),
    }));
    tx.log(Level::Error, &run.phase, agent, format!("the run ends in error: {message}"));
    end(tx, run, RunStatus::Error);
    set_project_status(tx, ProjectStatus::Error);
    Ok(())
}

/// Ends the run after every agent of the phase is complete, and moves the project on to the next phase.
pub fn complete(tx: &mut ProjectTx<'_>, run: &mut Run, workflow: &Workflow) {
    let (project, now) = (tx.project.id.clone(), tx.now());
    let agents = workflow.phase(&run.phase).map_or(&[][..], |phase| &phase.agents);
    let agents: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    tables::traces::interrupt_others(tx.inner(), &run.id, &agents, now);
    let current = workflow.position(&tx.project.current_phase);
    let position = workflow.position(&run.phase);
    let next =
        position.and_then(|position| workflow.phases.get(position + 1)).map(|phase| phase.name.as_str());
    let moves_on = current.is_none() || current == position;
    match next {
        Some(next) => {
            let phase = moves_on.then_some(next);
            tables::projects::settle(tx.inner(), &project, phase, workflow.last());
        }
        None => set_project_status(tx, ProjectStatus::Complete),
    }
    tx.event(RunEvent::PhaseComplete(PhaseComplete {
        phase: run.phase.clone(),
        status: RunStatus::Complete,
    }));
    tx.log(Level::Info, &run.phase, None, format!("phase `{}` is complete", run.phase));
    end(tx, run, RunStatus::Complete);
}

fn set_project_status(tx: &mut ProjectTx<'_>, status: ProjectStatus) {
    let project = tx.project.id.clone();
    tables::projects::set_status(tx.inner(), &project, status);
}

fn end(tx: &mut ProjectTx<'_>, run: &mut Run, status: RunStatus) {
    run.status = status;
    run.signal = None;
    run.job_id = None;
    run.guest_address = None;
    run.ended_at = Some(tx.now());
    counter!("supervisor_runs_total", "status" => status.as_str()).increment(1);
    tx.end_run(run.clone());
}

/// Returns a new checkpoint of the run, without an agent.
pub fn new_checkpoint(tx: &ProjectTx<'_>, run: &Run, step: i64, status: CheckpointStatus) -> Checkpoint {
    Checkpoint {
        id: tx.new_id(),
        project_id: run.project_id.clone(),
        run_id: run.id.clone(),
        phase: run.phase.clone(),
        agent: None,
        step,
        status,
        artifact_id: None,
        feedback: None,
        decided_by: None,
        decided_at: None,
        created_at: tx.now(),
    }
}

fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
