//! Executes runs: starts the agents that are due, stores what they write, and stops when the run is over.
//!
//! One worker executes a run at a time. Everything that has happened since its last transaction (steps that ended, steps
//! that begin) goes into the next one, so a run that was killed continues from there. `commit` is that transaction,
//! `run_state` knows which agents are due, `step` how an agent works, `transitions` how a run stops.

mod commit;
mod run_state;
mod step;

pub use step::StepRunner;

use crate::events::{AgentProgress, RunEvent};
use crate::project_tx::ProjectTx;
use crate::records::Run;
use crate::run_job::{self, RunJob};
use crate::status::{Level, RunStatus};
use crate::tables;
use crate::transitions;
use crate::workflow::{Phase, Workflow};
use futures_util::future::BoxFuture;
use run_state::{AgentState, RunState};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use step::{Report, StepOutput};
use store::jobs::{self, Handler, Job, JobError, Retry, Worker};
use store::{Db, StoreError, Tx};
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// Runs that one process executes at a time. Most of them wait for their models.
const MAX_RUNS: usize = 64;
/// Agents of one run that work at a time.
const MAX_AGENTS: usize = 4;
/// How often a transaction is retried while the database is away, before the run goes back to the queue.
const STORE_RETRIES: u32 = 5;
const STORE_RETRY_WAIT: Duration = Duration::from_millis(300);
/// Reports of agents that wait to be stored.
const REPORT_QUEUE: usize = 64;

/// The handler of the jobs that execute runs.
pub struct Executor {
    db: Db,
    workflow: Arc<Workflow>,
    step_runner: StepRunner,
}

/// Returns the worker that executes runs.
pub fn worker(db: Db, workflow: Arc<Workflow>, step_runner: StepRunner, lease: Duration) -> Worker {
    let executor = Arc::new(Executor { db: db.clone(), workflow, step_runner });
    Worker { concurrency: MAX_RUNS, lease, ..Worker::new(db, &[run_job::KIND], executor) }
}

impl Handler for Executor {
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            // A lease that is lost, too: the claim of the other worker may not have been committed.
            let retry = Retry::After(Duration::from_secs(1));
            self.execute(&job, stop).await.map_err(|error| JobError { message: error.to_string(), retry })
        })
    }

    fn lock<'a>(&'a self, tx: &'a mut Tx, job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { tables::projects::lock(tx, &RunJob::of(job)?.project_id).await.map(drop) })
    }

    /// Stops a run whose worker died after the run was asked to stop.
    fn given_up<'a>(&'a self, tx: &'a mut Tx, job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let RunJob { project_id, run_id } = RunJob::of(job)?;
            let Some(mut tx) = ProjectTx::within(tx, &project_id).await? else { return Ok(()) };
            let run = tables::runs::get_locked(tx.inner(), &run_id).await?;
            if let Some(mut run) = run.filter(|run| run.job_id == Some(job.id)) {
                transitions::apply_signal(&mut tx, &mut run, &self.workflow).await?;
            }
            tx.commit().await
        })
    }
}

/// What follows after a transaction of a run.
enum Next {
    /// The agents with these indexes start.
    Start(Vec<usize>),
    /// The run is over, or waits for approval.
    Stop,
}

/// The index of an agent in its phase, and what its step has written or why it failed.
type Outcome = (usize, Result<StepOutput, String>);

/// A run that this worker executes.
struct Execution<'a> {
    executor: &'a Executor,
    job: &'a Job,
    phase: &'a Phase,
    run: Run,
    state: RunState,
    /// The agent whose step failed for good, and why. The other agents may finish their steps.
    failure: Option<(String, String)>,
}

impl Executor {
    async fn execute(&self, job: &Job, stop: CancellationToken) -> Result<(), StoreError> {
        let run = tables::runs::get(&self.db, &RunJob::of(job)?.run_id).await?;
        let Some(run) = run.filter(|run| run.status == RunStatus::Running && run.job_id == Some(job.id))
        else {
            return self.finish_job(job).await;
        };
        let Some(phase) = self.workflow.phase(&run.phase) else {
            return self.fail_unknown_phase(job, run).await;
        };
        let checkpoints = tables::checkpoints::of_run(&self.db, &run.id).await?;
        let traces = tables::traces::running(&self.db, &run.id).await?;
        let newest = tables::artifacts::newest_versions(&self.db, &run.project_id, &run.phase).await?;
        let state = RunState::new(phase, &checkpoints, &traces, &newest);
        let mut execution = Execution { executor: self, job, phase, run, state, failure: None };
        execution.run_to_end(stop).await
    }

