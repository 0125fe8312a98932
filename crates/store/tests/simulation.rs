//! A simulation of workers that share the job table and the event log: the real code on a clock that stands still, in a
//! random but repeatable order of steps. Workers crash, stall past their lease, lose transactions and go on with jobs that
//! are no longer theirs. A failing seed is printed; `STOA_SEED=17` replays it.
//!
//! `make test` runs 150 seeds, `STOA_SEEDS` others.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it stands")]

use base::{Clock, Random};
use serde_json::json;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use store::jobs::{self, Cancel, Heartbeat, Job, JobError, NewJob, Retry, State};
use store::{Db, StoreError, events};
use tempfile::TempDir;

const LEASE: Duration = Duration::from_secs(30);
const WORKERS: usize = 4;
const STEPS: usize = 80;

/// A generator that gives the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// What must be true of a job.
#[derive(Debug)]
struct Expected {
    most_attempts: i64,
    /// The number of the last claim, and when its lease ends.
    attempt: i64,
    lease_ends: i64,
    released: i64,
    has_cancel: bool,
    /// Events that were committed.
    events: Vec<String>,
    is_done: bool,
}

struct Simulation {
    db: Db,
    clock: Clock,
    dice: Dice,
    kind: String,
    jobs: BTreeMap<i64, Expected>,
    /// What each worker believes to have.
    workers: Vec<Option<Job>>,
}

impl Simulation {
    fn stream(&self, job: i64) -> String {
        format!("{}/{job}", self.kind)
    }

    async fn step(&mut self) {
        let worker = self.dice.below(WORKERS as u64) as usize;
        match self.dice.below(16) {
            0 | 1 => self.enqueue().await,
            2 => self.clock.advance(Duration::from_secs(self.dice.below(20))),
            // Past every lease and most backoffs.
            3 => self.clock.advance(LEASE * 3),
            4 => self.settle_abandoned().await,
            5 => self.cancel().await,
            action => match self.workers[worker].clone() {
                None => self.claim_some(worker).await,
                Some(job) => self.work(worker, &job, action).await,
            },
        }
    }

    async fn enqueue(&mut self) {
        let most_attempts = 1 + self.dice.below(4) as i64;
        let job = NewJob { max_attempts: most_attempts, ..NewJob::new(&self.kind, json!({})) };
        let mut tx = self.db.begin().await.unwrap();
        let id = jobs::enqueue(&mut tx, job).await.unwrap();
        if self.dice.below(5) == 0 {
            // Never committed: there is no such job.
            return;
        }
        tx.commit().await.unwrap();
        let expected = Expected {
            most_attempts,
            attempt: 0,
            lease_ends: 0,
            released: 0,
            has_cancel: false,
            events: Vec::new(),
            is_done: false,
        };
        self.jobs.insert(id, expected);
    }

    /// Claims for the worker and for some others that are idle.
    async fn claim_some(&mut self, worker: usize) {
        let others = (0..WORKERS).filter(|other| *other != worker && self.workers[*other].is_none());
        let mut idle: Vec<usize> = std::iter::once(worker).chain(others).collect();
        idle.truncate(1 + self.dice.below(idle.len() as u64) as usize);
        self.claim(&idle).await;
    }

    async fn claim(&mut self, workers: &[usize]) {
        let kinds = [self.kind.clone()];
        let claimed = jobs::claim(&self.db, &kinds, "worker", LEASE, workers.len()).await.unwrap();
        assert!(claimed.len() <= workers.len(), "more than were asked for");
        for (job, worker) in claimed.into_iter().zip(workers) {
            self.take(*worker, job);
        }
    }

    fn take(&mut self, worker: usize, job: Job) {
        let now = self.clock.now_ms();
        let expected = self.jobs.get_mut(&job.id).expect("a job that was committed");
        assert!(!expected.is_done, "a job that has ended is claimed again: {expected:?}");
        assert!(expected.lease_ends <= now, "claimed while another has the lease: {expected:?}");
        assert_eq!(job.attempt, expected.attempt + 1, "the fencing token rises by one");
        assert!(job.attempt - expected.released <= expected.most_attempts, "too many attempts: {expected:?}");
        expected.attempt = job.attempt;
        expected.lease_ends = now + LEASE.as_millis() as i64;
        self.workers[worker] = Some(job);
    }

