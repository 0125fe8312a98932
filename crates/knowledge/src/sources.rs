//! Sources: places that documents come from by themselves, on a schedule.
//!
//! A source has at most one job, which is its next run or the run at work (`sync`). The end of a run and the job of the
//! next are one transaction. `watch` asks for a run as soon as a folder has changed. `crate::secrets` keeps passwords and keys.

mod copies;
mod removal;
mod sink;
mod slots;
mod sync;
mod watch;

pub use sync::workers;

use crate::ingest::Ingest;
use crate::jobs::{SOURCE, SOURCE_REMOVAL, SourcePayload, SourceRemovalPayload, retried_job};
use crate::records::{Run, Source};
use crate::secrets::SecretKeys;
use crate::tables::{self, sources as table};
use base::{Clock, Random};
use connectors::{ConnectError, Environment, Settings};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::jobs;
use store::{Db, StoreError, Tx};

/// In bytes.
pub const LONGEST_SECRET: usize = 16 << 10;
/// Of one owner.
const MOST_SOURCES: i64 = 100;
/// The shortest and the longest time between two runs.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(60);
pub const LONGEST_PAUSE: Duration = Duration::from_secs(31 * 24 * 3600);
/// After a run that has failed, the next begins after this time, and after twice as long with each further failure.
const FIRST_RETRY: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("no source `{0}`")]
    NoSuchSource(String),
    #[error(transparent)]
    Settings(#[from] ConnectError),
    #[error("the secret cannot be kept: SOURCES_KEY or JWT_SECRET must be set")]
    NoKey,
    #[error("there are {MOST_SOURCES} sources here, the most that can be: delete one first")]
    TooMany,
    #[error("the source is paused: set `paused` to false first")]
    Paused,
    #[error("`secret` is missing: it was given for another server or name, so give it again")]
    SecretOfAnother,
    #[error("the user or the space was removed meanwhile")]
    OwnerGone,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a person says about a new source.
pub struct NewSource {
    pub owner_id: String,
    pub created_by: String,
    pub name: String,
    pub settings: Settings,
    pub secret: Option<String>,
    /// None if it runs only when asked to.
    pub every: Option<Duration>,
}

/// What is to change of a source.
#[derive(Default)]
pub struct SourceChanges {
    pub name: Option<String>,
    pub settings: Option<Settings>,
    /// `Some(None)` drops it.
    pub secret: Option<Option<String>>,
    pub every: Option<Option<Duration>>,
    pub paused: Option<bool>,
}

pub struct SourceSettings {
    pub environment: Environment,
    pub keys: SecretKeys,
    /// The most bytes of one item.
    pub largest_item: u64,
    /// Holds what is read until it is stored.
    pub spool_folder: PathBuf,
}

#[derive(Clone)]
pub struct Sources(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Clock,
    random: Random,
    ingest: Ingest,
    settings: SourceSettings,
    /// Runs at work in this process, by their owners.
    running: Mutex<HashMap<String, usize>>,
}

impl Sources {
    pub fn new(db: Db, clock: Clock, random: Random, ingest: Ingest, settings: SourceSettings) -> Self {
        let running = Mutex::default();
        Self(Arc::new(Inner { db, clock, random, ingest, settings, running }))
    }

    /// Adds a source. Its first run begins at once.
    pub async fn create(&self, new: NewSource) -> Result<Source, SourceError> {
        let this = &self.0;
        self.check(&new.settings).await?;
        let id = this.random.uuid_v7(&this.clock).to_string();
        let now = this.clock.now_ms();
        let mut source = Source {
            secret: self.encrypt(&id, new.secret)?,
            id,
            owner_id: new.owner_id,
            created_by: new.created_by,
            created_at: now,
            name: new.name,
            settings: new.settings,
            every: seconds(new.every),
            is_paused: false,
            job_id: None,
            next_run_at: None,
            copy_bytes: 0,
            last_run: Run::default(),
        };
        let mut tx = this.db.begin().await?;
        tables::users::next_revision(&mut tx, &source.owner_id).await?.ok_or(SourceError::OwnerGone)?;
        if table::count(&mut tx, &source.owner_id).await? >= MOST_SOURCES {
            return Err(SourceError::TooMany);
        }
        schedule(&mut tx, &mut source, Some(now)).await?;
        table::insert(&mut tx, &source).await?;
        tx.commit().await?;
        Ok(source)
    }

    /// Returns the folders below which a source may be.
    pub fn folder_roots(&self) -> Vec<String> {
        self.0.settings.environment.folder_roots.iter().map(|root| root.display().to_string()).collect()
    }

    pub async fn get(&self, id: &str) -> Result<Source, SourceError> {
        // No id has a NUL character, and PostgreSQL would refuse the statement.
        let found = if id.contains('\0') { None } else { table::get(&self.0.db, id).await? };
        found.ok_or_else(|| SourceError::NoSuchSource(id.to_owned()))
    }

    pub async fn list(&self, owner_id: &str) -> Result<Vec<Source>, SourceError> {
        Ok(table::of_owner(&self.0.db, owner_id).await?)
    }

    /// Changes a source. With other settings or another secret, or after a pause, the next run begins at once.
    pub async fn update(&self, id: &str, changes: SourceChanges) -> Result<Source, SourceError> {
        let this = &self.0;
        if let Some(settings) = &changes.settings {
            self.check(settings).await?;
        }
        let mut tx = this.db.begin().await?;
        let mut source = self.lock(&mut tx, id).await?;
        let sends_secret =
            |settings| !source.secret.is_empty() && !has_same_server(&source.settings, settings);
        if changes.secret.is_none() && changes.settings.as_ref().is_some_and(sends_secret) {
            return Err(SourceError::SecretOfAnother);
        }
        let begins_now = changes.settings.is_some()
            || changes.secret.is_some()
            || (source.is_paused && changes.paused == Some(false));
        // A run that is at work or due stays.
        let is_due = is_running(&source) || source.next_run_at.is_some_and(|at| at <= this.clock.now_ms());
        let is_rescheduled = begins_now
            || changes.paused.is_some_and(|paused| paused != source.is_paused)
            || (changes.every.is_some() && !is_due);
        source.name = changes.name.unwrap_or(source.name);
        source.settings = changes.settings.unwrap_or(source.settings);
        if let Some(secret) = changes.secret {
            source.secret = self.encrypt(id, secret)?;
        }
        source.every = changes.every.map_or(source.every, seconds);
        source.is_paused = changes.paused.unwrap_or(source.is_paused);
        if is_rescheduled {
            let next = match begins_now {
                true => Some(this.clock.now_ms()),
                false => self.next_run(&source),
            };
            schedule(&mut tx, &mut source, next).await?;
        }
        table::update(&mut tx, &source).await?;
        tx.commit().await?;
        Ok(source)
    }

    /// Checks settings, which may read the file system.
    async fn check(&self, settings: &Settings) -> Result<(), SourceError> {
        let (settings, environment) = (settings.clone(), self.0.settings.environment.clone());
        let checking = tokio::task::spawn_blocking(move || connectors::check(&settings, &environment));
        let checked =
            checking.await.unwrap_or_else(|_| Err(ConnectError::new("`settings` cannot be checked")));
        Ok(checked?)
    }

    /// Begins a run now. Items that could not be read are read again. A run that is at work continues, unless it is asked
    /// to begin anew.
    pub async fn run_now(&self, id: &str) -> Result<Source, SourceError> {
        let mut tx = self.0.db.begin().await?;
        let mut source = self.lock(&mut tx, id).await?;
        if source.is_paused {
            return Err(SourceError::Paused);
        }
        if !is_running(&source) {
            let now = self.0.clock.now_ms();
            schedule(&mut tx, &mut source, Some(now)).await?;
            table::update(&mut tx, &source).await?;
        }
        tx.commit().await?;
        Ok(source)
    }

    /// Removes a source. Its documents are removed by a job, or stay as if they had been uploaded.
    pub async fn remove(&self, id: &str, with_documents: bool) -> Result<(), SourceError> {
        let mut tx = self.0.db.begin().await?;
        let mut source = self.lock(&mut tx, id).await?;
        schedule(&mut tx, &mut source, None).await?;
        table::delete(&mut tx, id).await?;
        if with_documents {
            let (source_id, owner_id) = (id.to_owned(), source.owner_id);
            let payload = SourceRemovalPayload { source_id, owner_id, archive_id: String::new() };
            jobs::enqueue(&mut tx, retried_job(SOURCE_REMOVAL, payload)).await?;
        } else {
            tables::documents::release_from_source(&mut tx, id).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Asks for runs of folders that have changed, until the process stops.
    pub async fn watch(&self) {
        watch::watch(self).await;
    }

    async fn lock(&self, tx: &mut Tx, id: &str) -> Result<Source, SourceError> {
        let found = if id.contains('\0') { None } else { table::lock(tx, id).await? };
        found.ok_or_else(|| SourceError::NoSuchSource(id.to_owned()))
    }

    fn encrypt(&self, id: &str, secret: Option<String>) -> Result<String, SourceError> {
        match secret.filter(|secret| !secret.is_empty()) {
            None => Ok(String::new()),
            Some(secret) => self.0.settings.keys.encrypt(id, &secret).ok_or(SourceError::NoKey),
        }
    }

    /// Returns when the next run begins, after the last one has ended as it has.
    fn next_run(&self, source: &Source) -> Option<i64> {
        let now = self.0.clock.now_ms();
        let Run { failures, ended_at, number, .. } = source.last_run;
        if number == 0 {
            return Some(now);
        }
        let pause = match failures {
            0 if source.every == 0 => return None,
            0 => Duration::from_secs(source.every.unsigned_abs()),
            failures => retry_pause(failures),
        };
        // Not later than now: the clock may have been set back since.
        Some(ended_at.unwrap_or(now).min(now) + pause.as_millis() as i64)
    }
}

/// Returns whether a run is at work.
pub fn is_running(source: &Source) -> bool {
    source.last_run.number > 0 && source.last_run.ended_at.is_none() && source.last_run.job == source.job_id
}

/// Returns whether two places ask the same server with the same name, so that the secret of one is not told to another.
fn has_same_server(before: &Settings, after: &Settings) -> bool {
    use Settings::{Folder, Git, Imap, S3, Web};
    match before {
        Folder { .. } => matches!(after, Folder { .. }),
        Web { .. } => matches!(after, Web { .. }),
        S3 { endpoint, access_key_id, .. } => {
            matches!(after, S3 { endpoint: other, access_key_id: key, .. } if (endpoint, access_key_id) == (other, key))
        }
        Git { url, username, .. } => {
            matches!(after, Git { url: other, username: name, .. } if (url, username) == (other, name))
        }
        Imap { host, port, username, tls, .. } => matches!(after,
            Imap { host: other, port: other_port, username: name, tls: other_tls, .. }
            if (host, port, username, tls) == (other, other_port, name, other_tls)),
    }
}

fn retry_pause(failures: i64) -> Duration {
    let doublings = u32::try_from(failures - 1).unwrap_or(u32::MAX).min(30);
    FIRST_RETRY.saturating_mul(1 << doublings).min(LONGEST_RETRY)
}

fn seconds(every: Option<Duration>) -> i64 {
    every.map_or(0, |every| i64::try_from(every.as_secs()).unwrap_or(i64::MAX))
}

/// Replaces the job of a source by one that begins at this time; by none if the source is paused or no time is given. A run
/// that is at work ends soon.
async fn schedule(tx: &mut Tx, source: &mut Source, at: Option<i64>) -> Result<(), StoreError> {
    if let Some(job) = source.job_id {
        jobs::cancel(tx, job).await?;
    }
    let at = at.filter(|_| !source.is_paused);
    source.next_run_at = at;
    source.job_id = match at {
        None => None,
        Some(at) => {
            let mut job = retried_job(SOURCE, SourcePayload { source_id: source.id.clone() });
            job.run_at = Some(at);
            Some(jobs::enqueue(tx, job).await?)
        }
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_fails_waits_longer_each_time_and_a_day_at_most() {
        let pauses = [1, 2, 3, 11, 12, 100, i64::MAX].map(|failures| retry_pause(failures).as_secs());
        assert_eq!(pauses, [60, 120, 240, 61_440, 86_400, 86_400, 86_400]);
    }
}