    /// Ends the job of a run that was cancelled or whose project was deleted.
    async fn finish_job(&self, job: &Job) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        jobs::complete(&mut tx, job).await?;
        tx.commit().await
    }

    /// Ends a run whose phase is missing in a workflow that was changed since.
    async fn fail_unknown_phase(&self, job: &Job, mut run: Run) -> Result<(), StoreError> {
        let tx = ProjectTx::begin(&self.db, &run.project_id).await?;
        let Some(mut tx) = tx else { return self.finish_job(job).await };
        jobs::complete(tx.inner(), job).await?;
        let message = format!("phase `{}` is no longer part of the workflow", run.phase);
        transitions::fail(&mut tx, &mut run, None, &message).await?;
        tx.commit().await
    }
}

impl Execution<'_> {
    async fn run_to_end(&mut self, stop: CancellationToken) -> Result<(), StoreError> {
        let (reports, mut incoming) = mpsc::channel(REPORT_QUEUE);
        let mut steps = Steps::default();
        if self.run.signal.is_some() {
            return self.stop().await;
        }
        for agent in self.restart_steps().await? {
            self.spawn_step(agent, &mut steps, &reports);
        }
        let mut ended: Vec<Outcome> = Vec::new();
        loop {
            match self.commit_with_retry(&ended, &stop).await? {
                Next::Stop => return Ok(()),
                Next::Start(due) => {
                    due.into_iter().for_each(|agent| self.spawn_step(agent, &mut steps, &reports))
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
                        // The steps do not depend on reports, so they go on if one cannot be stored.
                        if let Err(error) = self.store_report(report).await {
                            tracing::warn!(run = self.run.id, %error, "a report of an agent cannot be stored");
                        }
                    }
                    Some(outcome) = steps.next() => {
                        ended.push(outcome);
                        ended.extend(std::iter::from_fn(|| steps.try_next()));
                    }
                }
            }
        }
    }

    fn spawn_step(&self, index: usize, steps: &mut Steps, reports: &mpsc::Sender<Report>) {
        let agent = self.phase.agents[index].clone();
        let step_runner = self.executor.step_runner.clone();
        let (run, feedback, reports) =
            (self.run.clone(), self.state.feedback(index).cloned(), reports.clone());
        let own_inputs = self.state.inputs_of_this_phase(self.phase, index);
        steps.spawn(index, async move {
            (index, step_runner.run(index, &agent, &run, own_inputs, feedback, reports).await)
        });
    }

    /// Returns the agents that were at work when another worker died. Their steps begin again.
    async fn restart_steps(&mut self) -> Result<Vec<usize>, StoreError> {
        let running = self.state.running();
        if running.is_empty() {
            return Ok(running);
        }
        let Some((mut tx, _)) = self.begin().await? else { return Ok(Vec::new()) };
        for index in &running {
            let agent = &self.phase.agents[*index].name;
            let message = "its process had stopped: the step begins again";
            tx.log(Level::Warn, &self.run.phase, Some(agent), message);
        }
        tx.commit().await?;
        Ok(running)
    }

    /// Commits the steps, with retries while the database is away, so that what agents have written is not lost. If it is
    /// unknown whether the transaction was committed, the job fails and the run is read again from the database.
    async fn commit_with_retry(
        &mut self,
        ended: &[Outcome],
        stop: &CancellationToken,
    ) -> Result<Next, StoreError> {
        let mut retries = 0;
        loop {
            match self.commit_steps(ended).await {
                Err(error @ (StoreError::Database(_) | StoreError::Undone)) if retries < STORE_RETRIES => {
                    retries += 1;
                    tracing::warn!(run = self.run.id, %error, "a step cannot be stored yet");
                    tokio::select! {
                        () = stop.cancelled() => return Err(error),
                        () = tokio::time::sleep(STORE_RETRY_WAIT * retries) => {}
                    }
                }
                // The database refuses the data. Running the step again would give the same.
                Err(error @ StoreError::Database(_)) if error.is_refusal() && !ended.is_empty() => {
                    let why = format!("what the step has written cannot be stored: {error}");
                    let refused: Vec<Outcome> =
                        ended.iter().map(|(agent, _)| (*agent, Err(why.clone()))).collect();
                    return self.commit_steps(&refused).await;
                }
                done => return done,
            }
        }
    }

    fn lease_lost(&self) -> StoreError {
        StoreError::LeaseLost { job: self.job.id, attempt: self.job.attempt }
    }

    /// Stores progress as an event, and trouble as a log line.
    async fn store_report(&mut self, report: Report) -> Result<(), StoreError> {
        match report {
            Report::Progress { agent, percent } => {
                if !self.state.advance(agent, percent) {
                    return Ok(());
                }
                let Some((mut tx, _)) = self.begin().await? else { return Ok(()) };
                let AgentState::Running { trace, progress, .. } = self.state.agent(agent).clone() else {
                    return Ok(());
                };
                tables::traces::set_progress(tx.inner(), &trace, progress).await?;
                tx.event(RunEvent::AgentProgress(self.progress_of(agent, progress)));
                tx.commit().await
            }
            Report::Trouble { agent, message } => {
                let Some((mut tx, _)) = self.begin().await? else { return Ok(()) };
                tx.log(Level::Warn, &self.run.phase, Some(&self.phase.agents[agent].name), message);
                tx.commit().await
            }
        }
    }

    fn progress_of(&self, agent: usize, progress: i64) -> AgentProgress {
        AgentProgress {
            agent: self.phase.agents[agent].name.clone(),
            phase: self.run.phase.clone(),
            progress,
        }
    }

    /// Stops after the job was cancelled: because a caller asked for it, or because the lease was lost.
    async fn stop(&mut self) -> Result<(), StoreError> {
        let Some((mut tx, _)) = self.begin().await? else { return self.executor.finish_job(self.job).await };
        let run = tables::runs::get_locked(tx.inner(), &self.run.id).await?;
        // Without a signal the lease was lost, and the worker that has it now continues.
        let Some(mut run) = run.filter(|run| run.signal.is_some()) else { return Err(self.lease_lost()) };
        transitions::apply_signal(&mut tx, &mut run, &self.executor.workflow).await?;
        jobs::complete(tx.inner(), self.job).await?;
        tx.commit().await
    }

    /// Begins a transaction on the project and checks that this worker still has the job. Returns it, and whether the run
    /// is asked to stop; none if the project was deleted. The project is locked before the job, as everywhere.
    async fn begin(&self) -> Result<Option<(ProjectTx<'static>, bool)>, StoreError> {
        ProjectTx::begin_with_job(&self.executor.db, &self.run.project_id, self.job).await
    }
}

