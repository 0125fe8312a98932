//! Carrying leads to the CRM: at least once each, those of one key one after the other.
//!
//! One job sends all that waits under a key, in the order of its arrival. `crm` is what a CRM is to us; `webhook` and
//! `hubspot` are the two kinds.

mod crm;
mod exchange;
mod hubspot;
mod settings;
mod webhook;

pub use settings::{CrmKind, CrmSettings, CrmUrl, SigningSecret};

use crate::forms::Forms;
use crate::outbox::JOB;
use crate::records::{Lead, Status};
use crate::tables;
use crm::{Crm, SendError};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use store::jobs::{self, Handler, Job, JobError, Retry, Worker};
use store::{Db, StoreError, Tx};
use tokio_util::sync::CancellationToken;

/// Keys whose leads are sent at a time.
const KEYS_AT_ONCE: usize = 16;
/// As long as a pause that the CRM asks for is waited for in place; longer ones in the queue.
const LONGEST_WAIT_MS: i64 = 30_000;
const POLL: Duration = Duration::from_millis(500);

struct Forwarder {
    db: Db,
    crm: Box<dyn Crm>,
    retry_first: Duration,
    retry_longest: Duration,
    /// The CRM has asked to be left alone until then, in milliseconds since 1970.
    quiet_until: AtomicI64,
}

pub fn worker(db: Db, forms: Forms, settings: &CrmSettings, lease: Duration) -> reqwest::Result<Worker> {
    let client = exchange::client(settings.timeout)?;
    let crm: Box<dyn Crm> = match settings.kind {
        CrmKind::Webhook => {
            Box::new(webhook::Webhook::new(client, settings.clone(), forms, db.clock().clone()))
        }
        CrmKind::Hubspot => {
            Box::new(hubspot::Hubspot::new(client, settings.clone(), forms, db.clock().clone()))
        }
    };
    let (retry_first, retry_longest) = (settings.retry_first, settings.retry_longest);
    let forwarder =
        Forwarder { db: db.clone(), crm, retry_first, retry_longest, quiet_until: AtomicI64::new(0) };
    Ok(Worker {
        concurrency: KEYS_AT_ONCE,
        lease,
        poll: POLL,
        ..Worker::new(db, &[JOB], Arc::new(forwarder))
    })
}

impl Handler for Forwarder {
    fn run(&self, job: Job, stop: CancellationToken) -> BoxFuture<'_, Result<(), JobError>> {
        Box::pin(async move {
            tokio::select! {
                done = self.send_all(&job) => done,
                () = stop.cancelled() => Err(JobError::retry("the lease is lost")),
            }
        })
    }
}

impl Forwarder {
    async fn send_all(&self, job: &Job) -> Result<(), JobError> {
        loop {
            // Before the lead is read: one that is erased during the pause is not sent after it.
            self.be_quiet().await?;
            let ended = match tables::leads::first_waiting(&self.db, job.id).await? {
                Some(lead) => self.send(job, lead).await?,
                None => end_where_empty(self.db.begin().await?, job).await.map_err(lost)?,
            };
            if ended {
                return Ok(());
            }
        }
    }

    /// One lead, and what comes of it. True where it was the last one of its key, and the job has ended with it.
    async fn send(&self, job: &Job, lead: Lead) -> Result<bool, JobError> {
        let sent = self.crm.send(&lead).await;
        let mut tx = self.db.begin().await?;
        jobs::hold(&mut tx, job).await.map_err(lost)?;
        let now = self.db.clock().now_ms();
        // As it is now: it may have been erased meanwhile.
        let Some(lead) = tables::leads::lock(&mut tx, &lead.id).await? else { return Ok(false) };
        let is_waiting = lead.status == Status::Queued;
        let attempts = lead.attempts + 1;
        let (lead, retry) = match sent {
            Ok(()) => {
                metrics::counter!("leads_forwarded_total").increment(1);
                let lead = Lead {
                    status: Status::Forwarded,
                    error: None,
                    forwarded_at: Some(now),
                    attempts,
                    ..lead
                };
                (lead, None)
            }
            Err(SendError::Refused { message }) => {
                metrics::counter!("leads_forward_errors_total", "cause" => "refused").increment(1);
                metrics::counter!("leads_dead_total").increment(1);
                tracing::warn!(lead = lead.id, form = lead.form, "the CRM refused a lead for good");
                (Lead { status: Status::Failed, error: Some(message), attempts, ..lead }, None)
            }
            Err(SendError::Later { cause, message, after }) => {
                metrics::counter!("leads_forward_errors_total", "cause" => cause).increment(1);
                let pause = self.pause(attempts, after);
                // Not what the CRM said: that may tell of the person, and a job outlives an erasure.
                let error = JobError { message: format!("the CRM: {cause}"), retry: Retry::After(pause) };
                (Lead { error: Some(message), attempts, ..lead }, Some(error))
            }
        };
        if is_waiting {
            tables::leads::update(&mut tx, &lead).await?;
        }
        if let Some(error) = retry {
            tx.commit().await?;
            return Err(error);
        }
        Ok(end_where_empty(tx, job).await?)
    }

    /// What the CRM asks for, and at least longer each time, half of it random so that leads that failed together do not come back
    /// together.
    fn pause(&self, attempts: i64, asked: Option<Duration>) -> Duration {
        if let Some(asked) = asked {
            let until = self.db.clock().now_ms().saturating_add(asked.as_millis() as i64);
            self.quiet_until.fetch_max(until, Ordering::Relaxed);
        }
        let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(20);
        let longest = self.retry_first.saturating_mul(1 << doublings).min(self.retry_longest);
        longest.mul_f64(0.5 + self.db.random().fraction() / 2.0).max(asked.unwrap_or_default())
    }

    /// Waits out a pause that the CRM has asked for.
    async fn be_quiet(&self) -> Result<(), JobError> {
        let left = self.quiet_until.load(Ordering::Relaxed) - self.db.clock().now_ms();
        if left <= 0 {
            return Ok(());
        }
        let left = Duration::from_millis(left.unsigned_abs());
        if left.as_millis() > LONGEST_WAIT_MS as u128 {
            return Err(JobError {
                message: "the CRM asked for a pause".to_owned(),
                retry: Retry::After(left),
            });
        }
        tokio::time::sleep(left).await;
        Ok(())
    }
}

/// Commits, and ends the job where nothing waits under its key any more. True where it has ended.
async fn end_where_empty(mut tx: Tx, job: &Job) -> Result<bool, StoreError> {
    // Without a key, its leads were erased: if others of the same address have come since, they have a job of their own.
    if let Some(key) = tables::queues::enter_of_job(&mut tx, job.id).await? {
        if tables::leads::any_waiting(&mut tx, &key).await? {
            tx.commit().await?;
            return Ok(false);
        }
        tables::queues::leave(&mut tx, &key).await?;
    }
    jobs::complete(&mut tx, job).await?;
    tx.commit().await?;
    Ok(true)
}

/// Another worker has the job: it ends here, and goes on there.
fn lost(error: StoreError) -> JobError {
    match error {
        StoreError::LeaseLost { .. } => JobError::never(error.to_string()),
        other => other.into(),
    }
}
