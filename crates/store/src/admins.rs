//! Administrators: their records in the object store, which are the truth for the gateway, and what every service
//! checks their tokens against.
//!
//! An account is in two places: its record here, and its row with the knowledge service. A change is written to the
//! database first, in the transaction that changes the row ([`put`], [`remove`]), and to the object store then
//! ([`Admins::finish`]). Every reader of a record first finishes what is pending. So a change holds in both places from
//! its commit on, also if the process is killed between the two writes.

mod changes;
mod record;
mod standing;

pub use record::{AdminRecord, is_username};
pub use standing::Standing;

use crate::{BlobError, Blobs, Db, Outage, StoreError, Tx};
use bytes::Bytes;
use changes::Change;
use futures_util::TryStreamExt;
use standing::Known;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

const FOLDER: &str = "auth/admins/";
const MAX_RECORD_BYTES: u64 = 16 * 1024;
/// How long the object store may take. Changes to administrators wait for each other.
const PATIENCE: Duration = Duration::from_secs(4);

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
    /// By the name as it is written in tokens.
    known: Mutex<HashMap<String, Arc<Known>>>,
}

impl Admins {
    pub fn new(db: Db, blobs: Blobs) -> Self {
        Self(Arc::new(Inner { db, blobs, known: Mutex::default() }))
    }

    /// None for a name that no administrator has, and for a record that cannot be read as one.
    pub async fn find(&self, username: &str) -> Result<Option<AdminRecord>, AdminsError> {
        Ok(self.look_up(username).await?.0)
    }

    /// The names of all records.
    pub async fn names(&self) -> Result<Vec<String>, AdminsError> {
        self.finish_all().await?;
        let listed: Vec<_> = timeout(PATIENCE, self.0.blobs.list(FOLDER).try_collect())
            .await
            .map_err(|_| AdminsError::TooSlow)??;
        let names = listed.iter().filter_map(|listed: &crate::blobs::Listed| name_of(&listed.key));
        Ok(names.filter(|name| is_username(name)).map(str::to_owned).collect())
    }

    /// Brings a committed change to the object store, if that is still to be done.
    pub async fn finish(&self, name: &str) -> Result<(), AdminsError> {
        self.settled(&name.to_lowercase()).await?;
        self.forget(name);
        Ok(())
    }

    /// The same for all names: for the changes of a process that was killed.
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

    /// The last change to a name, in the object store by now.
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
            timeout(PATIENCE, writing).await.map_err(|_| AdminsError::TooSlow)??;
            changes::done(&mut tx, name).await?;
        }
        tx.commit().await?;
        Ok(change)
    }

    /// One record for an account: those whose names differ in case only are deleted.
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
        let reading = timeout(PATIENCE, self.0.blobs.get(&key(username), MAX_RECORD_BYTES)).await;
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

/// Serializes changes to administrators to the end of `tx`. Take it before any other row.
pub async fn lock(tx: &mut Tx) -> Result<(), StoreError> {
    changes::lock(tx).await
}

/// Creates or replaces a record: [`Admins::finish`] after the commit. Tokens that were issued before are refused, if
/// there was a record before.
pub async fn put(tx: &mut Tx, record: &AdminRecord, is_new: bool) -> Result<(), StoreError> {
    let not_before = if is_new { 0 } else { tx.now_ms() };
    let text = serde_json::to_string_pretty(record).unwrap_or_default();
    changes::plan(tx, &record.username.to_lowercase(), Some(&text), not_before).await
}

/// Removes a record, whatever the case of its name: [`Admins::finish`] after the commit.
pub async fn remove(tx: &mut Tx, name: &str) -> Result<(), StoreError> {
    let now = tx.now_ms();
    changes::plan(tx, &name.to_lowercase(), None, now).await
}

/// The names of removed administrators, in lower case.
pub async fn removed(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    changes::removed_in(tx).await
}

fn key(username: &str) -> String {
    format!("{FOLDER}{username}.json")
}

fn name_of(key: &str) -> Option<&str> {
    key.strip_prefix(FOLDER)?.strip_suffix(".json")
}
