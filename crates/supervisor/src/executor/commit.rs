//! The transaction in which steps of a run end and others begin.

use super::run_state::{AgentState, RunState};
use super::step::StepOutput;
use super::{Execution, MAX_AGENTS, Next, Outcome};
use crate::events::{AgentComplete, AgentStart, RunEvent};
use crate::project_tx::ProjectTx;
use crate::records::{Artifact, Trace};
use crate::status::{CheckpointStatus, Level, StoredName, TraceStatus};
use crate::tables;
use crate::transitions;
use metrics::{counter, histogram};
use std::time::Instant;
use store::{StoreError, jobs};

impl Execution<'_> {
    /// Stores the steps that have ended, starts the agents that are due, and stops the run if nothing is left to do, all
    /// in one transaction.
    pub(super) async fn commit_steps(&mut self, ended: &[Outcome]) -> Result<Next, StoreError> {
        let started = Instant::now();
        let Some((mut tx, is_asked_to_stop)) = self.begin().await? else {
            // The project was deleted.
            self.executor.finish_job(self.job).await?;
            return Ok(Next::Stop);
        };
        // The state changes only if the transaction is committed.
        let mut state = self.state.clone();
        let mut failure = self.failure.clone();
        for (index, outcome) in ended {
            match outcome {
                Ok(output) => self.store_output(&mut tx, &mut state, *index, output),
                Err(why) => {
                    let agent = &self.phase.agents[*index].name;
                    if let AgentState::Running { trace, .. } = state.agent(*index) {
                        let now = tx.now();
                        tables::traces::fail(tx.inner(), trace, why, now).await?;
                    }
                    state.set(*index, AgentState::Due { feedback: None });
                    failure.get_or_insert((agent.clone(), why.clone()));
                }
            }
        }
        let starts_none = failure.is_some() || is_asked_to_stop;
        let due = if starts_none { Vec::new() } else { state.due(self.phase, MAX_AGENTS) };
        for index in &due {
            self.start(&mut tx, &mut state, *index);
        }
        let is_over = state.running().is_empty();
        if is_over {
            self.stop_run(&mut tx, &state, failure.as_ref(), is_asked_to_stop).await?;
            jobs::complete_held(tx.inner(), self.job);
        }
        tx.commit().await?;
        histogram!("supervisor_commit_seconds").record(started.elapsed());
        for (_, outcome) in ended {
            let status = if outcome.is_ok() { TraceStatus::Complete } else { TraceStatus::Error };
            counter!("supervisor_steps_total", "status" => status.as_str()).increment(1);
        }
        self.state = state;
        self.failure = failure;
        Ok(if is_over { Next::Stop } else { Next::Start(due) })
    }

    /// Stops a run of which no agent is at work and none is due.
    async fn stop_run(
        &self,
        tx: &mut ProjectTx<'_>,
        state: &RunState,
        failure: Option<&(String, String)>,
        is_asked_to_stop: bool,
    ) -> Result<(), StoreError> {
        let workflow = &self.executor.workflow;
        if is_asked_to_stop {
            // A request to stop comes before everything else.
            let run = tables::runs::get_locked(tx.inner(), &self.run.id).await?;
            let mut run = run.ok_or_else(|| self.lease_lost())?;
            return transitions::apply_signal(tx, &mut run, workflow).await;
        }
        let mut run = self.run.clone();
        match failure {
            Some((agent, why)) => return transitions::fail(tx, &mut run, Some(agent), why).await,
            None if state.is_complete() => transitions::complete(tx, &mut run, workflow),
            None => transitions::await_approval(tx, &mut run, &state.waiting(self.phase)),
        }
        Ok(())
    }

    /// Stores the artifact, trace, checkpoint and events of a step that has ended.
    fn store_output(&self, tx: &mut ProjectTx<'_>, state: &mut RunState, index: usize, output: &StepOutput) {
        let (run, agent) = (&self.run, &self.phase.agents[index]);
        let now = tx.now();
        let artifact = Artifact {
            id: tx.new_id(),
            project_id: run.project_id.clone(),
            run_id: run.id.clone(),
            phase: run.phase.clone(),
            agent: agent.name.clone(),
            kind: agent.output,
            content: output.content.clone(),
            version: state.next_version(index),
            superseded: false,
            edited_by: None,
            created_at: now,
        };
        tables::artifacts::insert(tx.inner(), &artifact);
        if let Some(address) = &run.guest_address {
            tables::guests::stored(tx.inner(), &run.project_id, address, &artifact.content);
        }
        if let AgentState::Running { trace, .. } = state.agent(index) {
            let ended = Trace {
                id: trace.clone(),
                input_tokens: Some(output.input_tokens),
                output_tokens: Some(output.output_tokens),
                ended_at: Some(now),
                ..self.new_trace(tx, index, &output.provider, &output.model)
            };
            tables::traces::complete(tx.inner(), &ended);
        }
        state.step += 1;
        let status = if agent.approval { CheckpointStatus::Waiting } else { CheckpointStatus::Complete };
        let mut checkpoint = transitions::new_checkpoint(tx, run, state.step, status);
        checkpoint.agent = Some(agent.name.clone());
        checkpoint.artifact_id = Some(artifact.id.clone());
        tables::checkpoints::insert(tx.inner(), &checkpoint);
        tx.event(RunEvent::AgentProgress(self.progress_of(index, 100)));
        tx.event(RunEvent::AgentComplete(AgentComplete {
            agent: agent.name.clone(),
            phase: run.phase.clone(),
            artifact_id: Some(artifact.id.clone()),
            artifact: None,
        }));
        let message = format!("`{}` is complete: version {} of its artifact", agent.name, artifact.version);
        tx.log(Level::Info, &run.phase, Some(&agent.name), message);
        if let Some(note) = &output.note {
            tx.log(Level::Warn, &run.phase, Some(&agent.name), note);
        }
        let next = match agent.approval {
            true => AgentState::Waiting { approval: checkpoint.id },
            false => AgentState::Done { artifact: artifact.id },
        };
        state.set(index, next);
    }

    fn start(&self, tx: &mut ProjectTx<'_>, state: &mut RunState, index: usize) {
        let agent = &self.phase.agents[index];
        let model = self.executor.step_runner.model(agent, &self.run);
        let trace = self.new_trace(tx, index, model.provider(), model.model());
        tables::traces::insert(tx.inner(), &trace);
        let phase = self.run.phase.clone();
        tx.event(RunEvent::AgentStart(AgentStart { agent: agent.name.clone(), phase }));
        tx.log(Level::Info, &self.run.phase, Some(&agent.name), format!("`{}` starts", agent.name));
        let feedback = state.feedback(index).cloned();
        state.set(index, AgentState::Running { trace: trace.id, progress: 0, feedback });
    }

    fn new_trace(&self, tx: &ProjectTx<'_>, index: usize, provider: &str, model: &str) -> Trace {
        Trace {
            id: tx.new_id(),
            project_id: self.run.project_id.clone(),
            run_id: self.run.id.clone(),
            phase: self.run.phase.clone(),
            agent: self.phase.agents[index].name.clone(),
            status: TraceStatus::Running,
            progress: 0,
            provider: provider.to_owned(),
            model: model.to_owned(),
            input_tokens: None,
            output_tokens: None,
            error: None,
            started_at: tx.now(),
            ended_at: None,
        }
    }
}