    /// Returns whether the worker still has the job.
    fn has(&self, job: &Job) -> bool {
        let expected = &self.jobs[&job.id];
        expected.attempt == job.attempt && !expected.is_done && expected.lease_ends > 0
    }

    async fn work(&mut self, worker: usize, job: &Job, action: u64) {
        let owns = self.has(job);
        match action {
            // The worker dies; its lease goes on.
            6 => self.workers[worker] = None,
            7 => {
                let beat = jobs::heartbeat(&self.db, job, LEASE).await.unwrap();
                let expected = self.jobs.get_mut(&job.id).unwrap();
                let due = if !owns {
                    Heartbeat::Lost
                } else if expected.has_cancel {
                    Heartbeat::Cancelled
                } else {
                    Heartbeat::Continue
                };
                assert_eq!(beat, due, "{expected:?}");
                if owns {
                    expected.lease_ends = self.clock.now_ms() + LEASE.as_millis() as i64;
                }
            }
            8..=10 => self.write(job, "progress", owns).await,
            // A transaction that is lost leaves nothing.
            11 => {
                let stream = self.stream(job.id);
                let mut tx = self.db.begin().await.unwrap();
                if jobs::hold(&mut tx, job).await.is_ok() {
                    events::append(&mut tx, &stream, &[("lost", json!({}))]).await.unwrap();
                }
            }
            12 => {
                let mut tx = self.db.begin().await.unwrap();
                let released = jobs::release(&mut tx, job).await;
                assert_eq!(released.is_ok(), owns);
                if owns {
                    tx.commit().await.unwrap();
                    let expected = self.jobs.get_mut(&job.id).unwrap();
                    (expected.lease_ends, expected.released) = (0, expected.released + 1);
                }
                self.workers[worker] = None;
            }
            13 => self.fail(worker, job, owns).await,
            _ => {
                self.write(job, "done", owns).await;
                self.workers[worker] = None;
            }
        }
    }

    /// Writes an event under the job's lease; `done` also ends the job.
    async fn write(&mut self, job: &Job, kind: &str, owns: bool) {
        let stream = self.stream(job.id);
        let mut tx = self.db.begin().await.unwrap();
        let written = async {
            jobs::hold(&mut tx, job).await?;
            let last = events::append(&mut tx, &stream, &[(kind, json!({ "attempt": job.attempt }))]).await?;
            if kind == "done" {
                jobs::complete(&mut tx, job).await?;
            }
            Ok::<_, StoreError>(last)
        };
        let written = written.await;
        assert_eq!(written.is_ok(), owns, "only the owner writes: {:?}", self.jobs[&job.id]);
        let Ok(last) = written else { return };
        tx.commit().await.unwrap();
        let expected = self.jobs.get_mut(&job.id).unwrap();
        expected.events.push(kind.to_owned());
        expected.is_done |= kind == "done";
        assert_eq!(last, expected.events.len() as i64, "events are numbered without gaps");
    }

    async fn fail(&mut self, worker: usize, job: &Job, owns: bool) {
        let retry = match self.dice.below(3) {
            0 => Retry::Never,
            1 => Retry::After(Duration::from_secs(5)),
            _ => Retry::Backoff,
        };
        let mut tx = self.db.begin().await.unwrap();
        let failed = jobs::fail(&mut tx, job, &JobError { message: "no".into(), retry }).await;
        assert_eq!(failed.is_ok(), owns);
        if let Ok(failed) = failed {
            tx.commit().await.unwrap();
            let expected = self.jobs.get_mut(&job.id).unwrap();
            expected.lease_ends = 0;
            expected.is_done = failed.state != State::Queued;
            let spent = job.attempt - expected.released;
            let ends = expected.has_cancel || retry == Retry::Never || spent >= expected.most_attempts;
            assert_eq!(expected.is_done, ends, "{expected:?}");
        }
        self.workers[worker] = None;
    }

