//! A simulation of processes that send leads: the real code on a clock that stands still, in a random but repeatable
//! order of steps. Processes die while the CRM has a lead, stall past their lease and go on with a job that is no longer
//! theirs; the CRM refuses, or asks to be tried later. A failing seed is printed; `STOA_SEED=17` replays it.
//!
//! `make test` runs 100 seeds, `STOA_SEEDS` others.

use super::*;
use crate::intake::{Submission, read};
use crate::outbox::{Outbox, OutboxError};
use base::{Clock, Random};
use futures_util::FutureExt;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::panic::AssertUnwindSafe;
use tokio::sync::{Notify, oneshot};

const LEASE: Duration = Duration::from_secs(30);
const PROCESSES: usize = 3;
const PEOPLE: usize = 3;
const STEPS: usize = 60;

type Outcome = Result<(), SendError>;

/// What all processes share.
struct World {
    db: Db,
    /// Each person's leads, in the order in which they were stored.
    stored: Mutex<Vec<Vec<String>>>,
    /// How often each lead was queued again.
    again: Mutex<BTreeMap<String, usize>>,
    /// What has reached the CRM: a lead, how often it was queued again by then, and the attempt of the job.
    received: Mutex<BTreeSet<(String, usize, i64, i64)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The CRM as one process sees it. A lead that it has got waits there for the outcome.
#[derive(Default)]
struct Line {
    /// The job that the process works on, and its attempt.
    job: Mutex<(i64, i64)>,
    outcome: Mutex<Option<oneshot::Sender<Outcome>>>,
    has_come: Notify,
}

struct FakeCrm {
    world: Arc<World>,
    line: Arc<Line>,
}

impl Crm for FakeCrm {
    fn send<'a>(&'a self, lead: &'a Lead) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let job = *locked(&self.line.job);
            self.world.check(lead, job).await;
            let (sender, outcome) = oneshot::channel();
            *locked(&self.line.outcome) = Some(sender);
            self.line.has_come.notify_one();
            outcome.await.expect("a process that died is not asked again")
        })
    }
}

impl World {
    /// Checks a lead when the CRM gets it.
    async fn check(&self, lead: &Lead, (job, attempt): (i64, i64)) {
        let leads = locked(&self.stored).iter().find(|leads| leads.contains(&lead.id)).cloned();
        for id in leads.expect("it was stored").iter().take_while(|id| **id != lead.id) {
            let earlier = tables::leads::get(&self.db, id).await.unwrap().unwrap();
            assert_ne!(earlier.status, Status::Queued, "sent before an earlier lead of the same person");
        }
        let again = locked(&self.again).get(&lead.id).copied().unwrap_or(0);
        let is_first = locked(&self.received).insert((lead.id.clone(), again, job, attempt));
        assert!(is_first, "sent twice in one attempt");
        let holder = jobs::get(&self.db, job).await.unwrap().map(|job| job.attempt);
        assert_eq!(holder, Some(attempt), "sent by a process that has lost the job");
        let now = tables::leads::get(&self.db, &lead.id).await.unwrap().unwrap();
        assert_eq!(now.status, Status::Queued, "sent although it does not wait");
    }
}

struct Process {
    forwarder: Arc<Forwarder>,
    line: Arc<Line>,
    working: Option<(Job, BoxFuture<'static, Result<(), JobError>>)>,
}

struct Simulation {
    world: Arc<World>,
    outbox: Outbox,
    clock: Clock,
    dice: Random,
    seed: u64,
    processes: Vec<Process>,
}

impl Simulation {
    fn new(db: &Db, clock: &Clock, seed: u64) -> Self {
        let world = Arc::new(World {
            db: db.clone(),
            stored: Mutex::new(vec![Vec::new(); PEOPLE]),
            again: Mutex::default(),
            received: Mutex::default(),
        });
        let process = || {
            let line = Arc::new(Line::default());
            let crm = Box::new(FakeCrm { world: world.clone(), line: line.clone() });
            let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
            let forwarder = Forwarder { db: db.clone(), crm, backoff, paused_until: Mutex::default() };
            Process { forwarder: Arc::new(forwarder), line, working: None }
        };
        let processes = (0..PROCESSES).map(|_| process()).collect();
        let (dice, outbox) = (Random::seeded(seed), Outbox::new(db.clone()));
        Self { world, outbox, clock: clock.clone(), dice, seed, processes }
    }

    fn below(&self, limit: usize) -> usize {
        (self.dice.fraction() * limit as f64) as usize
    }

    async fn step(&mut self) {
        match self.below(14) {
            0..=2 => self.store().await,
            3 => self.clock.advance(Duration::from_secs(self.below(20) as u64)),
            // Past every lease and backoff.
            4 => self.clock.advance(LEASE * 3),
            5 => self.queue_again().await,
            6 => self.erase().await,
            7 => {
                // A process dies, perhaps while the CRM has its lead.
                let process = self.below(PROCESSES);
                self.processes[process].working = None;
            }
            _ => {
                let outcome = match self.below(6) {
                    0 => Err(SendError::Refused { message: "no".to_owned() }),
                    1 => Err(SendError::Later { cause: "busy", message: "later".to_owned(), after: None }),
                    _ => Ok(()),
                };
                self.go_on(self.below(PROCESSES), outcome).await;
            }
        }
    }

