//! Carrying a run to its end: which agents are due, what each of them brings back, and when it is over.
//!
//! One worker drives a run at a time. Whatever has happened since its last transaction (steps that ended, steps that
//! begin) is one more: killed at any moment, the run goes on from there. `turn` is that transaction, `board` knows
//! what is due, `step` how an agent works, `halt` how a run stops.

mod board;
mod step;
mod turn;

pub use step::{KnowledgeSearch, Stepper};

use crate::entry::Entry;
use crate::halt;
use crate::records::Run;
use crate::runs::JOB;
use crate::tables;
use crate::words::{Level, RunStatus};
use crate::workflow::{Phase, Workflow};
use board::{Board, Place};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use step::{Report, Written};
use store::jobs::{self, Handler, Job, JobError, Retry, Worker};
use store::{Db, StoreError, Tx};
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
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

pub fn worker(db: Db, workflow: Arc<Workflow>, stepper: Stepper, lease: Duration) -> Worker {
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

    fn lock<'a>(&'a self, tx: &'a mut Tx, job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { tables::projects::lock(tx, text(job, "projectId")).await.map(drop) })
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
        let entry = Entry::begin(&self.db, &run.project_id).await?;
        let Some(mut entry) = entry else { return self.finish(job).await };
        jobs::complete(entry.tx(), job).await?;
        let message = format!("phase `{}` is no longer part of the workflow", run.phase);
        halt::fail(&mut entry, &mut run, None, &message).await?;
        entry.commit().await
    }
}

impl Drive<'_> {
    async fn carry_on(&mut self, stop: CancellationToken) -> Result<(), StoreError> {
        let (reports, mut incoming) = mpsc::channel(REPORTS);
        let mut steps = Steps::default();
        if self.run.signal.is_some() {
            return self.stop().await;
        }
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
                        steps.tasks.shutdown().await;
                        return self.stop().await;
                    }
                    Some(report) = incoming.recv() => {
                        // Nothing that the steps need: where it cannot be told, they go on.
                        if let Err(error) = self.note(report).await {
                            tracing::warn!(run = self.run.id, %error, "what an agent says cannot be stored");
                        }
                    }
                    Some(outcome) = steps.next() => {
                        ended.push(outcome);
                        ended.extend(std::iter::from_fn(|| steps.ended()));
                    }
                }
            }
        }
    }

    fn begin_step(&self, place: usize, steps: &mut Steps, reports: &mpsc::Sender<Report>) {
        let agent = self.phase.agents[place].clone();
        let stepper = self.runner.stepper.clone();
        let (run, feedback, reports) =
            (self.run.clone(), self.board.feedback(place).cloned(), reports.clone());
        let own_inputs = self.board.inputs_of_this_phase(self.phase, place);
        steps.begin(place, async move {
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

    /// A turn, tried again while the database is away: what the agents have written is not to be lost. Where it is
    /// unknown whether it was committed, the run is taken up anew from what is stored.
    async fn turn_patiently(
        &mut self,
        ended: &[Outcome],
        stop: &CancellationToken,
    ) -> Result<Turn, StoreError> {
        let mut tries = 0;
        loop {
            match self.turn(ended).await {
                Err(StoreError::Database(error)) if tries < STORE_TRIES => {
                    tries += 1;
                    tracing::warn!(run = self.run.id, %error, "a step cannot be stored yet");
                    tokio::select! {
                        () = stop.cancelled() => return Err(StoreError::Database(error)),
                        () = tokio::time::sleep(STORE_PAUSE * tries) => {}
                    }
                }
                // The database answers, and does not take it: doing the step again would come to the same.
                Err(error @ StoreError::Database(_)) if error.is_refusal() && !ended.is_empty() => {
                    let why = format!("what the step has written cannot be stored: {error}");
                    let refused: Vec<Outcome> =
                        ended.iter().map(|(place, _)| (*place, Err(why.clone()))).collect();
                    return self.turn(&refused).await;
                }
                done => return done,
            }
        }
    }

    fn lost(&self) -> StoreError {
        StoreError::LeaseLost { job: self.job.id, attempt: self.job.attempt }
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
        // Nobody asked: the lease was lost, and whoever takes it goes on.
        let Some(mut run) = run.filter(|run| run.signal.is_some()) else { return Err(self.lost()) };
        halt::halt(&mut entry, &mut run, &self.runner.workflow).await?;
        jobs::complete(entry.tx(), self.job).await?;
        entry.commit().await
    }

    /// A transaction on the project, by the only worker of the run. None where the project is gone. The project is
    /// locked before the job, as by everybody.
    async fn open(&self) -> Result<Option<Entry<'static>>, StoreError> {
        let entry = Entry::begin(&self.runner.db, &self.run.project_id).await?;
        let Some(mut entry) = entry else { return Ok(None) };
        jobs::hold(entry.tx(), self.job).await?;
        Ok(Some(entry))
    }
}

/// The steps at work. Dropped, it ends them all.
#[derive(Default)]
struct Steps {
    tasks: JoinSet<Outcome>,
    places: HashMap<Id, usize>,
}

impl Steps {
    fn begin(&mut self, place: usize, step: impl Future<Output = Outcome> + Send + 'static) {
        let id = self.tasks.spawn(step).id();
        self.places.insert(id, place);
    }

    /// The next that ends; never, where none is at work.
    async fn next(&mut self) -> Option<Outcome> {
        let joined = self.tasks.join_next_with_id().await?;
        Some(self.outcome(joined))
    }

    /// One that has ended already.
    fn ended(&mut self) -> Option<Outcome> {
        let joined = self.tasks.try_join_next_with_id()?;
        Some(self.outcome(joined))
    }

    /// A step that panics has failed.
    fn outcome(&mut self, joined: Result<(Id, Outcome), JoinError>) -> Outcome {
        match joined {
            Ok((id, outcome)) => {
                self.places.remove(&id);
                outcome
            }
            Err(error) => {
                let place = self.places.remove(&error.id()).unwrap_or_default();
                (place, Err(format!("the step stopped by a fault of the program: {error}")))
            }
        }
    }
}

fn text<'a>(job: &'a Job, name: &str) -> &'a str {
    job.payload[name].as_str().unwrap_or_default()
}
