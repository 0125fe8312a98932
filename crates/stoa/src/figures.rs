//! Stores what this process answers, so that the portal can show the figures of all processes; and where it listens, so
//! that no process reads another one as a source.

use base::Clock;
use kit::figures::{Figures, Sums};
use kit::serve::Drain;
use knowledge::{Knowledge, Listeners};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::Db;
use store::figures::{self, Minute, Process};

const INTERVAL: Duration = Duration::from_secs(5);
/// A process that has nothing to tell writes this often, so that others see that it runs.
const SIGN_OF_LIFE_MS: i64 = 30_000;
const MINUTE_MS: i64 = 60_000;
/// A process that has written nothing for so long has ended.
const ENDED_AFTER_MS: i64 = 120_000;
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The counters of the services of this process.
pub type ServiceFigures = Vec<(&'static str, Arc<Figures>)>;

/// What this process has to tell.
pub struct Told {
    pub services: ServiceFigures,
    pub addresses: Vec<SocketAddr>,
    /// If it runs in this process.
    pub knowledge: Option<Knowledge>,
}

/// Stores the sums of the current minute every few seconds, and learns where others listen, until the process stops.
pub async fn run(db: Db, told: Told, listeners: Listeners, drain: Drain) {
    let clock = db.clock().clone();
    let mut writer = Writer::new(&db, &clock, told);
    let mut every = tokio::time::interval(INTERVAL);
    loop {
        tokio::select! {
            _ = every.tick() => {}
            () = drain.started() => break,
        }
        if let Err(error) = writer.write(&db, clock.now_ms()).await {
            tracing::warn!(%error, "the figures of this process cannot be stored");
        }
        match figures::processes(&db, clock.now_ms() - ENDED_AFTER_MS).await {
            Ok(processes) => {
                listeners.set_others(processes.into_iter().flat_map(|process| process.addresses).collect());
            }
            Err(error) => tracing::warn!(%error, "cannot see where other processes listen"),
        }
    }
    // What cannot be removed is shown for two minutes more.
    let _ = tokio::time::timeout(END_TIMEOUT, figures::end(&db, &writer.process.id)).await;
}

struct Writer {
    process: Process,
    services: ServiceFigures,
    /// If it runs in this process.
    knowledge: Option<Knowledge>,
    minute_ms: i64,
    /// The sums of the current minute, in the order of the services.
    sums: Vec<Sums>,
}

impl Writer {
    fn new(db: &Db, clock: &Clock, told: Told) -> Self {
        let Told { services, addresses, knowledge } = told;
        let names = services.iter().map(|(name, _)| (*name).to_owned()).collect();
        let now = clock.now_ms();
        let process = Process {
            id: db.random().hex::<8>(),
            started_at_ms: now,
            seen_at_ms: 0,
            services: names,
            addresses,
            indexes: 0,
            index_bytes: 0,
        };
        let sums = vec![Sums::default(); services.len()];
        Self { process, services, knowledge, minute_ms: now - now.rem_euclid(MINUTE_MS), sums }
    }

    async fn write(&mut self, db: &Db, now: i64) -> Result<(), store::StoreError> {
        let minute_ms = now - now.rem_euclid(MINUTE_MS);
        if minute_ms != self.minute_ms {
            self.minute_ms = minute_ms;
            self.sums.fill(Sums::default());
        }
        let mut changed = Vec::new();
        for ((name, figures), sums) in self.services.iter().zip(&mut self.sums) {
            let taken = figures.take();
            if taken.requests() == 0 {
                continue;
            }
            sums.add(&taken);
            changed.push(Minute {
                minute_ms,
                service: (*name).to_owned(),
                errors: sums.errors,
                times: sums.times.to_vec(),
            });
        }
        // Seen in the future: the clock was set back.
        let was_just_seen = (0..SIGN_OF_LIFE_MS).contains(&(now - self.process.seen_at_ms));
        if changed.is_empty() && was_just_seen {
            return Ok(());
        }
        self.process.seen_at_ms = now;
        let (indexes, bytes) = self.knowledge.as_ref().map(Knowledge::indexes_held).unwrap_or_default();
        (self.process.indexes, self.process.index_bytes) = (indexes.cast_signed(), bytes.cast_signed());
        figures::write(db, &self.process, &changed).await
    }
}
