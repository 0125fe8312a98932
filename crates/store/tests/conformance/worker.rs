//! The worker loop: bounded, prompt, told of cancellations, and clean at shutdown.

use crate::engine::{Engine, on_both_engines};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::jobs::{self, Handler, Job, JobError, NewJob, Retry, State, Worker};
use store::{Db, StoreError, Tx, events};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

on_both_engines![
    a_worker_does_all_jobs_and_never_too_many_at_once,
    a_new_job_of_another_handle_starts_within_half_a_second,
    a_panic_is_a_failed_attempt,
    a_handler_that_forgets_to_complete_has_failed,
    a_cancelled_job_stops_within_half_a_second,
    a_lost_lease_stops_the_handler,
    at_shutdown_running_jobs_finish,
    at_shutdown_what_does_not_finish_is_handed_back,
    a_dead_workers_last_attempt_is_given_up_by_the_next,
];

/// Does what the payload says.
struct Script {
    db: Db,
    running: AtomicUsize,
    most_at_once: AtomicUsize,
    stopped: AtomicUsize,
    given_up: Mutex<Vec<(i64, State)>>,
}

impl Script {
    async fn play(&self, job: Job, stop: CancellationToken) -> Result<(), JobError> {
        match job.payload.as_str() {
            Some("panic") => panic!("as told"),
            Some("fail") => {
                return Err(JobError { message: "as told".into(), retry: Retry::After(Duration::ZERO) });
            }
            Some("forget") => return Ok(()),
            Some("until stopped") => {
                stop.cancelled().await;
                self.stopped.fetch_add(1, Ordering::SeqCst);
                return Err(JobError::retry("stopped"));
            }
            _ => tokio::time::sleep(Duration::from_millis(job.payload.as_u64().unwrap_or(0))).await,
        }
        let mut tx = self.db.begin().await?;
        events::append(&mut tx, "done", &[("done", json!(job.id))]).await?;
        jobs::complete(&mut tx, &job).await?;
        Ok(tx.commit().await?)
    }
}

impl Handler for Script {
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            let now_running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_at_once.fetch_max(now_running, Ordering::SeqCst);
            let result = self.play(job, stop).await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            result
        })
    }

    fn given_up<'a>(&'a self, tx: &'a mut Tx, job: &'a Job) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            events::append(tx, "given up", &[(job.state.as_str(), json!(job.id))]).await?;
            self.given_up.lock().unwrap().push((job.id, job.state));
            Ok(())
        })
    }
}

struct Running {
    script: Arc<Script>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    async fn stop(self) -> Arc<Script> {
        self.shutdown.cancel();
        self.task.await.unwrap();
        self.script
    }
}

fn start(db: &Db, adjust: impl FnOnce(&mut Worker)) -> Running {
    let script = Arc::new(Script {
        db: db.clone(),
        running: AtomicUsize::new(0),
        most_at_once: AtomicUsize::new(0),
        stopped: AtomicUsize::new(0),
        given_up: Mutex::default(),
    });
    let mut worker = Worker::new(db.clone(), &["test"], script.clone());
    adjust(&mut worker);
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(worker.run(shutdown.clone()));
    Running { script, shutdown, task }
}

async fn enqueue(db: &Db, payload: Value, max_attempts: i64) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let job = NewJob { max_attempts, ..NewJob::new("test", payload) };
    let id = jobs::enqueue(&mut tx, job).await.unwrap();
    tx.commit().await.unwrap();
    id
}