    async fn cancel(&mut self) {
        let Some((&id, _)) = self.jobs.iter().nth(self.dice.below(1 + self.jobs.len() as u64) as usize)
        else {
            return;
        };
        let mut tx = self.db.begin().await.unwrap();
        let cancelled = jobs::cancel(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        let expected = self.jobs.get_mut(&id).unwrap();
        match cancelled {
            Cancel::Ended => assert!(expected.is_done, "{expected:?}"),
            Cancel::Cancelled => expected.is_done = true,
            Cancel::Requested => expected.has_cancel = true,
        }
    }

    async fn settle_abandoned(&mut self) {
        for job in jobs::abandoned(&self.db, std::slice::from_ref(&self.kind)).await.unwrap() {
            let mut tx = self.db.begin().await.unwrap();
            if jobs::settle_abandoned(&mut tx, &job).await.unwrap().is_some() {
                tx.commit().await.unwrap();
                let expected = self.jobs.get_mut(&job.id).unwrap();
                assert!(expected.lease_ends <= self.clock.now_ms(), "its worker lives: {expected:?}");
                let is_spent = job.attempt - expected.released >= expected.most_attempts;
                assert!(is_spent || expected.has_cancel, "it could be tried again: {expected:?}");
                expected.is_done = true;
            }
        }
    }

    /// Lets one worker finish all that is left, and compares everything with what is stored.
    async fn finish(&mut self) {
        self.workers.fill(None);
        for _ in 0..40 * self.jobs.len().max(1) {
            self.clock.advance(Duration::from_secs(900));
            self.settle_abandoned().await;
            self.claim(&[0]).await;
            if let Some(job) = self.workers[0].take() {
                self.write(&job, "done", true).await;
            }
            if self.jobs.values().all(|expected| expected.is_done) {
                break;
            }
        }
        for (id, expected) in &self.jobs {
            assert!(expected.is_done, "a job is never done: {expected:?}");
            let stored = jobs::get(&self.db, *id).await.unwrap().expect("it is kept");
            let ended_well = expected.events.iter().filter(|kind| *kind == "done").count();
            assert_eq!(ended_well, usize::from(stored.state == State::Done), "done once: {expected:?}");
            assert!(!matches!(stored.state, State::Queued | State::Running), "{stored:?}");
            let read = events::read(&self.db, &self.stream(*id), 0, 1000).await.unwrap();
            let kinds: Vec<&str> = read.iter().map(|event| event.kind.as_str()).collect();
            assert_eq!(kinds, expected.events, "what was committed is there, and nothing else");
            assert!(read.iter().zip(1..).all(|(event, seq)| event.seq == seq), "no gaps");
        }
    }
}

#[tokio::test]
async fn jobs_and_events_hold_in_any_order_of_steps() {
    let seeds = mutations::seeds(150);
    let folder = TempDir::new().unwrap();
    let clock = Clock::fixed(1_700_000_000_000);
    let url = format!("sqlite://{}", folder.path().join("simulation.db").display());
    let db = Db::open(&url, clock.clone(), Random::system()).await.unwrap();
    let mut jobs = 0;
    for seed in seeds.clone() {
        let mut simulation = Simulation {
            db: db.clone(),
            clock: clock.clone(),
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1),
            kind: format!("seed {seed}"),
            jobs: BTreeMap::new(),
            workers: vec![None; WORKERS],
        };
        let run = async {
            for _ in 0..STEPS {
                simulation.step().await;
            }
            simulation.finish().await;
            simulation.jobs.len()
        };
        match futures_util::FutureExt::catch_unwind(AssertUnwindSafe(run)).await {
            Ok(number) => jobs += number,
            Err(_) => panic!("seed {seed} fails: replay it with STOA_SEED={seed}"),
        }
    }
    println!("{} seeds, {jobs} jobs", seeds.end - seeds.start);
}
