//! One turn of a run: the one transaction in which steps end and others begin.

use super::board::{Board, Place};
use super::step::Written;
use super::{AGENTS_AT_ONCE, Drive, Outcome, Turn};
use crate::entry::Entry;
use crate::halt;
use crate::records::{Artifact, Trace};
use crate::tables;
use crate::words::{Level, Mark, TraceStatus, Word};
use metrics::{counter, histogram};
use serde_json::json;
use std::time::Instant;
use store::{StoreError, jobs};

impl Drive<'_> {
    /// One transaction: what has ended is stored, what is due begins, and where nothing is left the run is over.
    pub(super) async fn turn(&mut self, ended: &[Outcome]) -> Result<Turn, StoreError> {
        let started = Instant::now();
        let Some(mut entry) = self.open().await? else {
            // The project is gone.
            self.runner.finish(self.job).await?;
            return Ok(Turn::Over);
        };
        let Some(mut run) = tables::runs::get_locked(entry.tx(), &self.run.id).await? else {
            return Err(self.lost());
        };
        let mut board = self.board.clone();
        let mut failure = self.failure.clone();
        for (place, outcome) in ended {
            match outcome {
                Ok(written) => self.store(&mut entry, &mut board, *place, written).await?,
                Err(why) => {
                    let agent = &self.phase.agents[*place].name;
                    if let Place::Running { trace, .. } = board.place(*place) {
                        let now = entry.now();
                        tables::traces::fail(entry.tx(), trace, why, now).await?;
                    }
                    board.set(*place, Place::Due { feedback: None });
                    failure.get_or_insert((agent.clone(), why.clone()));
                }
            }
        }
        let nobody_more = failure.is_some() || run.signal.is_some();
        let due = if nobody_more { Vec::new() } else { board.due(self.phase, AGENTS_AT_ONCE) };
        for place in &due {
            self.start(&mut entry, &mut board, *place).await?;
        }
        let over = board.running().is_empty();
        if over {
            match &failure {
                // Whoever asks for it stops it where it stands.
                _ if run.signal.is_some() => halt::halt(&mut entry, &mut run, &self.runner.workflow).await?,
                Some((agent, why)) => halt::fail(&mut entry, &mut run, Some(agent), why).await?,
                None if board.is_complete() => {
                    halt::complete(&mut entry, &mut run, &self.runner.workflow).await?
                }
                None => halt::await_approval(&mut entry, &mut run, &board.waiting(self.phase)).await?,
            }
            jobs::complete(entry.tx(), self.job).await?;
        }
        entry.commit().await?;
        histogram!("supervisor_commit_seconds").record(started.elapsed());
        for (_, outcome) in ended {
            let status = if outcome.is_ok() { TraceStatus::Complete } else { TraceStatus::Error };
            counter!("supervisor_steps_total", "status" => status.as_str()).increment(1);
        }
        self.board = board;
        self.failure = failure;
        Ok(if over { Turn::Over } else { Turn::GoesOn(due) })
    }

    /// A step's artifact, trace, checkpoint and events.
    async fn store(
        &self,
        entry: &mut Entry<'_>,
        board: &mut Board,
        place: usize,
        written: &Written,
    ) -> Result<(), StoreError> {
        let (run, agent) = (&self.run, &self.phase.agents[place]);
        let now = entry.now();
        let mut artifact = Artifact {
            id: entry.new_id(),
            project_id: run.project_id.clone(),
            run_id: run.id.clone(),
            phase: run.phase.clone(),
            agent: agent.name.clone(),
            kind: agent.output.as_str().to_owned(),
            content: written.content.clone(),
            version: 0,
            superseded: false,
            edited_by: None,
            created_at: now,
        };
        tables::artifacts::insert(entry.tx(), &mut artifact).await?;
        if let Place::Running { trace, .. } = board.place(place) {
            let ended = Trace {
                id: trace.clone(),
                input_tokens: Some(written.input_tokens),
                output_tokens: Some(written.output_tokens),
                ended_at: Some(now),
                ..self.new_trace(entry, place, &written.provider, &written.model)
            };
            tables::traces::complete(entry.tx(), &ended).await?;
        }
        board.step += 1;
        let mark = if agent.approval { Mark::Waiting } else { Mark::Complete };
        let mut checkpoint = halt::checkpoint(entry, run, board.step, mark);
        checkpoint.agent = Some(agent.name.clone());
        checkpoint.artifact_id = Some(artifact.id.clone());
        tables::checkpoints::insert(entry.tx(), &checkpoint).await?;
        entry.event("agent_progress", json!({ "agent": agent.name, "phase": run.phase, "progress": 100 }));
        entry.event(
            "agent_complete",
            json!({ "agent": agent.name, "phase": run.phase, "artifactId": artifact.id }),
        );
        let message = format!("`{}` is complete: version {} of its artifact", agent.name, artifact.version);
        entry.log(Level::Info, &run.phase, Some(&agent.name), message);
        if let Some(note) = &written.note {
            entry.log(Level::Warn, &run.phase, Some(&agent.name), note);
        }
        let next = match mark {
            Mark::Waiting => Place::Waiting { approval: checkpoint.id },
            _ => Place::Done { artifact: artifact.id },
        };
        board.set(place, next);
        Ok(())
    }

    async fn start(&self, entry: &mut Entry<'_>, board: &mut Board, place: usize) -> Result<(), StoreError> {
        let agent = &self.phase.agents[place];
        let model = self.runner.stepper.model(agent, &self.run);
        let trace = self.new_trace(entry, place, model.provider(), model.model());
        tables::traces::insert(entry.tx(), &trace).await?;
        entry.event("agent_start", json!({ "agent": agent.name, "phase": self.run.phase }));
        entry.log(Level::Info, &self.run.phase, Some(&agent.name), format!("`{}` starts", agent.name));
        let feedback = board.feedback(place).cloned();
        board.set(place, Place::Running { trace: trace.id, progress: 0, feedback });
        Ok(())
    }

    fn new_trace(&self, entry: &Entry<'_>, place: usize, provider: &str, model: &str) -> Trace {
        Trace {
            id: entry.new_id(),
            project_id: self.run.project_id.clone(),
            run_id: self.run.id.clone(),
            phase: self.run.phase.clone(),
            agent: self.phase.agents[place].name.clone(),
            status: TraceStatus::Running,
            progress: 0,
            provider: provider.to_owned(),
            model: model.to_owned(),
            input_tokens: None,
            output_tokens: None,
            error: None,
            started_at: entry.now(),
            ended_at: None,
        }
    }
}
