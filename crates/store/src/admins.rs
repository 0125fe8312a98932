//! Administrators: their records in the object store, which the gateway relies on, and the check of tokens that every
//! service makes: of administrators' tokens by these records, and of tokens of sessions by their grants.
//!
//! An account is stored twice: as a record here, and as a row of the knowledge service. A change is written to the
//! database first, in the transaction that changes the row ([`put`], [`remove`]), and then to the object store
//! ([`Admins::finish`]). Every reader of a record first finishes a pending change. So a change holds in both places from
//! its commit on, also if the process is killed between the two writes.

mod changes;
mod record;
mod standing;

pub use record::{AdminRecord, is_username};
pub use standing::Standing;

use crate::recent::Recent;
use crate::{BlobError, Blobs, Db, Outage, StoreError, Tx};
use bytes::Bytes;
use changes::Change;
use futures_util::TryStreamExt;
use standing::Looked;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const FOLDER: &str = "auth/admins/";
const MAX_RECORD_BYTES: u64 = 16 * 1024;
/// How long the object store may take. Changes to administrators wait for each other.
const TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Debug, thiserror::Error)]
pub enum AdminsError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error("the object store does not answer")]
    TooSlow,
}

impl AdminsError {
    /// Returns the outage behind this error, if there is one.
    pub fn outage(&self) -> Option<Outage> {
        match self {
            Self::Store(error) => error.outage(),
            Self::Blob(error) => error.outage(),
            Self::TooSlow => Some(Outage::Away),
        }
    }
}

/// A handle that clones cheaply.
#[derive(Clone)]
pub struct Admins(Arc<Inner>);

struct Inner {
    db: Db,
    blobs: Blobs,
    /// By the name, as it is written in tokens.
    standings: Recent<Looked>,
    /// When the grants of tokens expire; none if they have ended.
    grants: Recent<Option<i64>>,
}

impl Admins {
    pub fn new(db: Db, blobs: Blobs) -> Self {
        Self(Arc::new(Inner { db, blobs, standings: Recent::default(), grants: Recent::default() }))
    }

    /// Returns an administrator's record; none if there is none with this name, or if the record cannot be parsed.
    pub async fn find(&self, username: &str) -> Result<Option<AdminRecord>, AdminsError> {
        Ok(self.look_up(username).await?.0)
    }

    /// Returns the names of all records.
    pub async fn names(&self) -> Result<Vec<String>, AdminsError> {
        self.finish_all().await?;
        let listed: Vec<_> = timeout(TIMEOUT, self.0.blobs.list(FOLDER).try_collect())
            .await
            .map_err(|_| AdminsError::TooSlow)??;
        let names = listed.iter().filter_map(|listed: &crate::blobs::Listed| name_of(&listed.key));
        Ok(names.filter(|name| is_username(name)).map(str::to_owned).collect())
    }

    /// Writes a committed change to the object store, if that has not been done yet.
    pub async fn finish(&self, name: &str) -> Result<(), AdminsError> {
        self.settled(&name.to_lowercase()).await?;
        self.forget(name);
        Ok(())
    }

    /// Does the same for all names, for the changes of a process that was killed.
    pub async fn finish_all(&self) -> Result<(), AdminsError> {
        for name in changes::pending(&self.0.db).await? {
            self.finish(&name).await?;
        }
        Ok(())
    }

    async fn look_up(&self, username: &str) -> Result<(Option<AdminRecord>, Option<Change>), AdminsError> {
        if !is_username(username) {
            return Ok((None, None));
        }
        let name = username.to_lowercase();
        let mut change = self.settled(&name).await?;
        let record = self.read(username).await?;
        if let Some(over) = change.as_mut().filter(|change| change.is_removed && record.is_some()) {
            let mut tx = self.0.db.begin().await?;
            changes::readmit(&mut tx, &name, over).await?;
            tx.commit().await?;
            over.is_removed = false;
        }
        Ok((record, change))
    }

