//! Jobs: with their transaction, one worker at a time, and always to an end.

use crate::engine::{Engine, START, on_both_engines};
use base::{Clock, Random};
use serde_json::json;
use sqlx::Row;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::jobs::{self, Cancel, Heartbeat, Job, JobError, NewJob, Retry, State};
use store::{Db, StoreError};

on_both_engines![
    a_hundred_workers_never_run_one_job_twice_at_the_same_time,
    a_rolled_back_transaction_leaves_no_job,
    urgent_jobs_go_first_and_then_the_oldest,
    only_jobs_of_the_asked_kinds_that_are_due_are_taken,
    a_stale_worker_cannot_complete,
    a_heartbeat_keeps_the_lease,
    a_failed_job_comes_back_later_each_time_and_then_ends,
    a_failure_can_say_when_to_retry_and_whether,
    a_job_whose_workers_die_ends_failed,
    a_queued_job_is_cancelled_at_once,
    a_running_job_hears_of_its_cancellation,
    a_cancelled_job_of_a_dead_worker_is_not_run_again,
    a_released_job_costs_no_attempt,
    ended_jobs_are_pruned,
    jobs_follow_a_clock_that_is_set_back,
];

const LEASE: Duration = Duration::from_secs(30);

async fn enqueue(db: &Db, job: NewJob) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let id = jobs::enqueue(&mut tx, job).await.unwrap();
    tx.commit().await.unwrap();
    id
}

async fn enqueue_plain(db: &Db) -> i64 {
    enqueue(db, NewJob::new("test", json!({}))).await
}

/// How many jobs are in each state.
async fn counts(db: &Db) -> Vec<(String, i64)> {
    let select = "SELECT state, COUNT(*) FROM jobs GROUP BY state ORDER BY state";
    let rows = sqlx::query(select).fetch_all(db.read()).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn claim(db: &Db) -> Option<Job> {
    jobs::claim(db, &["test".to_owned()], "worker", LEASE, 1).await.unwrap().pop()
}

async fn complete(db: &Db, job: &Job) -> Result<(), StoreError> {
    let mut tx = db.begin().await?;
    jobs::complete(&mut tx, job).await?;
    tx.commit().await
}

async fn fail(db: &Db, job: &Job, error: JobError) -> Job {
    let mut tx = db.begin().await.unwrap();
    let now = jobs::fail(&mut tx, job, &error).await.unwrap();
    tx.commit().await.unwrap();
    now
}

async fn cancel(db: &Db, id: i64) -> Cancel {
    let mut tx = db.begin().await.unwrap();
    let outcome = jobs::cancel(&mut tx, id).await.unwrap();
    tx.commit().await.unwrap();
    outcome
}

async fn settle_abandoned(db: &Db) -> Vec<Job> {
    let mut settled = Vec::new();
    for job in jobs::abandoned(db, &["test".to_owned()]).await.unwrap() {
        let mut tx = db.begin().await.unwrap();
        settled.extend(jobs::settle_abandoned(&mut tx, &job).await.unwrap());
        tx.commit().await.unwrap();
    }
    settled
}

async fn state(db: &Db, id: i64) -> State {
    jobs::get(db, id).await.unwrap().unwrap().state
}

fn is_lease_lost<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LeaseLost { .. }))
}

