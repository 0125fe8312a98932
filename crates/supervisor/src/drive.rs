//! Carrying a run to its end: which agents are due, what each of them brings back, and when it is over.
//!
//! One worker drives a run at a time. Whatever has happened since its last transaction (steps that ended, steps that
//! begin) is one more: killed at any moment, the run goes on from there. `board` knows what is due, `step` how an
//! agent works, `halt` how a run stops.

mod board;
mod step;

pub use step::KnowledgeSearch;

use crate::entry::Entry;
use crate::halt;
use crate::records::{Artifact, Run, Trace};
use crate::runs::JOB;
use crate::tables;
use crate::words::{Level, Mark, RunStatus, TraceStatus};
use crate::workflow::{Phase, Workflow};
use board::{Board, Place};
use futures_util::future::BoxFuture;
use llm::Providers;
use metrics::{counter, histogram};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use step::{Report, Stepper, Written};
use store::jobs::{self, Handler, Job, JobError, Retry, Worker};
use store::{Db, StoreError, Tx};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Runs of one process at a time. Most of them wait for their models.
const RUNS_AT_ONCE: usize = 64;
/// Agents of one run at a time.
const AGENTS_AT_ONCE: usize = 4;
/// How long the database may be away before a run is given back to the queue.
const STORE_TRIES: u32 = 5;
const STORE_PAUSE: Duration = Duration::from_millis(300);
const REPORTS: usize = 64;

pub struct Runner {
    db: Db,
    workflow: Arc<Workflow>,
    stepper: Stepper,
}

pub fn worker(
    db: Db,
    workflow: Arc<Workflow>,
    providers: Arc<Providers>,
    knowledge: Option<KnowledgeSearch>,
    lease: Duration,
) -> Worker {
    let stepper = Stepper::new(db.clone(), providers, knowledge);
    let runner = Arc::new(Runner { db: db.clone(), workflow, stepper });
    Worker { concurrency: RUNS_AT_ONCE, lease, ..Worker::new(db, &[JOB], runner) }
}

impl Handler for Runner {
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            match self.drive(&job, stop).await {
                Ok(()) => Ok(()),
                // Another worker has it.
                Err(error @ StoreError::LeaseLost { .. }) => Err(JobError::never(error.to_string())),
                Err(error) => {
                    Err(JobError { message: error.to_string(), retry: Retry::After(Duration::from_secs(1)) })
                }
            }
        })
    }

    /// Its worker died after somebody had asked for it to stop.
    fn given_up<'a>(&'a self, tx: &'a mut Tx, job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let Some(mut entry) = Entry::lent(tx, text(job, "projectId")).await? else { return Ok(()) };
            let run = tables::runs::get_locked(entry.tx(), text(job, "runId")).await?;
            if let Some(mut run) = run.filter(|run| run.job_id == Some(job.id)) {
                halt::halt(&mut entry, &mut run, &self.workflow).await?;
            }
            entry.commit().await
        })
    }
}

/// Where a turn has left the run.
enum Turn {
    /// These agents begin.
    GoesOn(Vec<usize>),
    Over,
}

/// What a step came to: an artifact, or why there is none.
type Outcome = (usize, Result<Written, String>);

struct Drive<'a> {
    runner: &'a Runner,
    job: &'a Job,
    phase: &'a Phase,
    run: Run,
    board: Board,
    /// The agent that failed for good, and how. The others may finish what they are at.
    failure: Option<(String, String)>,
}

impl Runner {
    async fn drive(&self, job: &Job, stop: CancellationToken) -> Result<(), StoreError> {
        let run = tables::runs::get(&self.db, text(job, "runId")).await?;
        let Some(run) = run.filter(|run| run.status == RunStatus::Running && run.job_id == Some(job.id))
        else {
            return self.finish(job).await;
        };
        let Some(phase) = self.workflow.phase(&run.phase) else {
            return self.refuse(job, run).await;
        };
        let checkpoints = tables::checkpoints::of_run(&self.db, &run.id).await?;
        let traces = tables::traces::running(&self.db, &run.id).await?;
        let board = Board::new(phase, &checkpoints, &traces);
        let mut drive = Drive { runner: self, job, phase, run, board, failure: None };
        drive.carry_on(stop).await
    }

    /// Nobody wants it any more.
    async fn finish(&self, job: &Job) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        jobs::complete(&mut tx, job).await?;
        tx.commit().await
    }

    /// The workflow has changed, and the run's phase is gone.
    async fn refuse(&self, job: &Job, mut run: Run) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        jobs::complete(&mut tx, job).await?;
        let Some(mut entry) = Entry::within(tx, &run.project_id).await? else {
            return self.finish(job).await;
        };
        let message = format!("phase `{}` is no longer part of the workflow", run.phase);
        halt::fail(&mut entry, &mut run, None, &message).await?;
        entry.commit().await
    }
}

