//! Sends leads to the CRM: each at least once, those of one key one after the other.
//!
//! One job sends all leads that wait under a key, in the order in which they were stored. `crm` is the trait of a CRM;
//! `webhook` and `hubspot` are the two implementations.

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
use base::Backoff;
use crm::{Crm, SendError};
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::jobs::{self, Handler, Job, JobError, Retry, Worker};
use store::{Db, StoreError, Tx};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many keys' leads are sent at the same time.
const KEYS_AT_ONCE: usize = 16;
/// A pause that the CRM asks for is waited for in the job up to this length; for a longer one the job is retried later.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(500);

struct Forwarder {
    db: Db,
    crm: Box<dyn Crm>,
    backoff: Backoff,
    /// The CRM has asked for no requests until then.
    paused_until: Mutex<Option<Instant>>,
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
    let backoff = Backoff::new(settings.retry_first, settings.retry_longest);
    let forwarder = Forwarder { db: db.clone(), crm, backoff, paused_until: Mutex::default() };
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
            // Before the lead is read: one that is erased during the pause must not be sent after it.
            self.wait_for_pause().await?;
            let ended = match tables::leads::first_waiting(&self.db, job.id).await? {
                Some(lead) => self.send(job, lead).await?,
                None => end_if_empty(self.db.begin().await?, job).await.map_err(lost)?,
            };
            if ended {
                return Ok(());
            }
        }
    }

    /// Sends one lead and stores the outcome. Returns true if it was the last one of its key, so that the job has ended.
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
                // Without the CRM's words: they may contain data of the person, and a job outlives an erasure.
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
        Ok(end_if_empty(tx, job).await?)
    }

    /// Returns the pause before the next attempt: the backoff, or what the CRM asks for if that is longer.
    fn pause(&self, attempts: i64, asked: Option<Duration>) -> Duration {
        if let Some(asked) = asked {
            let mut until = self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
            *until = (*until).max(Some(Instant::now() + asked));
        }
        self.backoff.pause(attempts, self.db.random()).max(asked.unwrap_or_default())
    }

    /// Waits until a pause that the CRM has asked for is over.
    async fn wait_for_pause(&self) -> Result<(), JobError> {
        let until = *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(());
        }
        if left > LONGEST_WAIT {
            return Err(JobError {
                message: "the CRM asked for a pause".to_owned(),
                retry: Retry::After(left),
            });
        }
        tokio::time::sleep(left).await;
        Ok(())
    }
}

/// Commits, and ends the job if no lead waits under its key any more. Returns whether it has ended.
async fn end_if_empty(mut tx: Tx, job: &Job) -> Result<bool, StoreError> {
    // Without a key, the leads were erased. If others of the same address were stored since, they have another job.
    if let Some(key) = tables::queues::lock_of_job(&mut tx, job.id).await? {
        if tables::leads::any_waiting(&mut tx, &key).await? {
            tx.commit().await?;
            return Ok(false);
        }
        tables::queues::delete(&mut tx, &key).await?;
    }
    jobs::complete(&mut tx, job).await?;
    tx.commit().await?;
    Ok(true)
}

/// Ends the job here if another worker has it.
fn lost(error: StoreError) -> JobError {
    match error {
        StoreError::LeaseLost { .. } => JobError::never(error.to_string()),
        other => other.into(),
    }
}

#[cfg(test)]
mod simulation;