/// Every third claim is abandoned, as by a worker that was killed. When no worker has anything left to do, the
/// clock moves past the leases, and the abandoned ones are due again.
async fn a_hundred_workers_never_run_one_job_twice_at_the_same_time(engine: Engine) {
    const JOBS: usize = 200;
    let clock = Clock::fixed(START);
    let handles = [engine.open_at(&clock).await, engine.open_at(&clock).await];
    let mut tx = handles[0].begin().await.unwrap();
    for n in 0..JOBS {
        let job = NewJob { max_attempts: 1_000, ..NewJob::new("test", json!(n)) };
        jobs::enqueue(&mut tx, job).await.unwrap();
    }
    tx.commit().await.unwrap();

    let running = Arc::new(Mutex::new(HashSet::new()));
    let completed = Arc::new(Mutex::new(HashMap::<i64, u32>::new()));
    let random = Random::seeded(7);
    let mut rounds = 0;
    while completed.lock().unwrap().len() < JOBS {
        rounds += 1;
        assert!(rounds < 50, "the jobs do not come to an end");
        let workers = (0..100).map(|n| {
            let (db, random) = (handles[n % 2].clone(), random.clone());
            let (running, completed) = (running.clone(), completed.clone());
            tokio::spawn(async move {
                while let Some(job) = claim(&db).await {
                    assert!(running.lock().unwrap().insert(job.id), "job {} runs twice", job.id);
                    tokio::task::yield_now().await;
                    let dies = random.fraction() < 0.33;
                    if dies {
                        running.lock().unwrap().remove(&job.id);
                        continue;
                    }
                    complete(&db, &job).await.unwrap();
                    running.lock().unwrap().remove(&job.id);
                    *completed.lock().unwrap().entry(job.id).or_default() += 1;
                }
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            worker.await.unwrap();
        }
        clock.advance(LEASE);
    }
    assert!(rounds > 1, "no worker died");
    assert!(completed.lock().unwrap().values().all(|times| *times == 1));
    assert_eq!(counts(&handles[0]).await, [("done".to_owned(), JOBS as i64)]);
}

async fn a_rolled_back_transaction_leaves_no_job(engine: Engine) {
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    jobs::enqueue(&mut tx, NewJob::new("test", json!({}))).await.unwrap();
    drop(tx);
    assert!(claim(&db).await.is_none());
    assert_eq!(counts(&db).await, []);
}

async fn urgent_jobs_go_first_and_then_the_oldest(engine: Engine) {
    let db = engine.open().await;
    for (name, priority) in [("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0)] {
        enqueue(&db, NewJob { priority, ..NewJob::new("test", json!(name)) }).await;
    }
    let mut order = String::new();
    while let Some(job) = claim(&db).await {
        order += job.payload.as_str().unwrap();
    }
    assert_eq!(order, "bdaec");
}

async fn only_jobs_of_the_asked_kinds_that_are_due_are_taken(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    enqueue(&db, NewJob::new("other", json!({}))).await;
    let later = enqueue(&db, NewJob { run_at: Some(START + 5_000), ..NewJob::new("test", json!({})) }).await;
    assert!(claim(&db).await.is_none());
    clock.advance(Duration::from_secs(5));
    assert_eq!(claim(&db).await.unwrap().id, later);
    let both = ["test".to_owned(), "other".to_owned()];
    assert_eq!(jobs::claim(&db, &both, "w", LEASE, 1).await.unwrap()[0].kind, "other");
}

async fn a_stale_worker_cannot_complete(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    enqueue_plain(&db).await;
    let stale = claim(&db).await.unwrap();
    assert!(claim(&db).await.is_none(), "it is taken");
    clock.advance(LEASE);
    let current = claim(&db).await.unwrap();
    assert_eq!((stale.attempt, current.attempt), (1, 2));

    assert!(is_lease_lost(&complete(&db, &stale).await));
    assert_eq!(jobs::heartbeat(&db, &stale, LEASE).await.unwrap(), Heartbeat::Lost);
    let mut tx = db.begin().await.unwrap();
    assert!(is_lease_lost(&jobs::fail(&mut tx, &stale, &JobError::retry("late")).await));
    assert!(is_lease_lost(&jobs::release(&mut tx, &stale).await));
    drop(tx);
    complete(&db, &current).await.unwrap();
    assert!(is_lease_lost(&complete(&db, &current).await), "once is enough");
    assert_eq!(state(&db, current.id).await, State::Done);
}

async fn a_heartbeat_keeps_the_lease(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    enqueue_plain(&db).await;
    let job = claim(&db).await.unwrap();
    for _ in 0..5 {
        clock.advance(LEASE * 2 / 3);
        assert_eq!(jobs::heartbeat(&db, &job, LEASE).await.unwrap(), Heartbeat::Continue);
        assert!(claim(&db).await.is_none());
    }
}

async fn a_failed_job_comes_back_later_each_time_and_then_ends(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let id = enqueue(&db, NewJob { max_attempts: 3, ..NewJob::new("test", json!({})) }).await;
    for (attempt, shortest, longest) in [(1, 500, 1_000), (2, 1_000, 2_000)] {
        let job = claim(&db).await.unwrap();
        assert_eq!(job.attempt, attempt);
        let now = fail(&db, &job, JobError::retry("no luck")).await;
        assert_eq!((now.state, now.error.as_deref()), (State::Queued, Some("no luck")));
        let delay = now.due_at - clock.now_ms();
        assert!((shortest..=longest).contains(&delay), "attempt {attempt}: {delay} ms");
        clock.advance(Duration::from_millis(delay.unsigned_abs() - 1));
        assert!(claim(&db).await.is_none(), "not before it is due");
        clock.advance(Duration::from_millis(1));
    }
    let last = claim(&db).await.unwrap();
    let now = fail(&db, &last, JobError::retry("no luck")).await;
    assert_eq!((now.state, now.finished_at), (State::Failed, Some(clock.now_ms())));
    clock.advance(Duration::from_secs(3_600));
    assert!(claim(&db).await.is_none());
    assert_eq!(state(&db, id).await, State::Failed);
}

async fn a_failure_can_say_when_to_retry_and_whether(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    enqueue_plain(&db).await;
    let job = claim(&db).await.unwrap();
    let after = JobError { message: "busy".into(), retry: Retry::After(Duration::from_secs(77)) };
    assert_eq!(fail(&db, &job, after).await.due_at, START + 77_000);
    clock.advance(Duration::from_secs(77));
    let job = claim(&db).await.unwrap();
    assert_eq!(fail(&db, &job, JobError::never("bad input")).await.state, State::Failed);
}

async fn a_job_whose_workers_die_ends_failed(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let id = enqueue(&db, NewJob { max_attempts: 3, ..NewJob::new("test", json!({})) }).await;
    for attempt in 1..=3 {
        assert!(settle_abandoned(&db).await.is_empty(), "too early before attempt {attempt}");
        assert_eq!(claim(&db).await.unwrap().attempt, attempt);
        clock.advance(LEASE);
    }
    assert!(claim(&db).await.is_none(), "its attempts are spent");
    let settled = settle_abandoned(&db).await;
    assert_eq!((settled.len(), settled[0].id, settled[0].state), (1, id, State::Failed));
    assert!(settled[0].error.as_deref().unwrap().contains("its worker stopped"));
    assert!(settle_abandoned(&db).await.is_empty());
}

async fn a_queued_job_is_cancelled_at_once(engine: Engine) {
    let db = engine.open().await;
    let id = enqueue_plain(&db).await;
    assert_eq!(cancel(&db, id).await, Cancel::Cancelled);
    assert!(claim(&db).await.is_none());
    assert_eq!(state(&db, id).await, State::Cancelled);
    assert_eq!(cancel(&db, id).await, Cancel::Ended);
    assert_eq!(cancel(&db, 999).await, Cancel::Ended);
}

async fn a_running_job_hears_of_its_cancellation(engine: Engine) {
    let db = engine.open().await;
    let id = enqueue_plain(&db).await;
    let job = claim(&db).await.unwrap();
    assert_eq!(cancel(&db, id).await, Cancel::Requested);
    assert_eq!(jobs::heartbeat(&db, &job, LEASE).await.unwrap(), Heartbeat::Cancelled);
    let now = fail(&db, &job, JobError::retry("stopped")).await;
    assert_eq!(now.state, State::Cancelled, "and not tried again");
}

async fn a_cancelled_job_of_a_dead_worker_is_not_run_again(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let id = enqueue_plain(&db).await;
    claim(&db).await.unwrap();
    cancel(&db, id).await;
    clock.advance(LEASE);
    assert!(claim(&db).await.is_none());
    assert_eq!(settle_abandoned(&db).await[0].state, State::Cancelled);
}

async fn a_released_job_costs_no_attempt(engine: Engine) {
    let db = engine.open().await;
    enqueue(&db, NewJob { max_attempts: 1, ..NewJob::new("test", json!({})) }).await;
    let mut last_attempt = 0;
    for _ in 0..3 {
        let job = claim(&db).await.expect("it is there at once");
        assert!(job.attempt > last_attempt, "the fencing number never comes back");
        last_attempt = job.attempt;
        let mut tx = db.begin().await.unwrap();
        jobs::release(&mut tx, &job).await.unwrap();
        tx.commit().await.unwrap();
    }
    let job = claim(&db).await.unwrap();
    assert_eq!(fail(&db, &job, JobError::retry("now it counts")).await.state, State::Failed);
}

async fn ended_jobs_are_pruned(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    enqueue_plain(&db).await;
    let done = claim(&db).await.unwrap();
    complete(&db, &done).await.unwrap();
    clock.advance(Duration::from_secs(60));
    let cancelled = enqueue_plain(&db).await;
    cancel(&db, cancelled).await;
    enqueue_plain(&db).await;

    let one_each = ["cancelled", "done", "queued"].map(|state| (state.to_owned(), 1));
    assert_eq!(counts(&db).await, one_each);
    assert_eq!(jobs::prune(&db, Duration::from_secs(30)).await.unwrap(), 1);
    assert!(jobs::get(&db, done.id).await.unwrap().is_none());
    assert_eq!(state(&db, cancelled).await, State::Cancelled);
}

async fn jobs_follow_a_clock_that_is_set_back(engine: Engine) {
    // After the time of the server: PostgreSQL is asked whether it is this clock that is wrong.
    const START: i64 = 4_102_444_800_000;
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let retried = enqueue_plain(&db).await;
    clock.advance(Duration::from_secs(3600));
    let error = JobError { message: "busy".into(), retry: Retry::After(Duration::from_secs(20)) };
    fail(&db, &claim(&db).await.unwrap(), error).await;
    let running = enqueue_plain(&db).await;
    assert_eq!(claim(&db).await.unwrap().id, running);
    let at_once = enqueue_plain(&db).await;
    let later = NewJob { run_at: Some(START + 3_610_000), ..NewJob::new("test", json!({})) };
    let later = enqueue(&db, later).await;
    clock.set_back(Duration::from_secs(3600));
    assert_eq!(claim(&db).await.unwrap().id, at_once, "it need not wait for the clock");
    assert_eq!(jobs::follow_clock(&db).await.unwrap(), 3);
    for (seconds, due) in [(10, later), (20, retried), (30, running)] {
        assert!(claim(&db).await.is_none(), "before {seconds} s");
        clock.advance(Duration::from_secs(10));
        assert_eq!(claim(&db).await.map(|job| job.id), Some(due), "after {seconds} s");
    }
    assert_eq!(jobs::follow_clock(&db).await.unwrap(), 0);
}