    async fn store(&self) {
        let (person, number) = (self.below(PEOPLE), locked(&self.world.stored).iter().flatten().count());
        let pairs =
            [("email", format!("{}-{person}@example.org", self.seed)), ("message", format!("{number}"))];
        let submission = Submission {
            pairs: pairs.map(|(name, value)| (name.to_owned(), value)).into(),
            idempotency_key: None,
            address: Ipv4Addr::LOCALHOST.into(),
        };
        let forms = Forms::default();
        let lead = read(forms.get("default").unwrap(), submission, self.clock.now_ms()).unwrap();
        let id = self.outbox.accept(&lead).await.unwrap().id;
        locked(&self.world.stored)[person].push(id);
    }

    fn any_lead(&self) -> Option<String> {
        let stored = locked(&self.world.stored);
        stored.iter().flatten().nth(self.below(1 + stored.iter().flatten().count())).cloned()
    }

    async fn queue_again(&self) {
        let Some(id) = self.any_lead() else { return };
        match self.outbox.retry(&id).await {
            Ok(_) => *locked(&self.world.again).entry(id).or_default() += 1,
            Err(OutboxError::NotRetryable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    async fn erase(&self) {
        if let Some(id) = self.any_lead() {
            self.outbox.erase(&id).await.unwrap();
        }
    }

    /// Lets a process go on: it claims a job, or the CRM answers it.
    async fn go_on(&mut self, number: usize, outcome: Outcome) {
        let Process { forwarder, line, working } = &mut self.processes[number];
        if working.is_none() {
            let kinds = [JOB.to_owned()];
            let claimed = jobs::claim(&self.world.db, &kinds, &number.to_string(), LEASE, 1).await.unwrap();
            let Some(job) = claimed.into_iter().next() else { return };
            *locked(&line.job) = (job.id, job.attempt);
            let (forwarder, its) = (forwarder.clone(), job.clone());
            *working = Some((job, Box::pin(async move { forwarder.send_all(&its).await })));
        } else if let Some(waiting) = locked(&line.outcome).take() {
            waiting.send(outcome).expect("it waits");
        }
        let Some((job, sending)) = working else { return };
        let ended = tokio::select! {
            biased;
            ended = sending => ended,
            () = line.has_come.notified() => return,
        };
        if let Err(error) = ended {
            let mut tx = self.world.db.begin().await.unwrap();
            if jobs::fail(&mut tx, job, &error).await.is_ok() {
                tx.commit().await.unwrap();
            }
        }
        *working = None;
    }

    /// Lets one process send all that is left, and looks at what has become of each lead.
    async fn finish(&mut self) -> usize {
        self.processes.iter_mut().for_each(|process| process.working = None);
        let leads: Vec<String> = locked(&self.world.stored).iter().flatten().cloned().collect();
        for _ in 0..10 * leads.len() {
            self.clock.advance(LEASE * 3);
            self.go_on(0, Ok(())).await;
        }
        for id in &leads {
            let lead = tables::leads::get(&self.world.db, id).await.unwrap().unwrap();
            let was_received = locked(&self.world.received).iter().any(|(received, ..)| received == id);
            match lead.status {
                Status::Forwarded | Status::Failed => assert!(was_received, "{lead:?}"),
                Status::Erased => assert!(lead.email.is_none(), "{lead:?}"),
                Status::Queued | Status::Spam => panic!("never sent: {lead:?}"),
            }
        }
        let kinds = [JOB.to_owned()];
        assert!(
            jobs::claim(&self.world.db, &kinds, "last", LEASE, 1).await.unwrap().is_empty(),
            "a job is left"
        );
        leads.len()
    }
}

#[tokio::test]
async fn leads_hold_their_order_in_any_order_of_steps() {
    let seeds = mutations::seeds(100);
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::fixed(1_700_000_000_000);
    let url = format!("sqlite://{}", folder.path().join("simulation.db").display());
    let db = Db::open(&url, clock.clone(), Random::system()).await.unwrap();
    db.migrate(tables::SCOPE, tables::MIGRATIONS).await.unwrap();
    let mut leads = 0;
    for seed in seeds.clone() {
        let mut simulation = Simulation::new(&db, &clock, seed);
        let run = async {
            for _ in 0..STEPS {
                simulation.step().await;
            }
            simulation.finish().await
        };
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(number) => leads += number,
            Err(_) => panic!("seed {seed} fails: replay it with STOA_SEED={seed}"),
        }
    }
    println!("{} seeds, {leads} leads", seeds.end - seeds.start);
}