impl Drive<'_> {
    async fn carry_on(&mut self, stop: CancellationToken) -> Result<(), StoreError> {
        let (reports, mut incoming) = mpsc::channel(REPORTS);
        // Dropped, it ends them all.
        let mut steps: JoinSet<Outcome> = JoinSet::new();
        for place in self.taken_up().await? {
            self.begin_step(place, &mut steps, &reports);
        }
        let mut ended: Vec<Outcome> = Vec::new();
        loop {
            match self.turn_patiently(&ended, &stop).await? {
                Turn::Over => return Ok(()),
                Turn::GoesOn(due) => {
                    due.into_iter().for_each(|place| self.begin_step(place, &mut steps, &reports))
                }
            }
            ended.clear();
            while ended.is_empty() {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {
                        steps.shutdown().await;
                        return self.stop().await;
                    }
                    Some(report) = incoming.recv() => self.note(report).await?,
                    Some(outcome) = steps.join_next() => {
                        ended.extend(outcome);
                        ended.extend(std::iter::from_fn(|| steps.try_join_next()).flatten());
                    }
                }
            }
        }
    }

    fn begin_step(&self, place: usize, steps: &mut JoinSet<Outcome>, reports: &mpsc::Sender<Report>) {
        let agent = self.phase.agents[place].clone();
        let stepper = self.runner.stepper.clone();
        let (run, feedback, reports) =
            (self.run.clone(), self.board.feedback(place).cloned(), reports.clone());
        let own_inputs = self.board.inputs_of_this_phase(self.phase, place);
        steps.spawn(async move {
            (place, stepper.work(place, &agent, &run, own_inputs, feedback, reports).await)
        });
    }

    /// The steps that were at work when another worker died, which begin once more.
    async fn taken_up(&mut self) -> Result<Vec<usize>, StoreError> {
        let places = self.board.running();
        if places.is_empty() {
            return Ok(places);
        }
        let Some(mut entry) = self.open().await? else { return Ok(Vec::new()) };
        for place in &places {
            let agent = &self.phase.agents[*place].name;
            let message = "its process had stopped: the step is taken up again";
            entry.log(Level::Warn, &self.run.phase, Some(agent), message);
        }
        entry.commit().await?;
        Ok(places)
    }

    /// A turn, tried again while the database is away: what the agents have written is not to be lost.
    async fn turn_patiently(
        &mut self,
        ended: &[Outcome],
        stop: &CancellationToken,
    ) -> Result<Turn, StoreError> {
        let mut tries = 0;
        loop {
            match self.turn(ended).await {
                Err(StoreError::Database(error)) if tries < STORE_TRIES && !stop.is_cancelled() => {
                    tries += 1;
                    tracing::warn!(run = self.run.id, %error, "a step cannot be stored yet");
                    tokio::time::sleep(STORE_PAUSE * tries).await;
                }
                done => return done,
            }
        }
    }

    /// One transaction: what has ended is stored, what is due begins, and where nothing is left the run is over.
    async fn turn(&mut self, ended: &[Outcome]) -> Result<Turn, StoreError> {
        let started = Instant::now();
        let Some(mut entry) = self.open().await? else {
            // The project is gone.
            self.runner.finish(self.job).await?;
            return Ok(Turn::Over);
        };
        let Some(mut run) = tables::runs::get_locked(entry.tx(), &self.run.id).await? else {
            return Err(StoreError::LeaseLost { job: self.job.id, attempt: self.job.attempt });
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
                    counter!("supervisor_steps_total", "status" => "error").increment(1);
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
        counter!("supervisor_steps_total", "status" => "complete").increment(1);
        let next = match mark {
            Mark::Waiting => Place::Waiting { approval: checkpoint.id },
            _ => Place::Done { artifact: artifact.id },
        };
        board.set(place, next);
        Ok(())
    }

    async fn start(&self, entry: &mut Entry<'_>, board: &mut Board, place: usize) -> Result<(), StoreError> {
        let agent = &self.phase.agents[place];
        let model = self.runner.stepper.model(agent);
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

    /// What an agent says while it is at work.
    async fn note(&mut self, report: Report) -> Result<(), StoreError> {
        let (place, level, told) = match report {
            Report::Progress { place, percent } => {
                if !self.board.advance(place, percent) {
                    return Ok(());
                }
                (place, None, percent.to_string())
            }
            Report::Trouble { place, message } => (place, Some(Level::Warn), message),
        };
        let Some(mut entry) = self.open().await? else { return Ok(()) };
        let agent = self.phase.agents[place].name.clone();
        match level {
            Some(level) => entry.log(level, &self.run.phase, Some(&agent), told),
            None => {
                let Place::Running { trace, progress, .. } = self.board.place(place).clone() else {
                    return Ok(());
                };
                tables::traces::set_progress(entry.tx(), &trace, progress).await?;
                let told = json!({ "agent": agent, "phase": self.run.phase, "progress": progress });
                entry.event("agent_progress", told);
            }
        }
        entry.commit().await
    }

    /// Somebody has asked for it, or the lease is lost.
    async fn stop(&mut self) -> Result<(), StoreError> {
        let Some(mut entry) = self.open().await? else { return self.runner.finish(self.job).await };
        let run = tables::runs::get_locked(entry.tx(), &self.run.id).await?;
        let Some(mut run) = run else { return self.runner.finish(self.job).await };
        halt::halt(&mut entry, &mut run, &self.runner.workflow).await?;
        jobs::complete(entry.tx(), self.job).await?;
        entry.commit().await
    }

    /// A transaction on the project, by the only worker of the run. None where the project is gone.
    async fn open(&self) -> Result<Option<Entry<'static>>, StoreError> {
        let mut tx = self.runner.db.begin().await?;
        jobs::hold(&mut tx, self.job).await?;
        Entry::within(tx, &self.run.project_id).await
    }
}

fn text<'a>(job: &'a Job, name: &str) -> &'a str {
    job.payload[name].as_str().unwrap_or_default()
}
