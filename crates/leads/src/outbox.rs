//! The outbox: leads that are stored until the CRM has them. A lead and the job that sends it are committed together.

use crate::records::{Lead, Status};
use crate::tables::{self, leads::Filter};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;
use store::jobs::{self, NewJob};
use store::{Db, StoreError, Tx};
use tokio_util::sync::CancellationToken;

/// The kind of job that sends the leads of one key.
pub const JOB: &str = "leads";
/// How long a lead that is sent again counts as the same.
const SAME_WITHIN_MS: i64 = 24 * 60 * 60 * 1_000;
const HOUSEKEEPING: Duration = Duration::from_secs(60 * 60);
const FORGET_BATCH: i64 = 1_000;
const RETRY_BATCH: usize = 500;
/// The housekeeping of another process may come in between, but not several times in a row.
const TRIES: usize = 3;

#[derive(Clone)]
pub struct Outbox {
    db: Db,
}

/// The answer to a lead that was accepted.
pub struct Accepted {
    pub id: String,
    /// False if the same lead was sent before: `id` is that of the first one.
    pub is_new: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    #[error("no lead `{0}`")]
    NoLead(String),
    #[error("lead `{id}` is {status}: only one that is failed or spam can be sent again", status = status.as_str())]
    NotRetryable { id: String, status: Status },
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl Outbox {
    pub fn new(db: Db) -> Self {
        Self { db }
    }

    /// Stores a lead, unless the same one was stored before. Returns after the commit.
    pub async fn accept(&self, lead: &Lead) -> Result<Accepted, StoreError> {
        for _ in 0..TRIES {
            if let Some(accepted) = self.try_accept(lead).await? {
                return Ok(accepted);
            }
        }
        Err(StoreError::Conflict { key: format!("form {}", lead.form) })
    }

    async fn try_accept(&self, lead: &Lead) -> Result<Option<Accepted>, StoreError> {
        let mut tx = self.db.begin().await?;
        let id = self.db.random().uuid_v7(self.db.clock()).to_string();
        let sequence_key = if lead.sequence_key.is_empty() { id.clone() } else { lead.sequence_key.clone() };
        let lead = Lead { id, sequence_key, ..lead.clone() };
        tables::leads::forget_same(&mut tx, &lead, SAME_WITHIN_MS).await?;
        if !tables::leads::insert(&mut tx, &lead).await? {
            let first = tables::leads::find_same(&mut tx, &lead).await?;
            return Ok(first.map(|id| Accepted { id, is_new: false }));
        }
        if lead.status == Status::Queued {
            enqueue(&mut tx, &lead).await?;
        }
        tx.commit().await?;
        Ok(Some(Accepted { id: lead.id, is_new: true }))
    }

    /// Queues a lead again that the CRM has refused or that was taken for spam.
    pub async fn retry(&self, id: &str) -> Result<Lead, OutboxError> {
        let mut tx = self.db.begin().await?;
        let lead = tables::leads::lock(&mut tx, id).await?;
        let lead = lead.ok_or_else(|| OutboxError::NoLead(id.to_owned()))?;
        if !matches!(lead.status, Status::Failed | Status::Spam) {
            return Err(OutboxError::NotRetryable { id: lead.id, status: lead.status });
        }
        let lead = Lead { status: Status::Queued, attempts: 0, error: None, ..lead };
        tables::leads::update(&mut tx, &lead).await?;
        enqueue(&mut tx, &lead).await?;
        tx.commit().await?;
        Ok(lead)
    }

    /// Queues all leads again that the CRM has refused, of one form or of all. Returns how many.
    pub async fn retry_failed(&self, form: Option<String>) -> Result<usize, OutboxError> {
        let filter = Filter { form, status: Some(Status::Failed), email: None };
        let (mut ids, mut before) = (Vec::new(), None);
        loop {
            let page = tables::leads::page(&self.db, &filter, before.as_deref(), RETRY_BATCH).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.id.clone());
            ids.extend(page.into_iter().map(|lead| lead.id));
        }
        let mut count = 0;
        // The oldest first: leads of one email address stay in their order.
        for id in ids.iter().rev() {
            match self.retry(id).await {
                Ok(_) => count += 1,
                // Another caller has queued it first.
                Err(OutboxError::NotRetryable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Removes all data of the person. What remains says that there was a lead, of which form and when.
    pub async fn erase(&self, id: &str) -> Result<Lead, OutboxError> {
        let mut tx = self.db.begin().await?;
        let lead = tables::leads::lock(&mut tx, id).await?;
        let lead = lead.ok_or_else(|| OutboxError::NoLead(id.to_owned()))?;
        let erased = Lead {
            status: Status::Erased,
            email: None,
            fields: BTreeMap::new(),
            consent: None,
            address: None,
            sequence_key: lead.id.clone(),
            error: None,
            // The same lead counts as a new one after this.
            idempotency_key: None,
            content_digest: None,
            ..lead.clone()
        };
        tables::leads::update(&mut tx, &erased).await?;
        if lead.status == Status::Queued {
            // The key is a digest of the address: it stays only if another lead waits under it.
            tables::queues::lock(&mut tx, &lead.sequence_key).await?;
            if !tables::leads::any_waiting(&mut tx, &lead.sequence_key).await? {
                tables::queues::delete(&mut tx, &lead.sequence_key).await?;
            }
        }
        tx.commit().await?;
        Ok(erased)
    }

    /// Removes the digests of old leads every hour: they are only needed for a day.
    pub async fn remove_old_digests(self, stopped: CancellationToken) {
        let mut every = tokio::time::interval(HOUSEKEEPING);
        loop {
            tokio::select! {
                () = stopped.cancelled() => return,
                _ = every.tick() => {}
            }
            if let Err(error) = self.forget_digests().await {
                tracing::warn!(%error, "cannot forget the digests of old leads");
            }
        }
    }

    async fn forget_digests(&self) -> Result<(), StoreError> {
        let cutoff = self.db.clock().now_ms() - SAME_WITHIN_MS;
        loop {
            let mut tx = self.db.begin().await?;
            let forgotten = tables::leads::forget_digests(&mut tx, cutoff, FORGET_BATCH).await?;
            tx.commit().await?;
            if forgotten < FORGET_BATCH.unsigned_abs() {
                return Ok(());
            }
        }
    }
}

/// Adds the lead to the queue of its key, and enqueues a job for that queue if it has none.
async fn enqueue(tx: &mut Tx, lead: &Lead) -> Result<(), StoreError> {
    let key = &lead.sequence_key;
    let job = tables::queues::lock(tx, key).await?;
    tables::leads::set_position(tx, lead).await?;
    if job.is_some() {
        return Ok(());
    }
    let job = NewJob::retried_forever(JOB, Value::Object(Map::new()));
    let job = jobs::enqueue(tx, job).await?;
    tables::queues::set_job(tx, key, job).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::Forms;
    use crate::intake::{Submission, read};
    use base::{Clock, Random};
    use std::net::Ipv4Addr;
    use std::path::Path;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    async fn accept(outbox: &Outbox, clock: &Clock, key: Option<&str>, message: &str) -> Accepted {
        let pairs = [("email", "ada@example.org"), ("message", message)];
        let submission = Submission {
            pairs: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            idempotency_key: key.map(str::to_owned),
            address: Ipv4Addr::LOCALHOST.into(),
        };
        let lead = read(Forms::default().get("default").unwrap(), submission, clock.now_ms()).unwrap();
        outbox.accept(&lead).await.unwrap()
    }

    async fn open(folder: &Path, clock: &Clock) -> (Outbox, Db) {
        let url = format!("sqlite://{}", folder.join("leads.db").display());
        let db = Db::open(&url, clock.clone(), Random::system()).await.unwrap();
        db.migrate(tables::SCOPE, tables::MIGRATIONS).await.unwrap();
        (Outbox::new(db.clone()), db)
    }

    #[tokio::test]
    async fn leads_of_one_email_go_in_the_order_of_their_commits_whatever_the_clocks_say() {
        let folder = tempfile::tempdir().unwrap();
        let (ahead, behind) = (Clock::fixed(1_794_709_061_000), Clock::fixed(1_794_709_000_000));
        let (here, db) = open(folder.path(), &ahead).await;
        let (there, _) = open(folder.path(), &behind).await;
        let mut ids = Vec::new();
        for (outbox, clock, message) in [(&here, &ahead, "1"), (&there, &behind, "2"), (&here, &ahead, "3")] {
            ids.push(accept(outbox, clock, None, message).await.id);
        }
        let key = tables::leads::get(&db, &ids[0]).await.unwrap().unwrap().sequence_key;
        let job = tables::queues::lock(&mut db.begin().await.unwrap(), &key).await.unwrap().unwrap();
        let mut sent = Vec::new();
        while let Some(lead) = tables::leads::first_waiting(&db, job).await.unwrap() {
            sent.push(lead.id.clone());
            let mut tx = db.begin().await.unwrap();
            tables::leads::update(&mut tx, &Lead { status: Status::Failed, ..lead }).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(sent, ids);
        accept(&there, &behind, None, "4").await;
        here.retry(&ids[0]).await.unwrap();
        let first = tables::leads::first_waiting(&db, job).await.unwrap().unwrap();
        assert_eq!(first.id, ids[0], "what is sent again keeps its position");
    }

    #[tokio::test]
    async fn nothing_of_an_erased_person_is_left_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::fixed(1_794_709_061_000);
        let (outbox, db) = open(folder.path(), &clock).await;
        let ids = [accept(&outbox, &clock, None, "1").await.id, accept(&outbox, &clock, None, "2").await.id];
        let key = tables::leads::get(&db, &ids[0]).await.unwrap().unwrap().sequence_key;
        let job = tables::queues::lock(&mut db.begin().await.unwrap(), &key).await.unwrap().unwrap();
        outbox.erase(&ids[0]).await.unwrap();
        let waiting = tables::leads::first_waiting(&db, job).await.unwrap().map(|lead| lead.id);
        assert_eq!(waiting.as_ref(), Some(&ids[1]));
        outbox.erase(&ids[1]).await.unwrap();
        assert!(tables::leads::first_waiting(&db, job).await.unwrap().is_none());
        db.close().await;
        let file = std::fs::read(folder.path().join("leads.db")).unwrap();
        let holds = |text: &str| file.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(holds(&ids[0]) && !holds(&key) && !holds("ada@example.org"));
    }

    #[tokio::test]
    async fn a_lead_counts_as_the_same_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::fixed(1_794_709_061_000);
        let (outbox, db) = open(folder.path(), &clock).await;
        let plain = accept(&outbox, &clock, None, "hello").await;
        let keyed = accept(&outbox, &clock, Some("k"), "with a key").await;
        assert!(plain.is_new && keyed.is_new);
        clock.advance(DAY);
        let again = accept(&outbox, &clock, None, "hello").await;
        assert_eq!((again.is_new, &again.id), (false, &plain.id));
        assert_eq!(accept(&outbox, &clock, Some("k"), "other").await.id, keyed.id);
        clock.advance(Duration::from_millis(1));
        assert!(accept(&outbox, &clock, None, "hello").await.is_new);
        assert!(accept(&outbox, &clock, Some("k"), "other").await.is_new);
        let old = tables::leads::get(&db, &plain.id).await.unwrap().unwrap();
        assert_eq!((old.content_digest, old.status), (None, Status::Queued));
        clock.advance(2 * DAY);
        outbox.forget_digests().await.unwrap();
        let all = tables::leads::page(&db, &Filter::default(), None, 10).await.unwrap();
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|lead| lead.content_digest.is_none() && lead.idempotency_key.is_none()));
    }
}