    /// Returns the last change to a name, after writing it to the object store if it was pending.
    async fn settled(&self, name: &str) -> Result<Option<Change>, AdminsError> {
        let change = changes::get(&self.0.db, name).await?;
        if !change.as_ref().is_some_and(|change| change.is_pending) {
            return Ok(change);
        }
        let mut tx = self.0.db.begin().await?;
        // Held while the object store is written: an older change must not overwrite a newer one.
        changes::lock(&mut tx).await?;
        let change = changes::get_in(&mut tx, name).await?;
        if let Some(pending) = change.as_ref().filter(|change| change.is_pending) {
            let writing = self.write(name, pending.record.as_deref());
            timeout(TIMEOUT, writing).await.map_err(|_| AdminsError::TooSlow)??;
            changes::done(&mut tx, name).await?;
        }
        tx.commit().await?;
        Ok(change)
    }

    /// Writes or deletes the record of an account. Deletes also records whose names differ from it only in case.
    async fn write(&self, name: &str, record: Option<&str>) -> Result<(), BlobError> {
        let parsed = record.and_then(|record| serde_json::from_str::<AdminRecord>(record).ok());
        let kept = parsed.as_ref().map(|record| key(&record.username));
        if let Some((key, record)) = kept.as_ref().zip(record) {
            self.0.blobs.put(key, Bytes::copy_from_slice(record.as_bytes())).await?;
        }
        let listed: Vec<_> = self.0.blobs.list(FOLDER).try_collect().await?;
        for listed in listed {
            let is_of_account = name_of(&listed.key).is_some_and(|other| other.to_lowercase() == name);
            if is_of_account && Some(&listed.key) != kept.as_ref() {
                self.0.blobs.delete(&listed.key).await?;
            }
        }
        Ok(())
    }

    async fn read(&self, username: &str) -> Result<Option<AdminRecord>, AdminsError> {
        let reading = timeout(TIMEOUT, self.0.blobs.get(&key(username), MAX_RECORD_BYTES)).await;
        let Some(text) = reading.map_err(|_| AdminsError::TooSlow)?? else { return Ok(None) };
        match serde_json::from_slice::<AdminRecord>(&text) {
            Ok(record) => Ok(Some(record).filter(|record| record.username == username)),
            Err(error) => {
                tracing::warn!(username, %error, "an administrator's record cannot be read");
                Ok(None)
            }
        }
    }
}

/// Locks out other changes to administrators to the end of `tx`. Call it before locking any other row.
pub async fn lock(tx: &mut Tx) -> Result<(), StoreError> {
    changes::lock(tx).await
}

/// Creates or replaces a record. Call [`Admins::finish`] after the commit. If there was a record before, tokens that were
/// issued for it are refused.
pub async fn put(tx: &mut Tx, record: &AdminRecord, is_new: bool) -> Result<(), StoreError> {
    let not_before = if is_new { 0 } else { tx.now_ms() };
    let text = serde_json::to_string_pretty(record).unwrap_or_default();
    changes::plan(tx, &record.username.to_lowercase(), Some(&text), not_before).await
}

/// Removes a record, whatever the case of its name. Call [`Admins::finish`] after the commit.
pub async fn remove(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    let now = tx.now_ms();
    changes::plan(tx, &name.to_lowercase(), None, now).await
}

/// Returns the names of removed administrators, in lower case.
pub async fn removed(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    changes::removed_in(tx).await
}

/// Returns the keys of all records in an object store.
pub async fn record_keys(blobs: &Blobs) -> Result<Vec<String>, BlobError> {
    let listed: Vec<crate::blobs::Listed> = blobs.list(FOLDER).try_collect().await?;
    let mut keys: Vec<String> = listed.into_iter().map(|listed| listed.key).collect();
    keys.sort();
    Ok(keys)
}

fn key(username: &str) -> String {
    format!("{FOLDER}{username}.json")
}

fn name_of(key: &str) -> Option<&str> {
    key.strip_prefix(FOLDER)?.strip_suffix(".json")
}