async fn until(db: &Db, id: i64, state: State) -> Job {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let job = jobs::get(db, id).await.unwrap().unwrap();
        if job.state == state {
            return job;
        }
        assert!(Instant::now() < deadline, "job {id} is {:?}, not {state:?}: {:?}", job.state, job.error);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn a_worker_does_all_jobs_and_never_too_many_at_once(engine: Engine) {
    let db = engine.open().await;
    let worker = start(&db, |worker| worker.concurrency = 4);
    let mut ids = Vec::new();
    for _ in 0..40 {
        ids.push(enqueue(&db, json!(5), 1).await);
    }
    for id in &ids {
        until(&db, *id, State::Done).await;
    }
    let script = worker.stop().await;
    assert_eq!(events::read(&db, "done", 0, 100).await.unwrap().len(), 40);
    let most = script.most_at_once.load(Ordering::SeqCst);
    assert!((2..=4).contains(&most), "{most} at once");
    assert_eq!(script.given_up.lock().unwrap().len(), 0);
}

async fn a_new_job_of_another_handle_starts_within_half_a_second(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    // Polling would take a minute.
    let worker = start(&one, |worker| worker.poll = Duration::from_secs(60));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let start = Instant::now();
    let id = enqueue(&other, json!(0), 1).await;
    until(&other, id, State::Done).await;
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    worker.stop().await;
}

async fn a_panic_is_a_failed_attempt(engine: Engine) {
    let db = engine.open().await;
    let worker = start(&db, |worker| worker.poll = Duration::from_millis(50));
    let id = enqueue(&db, json!("panic"), 1).await;
    let job = until(&db, id, State::Failed).await;
    assert!(job.error.unwrap().contains("panicked"));
    let failing = enqueue(&db, json!("fail"), 3).await;
    assert_eq!(until(&db, failing, State::Failed).await.attempt, 3);
    let fine = enqueue(&db, json!(0), 1).await;
    until(&db, fine, State::Done).await;
    let script = worker.stop().await;
    assert_eq!(*script.given_up.lock().unwrap(), [(id, State::Failed), (failing, State::Failed)]);
    assert_eq!(events::read(&db, "given up", 0, 10).await.unwrap().len(), 2, "written with the failure");
}

async fn a_handler_that_forgets_to_complete_has_failed(engine: Engine) {
    let db = engine.open().await;
    let worker = start(&db, |_| {});
    let id = enqueue(&db, json!("forget"), 1).await;
    let job = until(&db, id, State::Failed).await;
    assert_eq!(job.error.as_deref(), Some("the handler returned without completing the job"));
    worker.stop().await;
}

async fn a_cancelled_job_stops_within_half_a_second(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let worker = start(&one, |_| {});
    let id = enqueue(&one, json!("until stopped"), 5).await;
    until(&other, id, State::Running).await;
    // Past the early first heartbeat: the next one by time is ten seconds away.
    tokio::time::sleep(Duration::from_millis(600)).await;
    let start = Instant::now();
    let mut tx = other.begin().await.unwrap();
    jobs::cancel(&mut tx, id).await.unwrap();
    tx.commit().await.unwrap();
    until(&other, id, State::Cancelled).await;
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    let script = worker.stop().await;
    assert_eq!(script.stopped.load(Ordering::SeqCst), 1);
    assert_eq!(*script.given_up.lock().unwrap(), [(id, State::Cancelled)]);
}

async fn a_lost_lease_stops_the_handler(engine: Engine) {
    let db = engine.open().await;
    let worker = start(&db, |worker| worker.lease = Duration::from_secs(1));
    let id = enqueue(&db, json!("until stopped"), 5).await;
    until(&db, id, State::Running).await;
    let mut tx = db.begin().await.unwrap();
    let steal = sqlx::query("UPDATE jobs SET attempt = attempt + 1, due_at = $2 WHERE id = $1");
    steal.bind(id).bind(i64::MAX).execute(tx.conn()).await.unwrap();
    tx.commit().await.unwrap();
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(worker.script.stopped.load(Ordering::SeqCst), 1);
    assert_eq!(jobs::get(&db, id).await.unwrap().unwrap().state, State::Running, "it is the thief's");
    worker.stop().await;
}

async fn at_shutdown_running_jobs_finish(engine: Engine) {
    let db = engine.open().await;
    let worker = start(&db, |_| {});
    let running = enqueue(&db, json!(400), 1).await;
    until(&db, running, State::Running).await;
    let queued = enqueue(&db, json!(0), 1).await;
    worker.stop().await;
    assert_eq!(jobs::get(&db, running).await.unwrap().unwrap().state, State::Done);
    assert_eq!(jobs::get(&db, queued).await.unwrap().unwrap().state, State::Queued, "no new one is taken");
}

async fn at_shutdown_what_does_not_finish_is_handed_back(engine: Engine) {
    let db = engine.open().await;
    let worker = start(&db, |worker| worker.grace = Duration::from_millis(100));
    let id = enqueue(&db, json!(60_000), 1).await;
    until(&db, id, State::Running).await;
    let start_of_stop = Instant::now();
    worker.stop().await;
    assert!(start_of_stop.elapsed() < Duration::from_secs(2));
    let job = jobs::claim(&db, &["test".to_owned()], "next", Duration::from_secs(30), 1).await.unwrap().pop();
    let job = job.expect("it can be taken at once, though it had one attempt only");
    assert_eq!(job.id, id);
}

async fn a_dead_workers_last_attempt_is_given_up_by_the_next(engine: Engine) {
    let db = engine.open().await;
    let id = enqueue(&db, json!(0), 1).await;
    jobs::claim(&db, &["test".to_owned()], "dies", Duration::from_millis(1), 1).await.unwrap().pop().unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let worker = start(&db, |_| {});
    until(&db, id, State::Failed).await;
    let script = worker.stop().await;
    assert_eq!(*script.given_up.lock().unwrap(), [(id, State::Failed)]);
}
