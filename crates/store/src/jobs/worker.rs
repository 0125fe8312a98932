//! The loop that claims jobs and runs them: bounded, woken by new jobs, and drained at shutdown.

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{Heartbeat, Job, JobError, State, TOPIC, cancel_topic, lease};
use crate::{CLOCK_DIFFERENCE, Db, StoreError, Tx};

/// At most so many are claimed at once, so that one process does not take what others could run.
const MOST_CLAIMED: usize = 8;

/// Runs the jobs of a [`Worker`].
pub trait Handler: Send + Sync + 'static {
    /// Does the job and calls [`super::complete`] in the transaction of its results. `stop` fires when the job is
    /// cancelled or its lease is lost: return soon then. Returning without having completed the job counts as a failed
    /// attempt.
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>>;

    /// Called before the end of an attempt is written in `tx`. Locks the rows that all writers lock before the job, so
    /// that the order of locks is the same everywhere.
    fn lock<'a>(&'a self, _tx: &'a mut Tx, _job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Called when the job has ended as failed or cancelled in `tx`. Writes what belongs to that in the same transaction.
    fn given_up<'a>(&'a self, _tx: &'a mut Tx, _job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

/// Runs jobs of some kinds until shutdown.
pub struct Worker {
    pub db: Db,
    pub kinds: Vec<String>,
    pub handler: Arc<dyn Handler>,
    pub concurrency: usize,
    /// How long a job stays with a worker that sends no heartbeat.
    pub lease: Duration,
    /// How often to look for jobs that have become due.
    pub poll: Duration,
    /// How long running handlers may continue after the shutdown or after `stop`.
    pub grace: Duration,
}

impl Worker {
    pub fn new(db: Db, kinds: &[&str], handler: Arc<dyn Handler>) -> Self {
        Self {
            db,
            kinds: kinds.iter().map(ToString::to_string).collect(),
            handler,
            concurrency: 1,
            lease: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(5),
        }
    }

    /// Runs until `shutdown`, then waits for the running handlers and releases the jobs that they leave undone.
    pub async fn run(self, shutdown: CancellationToken) {
        let name = self.db.random().hex::<8>();
        let worker = Arc::new(self);
        let mut wakeup = worker.db.subscribe(TOPIC);
        let mut poll = tokio::time::interval(worker.poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut running = JoinSet::new();
        let release = CancellationToken::new();
        let mut clock = ClockWatch::new(&worker.db);
        while !shutdown.is_cancelled() {
            while running.try_join_next().is_some() {}
            let most = (worker.concurrency - running.len()).min(MOST_CLAIMED);
            let lease_ends = Instant::now() + worker.lease;
            let claimed = worker.claim(&name, most).await;
            let are_more = most > 0 && claimed.len() == most;
            for job in claimed {
                running.spawn(run_job(worker.clone(), job, lease_ends, release.clone()));
            }
            if are_more {
                continue;
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                Some(_) = running.join_next() => {}
                () = wakeup.notified(), if running.len() < worker.concurrency => {}
                _ = poll.tick() => {
                    worker.settle_abandoned().await;
                    clock.follow(&worker.db).await;
                }
            }
        }
        let drained = async { while running.join_next().await.is_some() {} };
        if timeout(worker.grace, drained).await.is_err() {
            release.cancel();
            while running.join_next().await.is_some() {}
        }
    }

    async fn claim(&self, name: &str, most: usize) -> Vec<Job> {
        if most == 0 {
            return Vec::new();
        }
        lease::claim(&self.db, &self.kinds, name, self.lease, most).await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot claim jobs");
            Vec::new()
        })
    }

    async fn settle_abandoned(&self) {
        let abandoned = match lease::abandoned(&self.db, &self.kinds).await {
            Ok(abandoned) => abandoned,
            Err(error) => return tracing::error!(%error, "cannot look for the jobs of dead workers"),
        };
        for job in abandoned {
            if let Err(error) = self.try_settle_abandoned(&job).await {
                tracing::error!(job = job.id, kind = job.kind, %error, "cannot end the job of a dead worker");
            }
        }
    }

    async fn try_settle_abandoned(&self, job: &Job) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        self.handler.lock(&mut tx, job).await?;
        let Some(job) = lease::settle_abandoned(&mut tx, job).await? else { return Ok(()) };
        tracing::warn!(job = job.id, kind = job.kind, state = job.state.as_str(), "a dead worker's job ends");
        self.handler.given_up(&mut tx, &job).await?;
        tx.commit().await
    }
}

/// Notices that the clock was set back, and corrects the times of jobs.
struct ClockWatch {
    now_ms: i64,
    at: Instant,
    /// At first, since it may have been set back before the start.
    is_correction_due: bool,
}

impl ClockWatch {
    fn new(db: &Db) -> Self {
        Self { now_ms: db.now_ms(), at: Instant::now(), is_correction_due: true }
    }