/// The steps at work. They are aborted when this is dropped.
#[derive(Default)]
struct Steps {
    tasks: JoinSet<Outcome>,
    /// The index of each task's agent.
    agents: HashMap<Id, usize>,
}

impl Steps {
    fn spawn(&mut self, agent: usize, step: impl Future<Output = Outcome> + Send + 'static) {
        let id = self.tasks.spawn(step).id();
        self.agents.insert(id, agent);
    }

    /// Waits for the next step to end. Returns none if no step is at work.
    async fn next(&mut self) -> Option<Outcome> {
        let joined = self.tasks.join_next_with_id().await?;
        Some(self.outcome(joined))
    }

    /// Returns a step that has ended already.
    fn try_next(&mut self) -> Option<Outcome> {
        let joined = self.tasks.try_join_next_with_id()?;
        Some(self.outcome(joined))
    }

    /// Returns the outcome of a task. A step that panics has failed.
    fn outcome(&mut self, joined: Result<(Id, Outcome), JoinError>) -> Outcome {
        match joined {
            Ok((id, outcome)) => {
                self.agents.remove(&id);
                outcome
            }
            Err(error) => {
                let agent = self.agents.remove(&error.id()).unwrap_or_default();
                (agent, Err(format!("the step stopped by a fault of the program: {error}")))
            }
        }
    }
}