    async fn follow(&mut self, db: &Db) {
        let (now_ms, at) = (db.now_ms(), Instant::now());
        let expected = self.now_ms + super::milliseconds(at - self.at);
        if now_ms >= expected {
            (self.now_ms, self.at) = (now_ms, at);
        }
        // Several small steps back add up.
        self.is_correction_due |= now_ms < expected - super::milliseconds(CLOCK_DIFFERENCE);
        if self.is_correction_due {
            match lease::follow_clock(db).await {
                Ok(_) => *self = Self { now_ms, at, is_correction_due: false },
                Err(error) => tracing::error!(%error, "cannot correct the times of jobs"),
            }
        }
    }
}

/// Runs one attempt of a job to its end: done, failed, cancelled, lost or released.
async fn run_job(worker: Arc<Worker>, job: Job, lease_ends: Instant, release: CancellationToken) {
    let stop = CancellationToken::new();
    let mut handling = {
        let (worker, job, stop) = (worker.clone(), job.clone(), stop.clone());
        AbortOnDropHandle::new(tokio::spawn(async move { worker.handler.run(job, stop).await }))
    };
    let settled = tokio::select! {
        // A panic ends up here too, as the task's error.
        result = &mut handling => {
            let result = result.unwrap_or_else(|error| Err(JobError::retry(format!("the handler stopped: {error}"))));
            settle(&worker, &job, result).await
        }
        lost_or_cancelled = keep_lease(&worker, &job, lease_ends) => {
            stop.cancel();
            end_within(worker.grace, &mut handling).await;
            match lost_or_cancelled {
                Heartbeat::Cancelled => settle(&worker, &job, Err(JobError::never("cancelled"))).await,
                _ => Ok(()),
            }
        }
        () = release.cancelled() => {
            end_within(Duration::ZERO, &mut handling).await;
            release_job(&worker.db, &job).await
        }
    };
    if let Err(error) = settled {
        tracing::error!(job = job.id, kind = job.kind, %error, "cannot end an attempt: it ends with its lease");
    }
}

/// Extends the lease until the job is cancelled or the lease is lost, and returns which.
async fn keep_lease(worker: &Worker, job: &Job, mut lease_ends: Instant) -> Heartbeat {
    let mut cancelled = worker.db.subscribe(&cancel_topic(job.id));
    // A third of the lease after the claim began.
    let mut next_beat = lease_ends - worker.lease / 3 * 2;
    // A request to cancel from before the subscription has sent no wake-up.
    match timeout_at(next_beat, lease::look(&worker.db, job)).await {
        Ok(Ok(Heartbeat::Continue)) | Err(_) => {}
        Ok(Ok(ended)) => return ended,
        Ok(Err(error)) => tracing::warn!(job = job.id, %error, "cannot see whether the job is cancelled"),
    }
    loop {
        let _ = timeout_at(next_beat, cancelled.notified()).await;
        let beat = Instant::now();
        next_beat = beat + worker.lease / 3;
        match lease::heartbeat(&worker.db, job, worker.lease).await {
            Ok(Heartbeat::Continue) => lease_ends = beat + worker.lease,
            Ok(ended) => return ended,
            Err(error) if beat < lease_ends => tracing::warn!(job = job.id, %error, "no heartbeat"),
            Err(_) => return Heartbeat::Lost,
        }
    }
}

async fn end_within(grace: Duration, handling: &mut AbortOnDropHandle<Result<(), JobError>>) {
    if timeout(grace, &mut *handling).await.is_err() {
        handling.abort();
        let _ = handling.await;
    }
}

async fn settle(worker: &Worker, job: &Job, result: Result<(), JobError>) -> Result<(), StoreError> {
    let error = match result {
        Ok(()) if is_still_running(&worker.db, job).await? => {
            JobError::retry("the handler returned without completing the job")
        }
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let mut tx = worker.db.begin().await?;
    worker.handler.lock(&mut tx, job).await?;
    let now = match lease::fail(&mut tx, job, &error).await {
        Ok(now) => now,
        // It was completed after all, or another worker has it by now.
        Err(StoreError::LeaseLost { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    tracing::warn!(
        job = job.id,
        kind = job.kind,
        attempt = job.attempt,
        state = now.state.as_str(),
        error = error.message,
        "a job did not succeed"
    );
    if now.state != State::Queued {
        worker.handler.given_up(&mut tx, &now).await?;
    }
    tx.commit().await
}

async fn is_still_running(db: &Db, job: &Job) -> Result<bool, StoreError> {
    let now = super::get(db, job.id).await?;
    Ok(now.is_some_and(|now| now.state == State::Running && now.attempt == job.attempt))
}

async fn release_job(db: &Db, job: &Job) -> Result<(), StoreError> {
    let mut tx = db.begin().await?;
    match lease::release(&mut tx, job).await {
        Ok(()) => tx.commit().await,
        Err(StoreError::LeaseLost { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
