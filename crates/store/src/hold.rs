//! Holds: while one is kept, no object is deleted. A backup keeps one, because it copies objects after the rows that name
//! them, and a row may be deleted in between.
//!
//! A hold is an entry of the key-value table with an end. A process that dies leaves one that ends by itself.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

use crate::kv::{Expect, Namespace};
use crate::{Db, StoreError};

const NAMESPACE: &str = "HOLDS";
/// A hold that is not extended for this long has ended.
const LENGTH: Duration = Duration::from_secs(180);
const EXTEND_EVERY: Duration = Duration::from_secs(20);
/// More holds than there ever are at the same time.
const MOST: i64 = 1_000;

/// The value of the entry.
#[derive(Serialize, Deserialize)]
struct Until {
    until: i64,
}

/// A hold that is extended until it is released or dropped.
pub struct Hold {
    db: Db,
    key: String,
    _extending: AbortOnDropHandle<()>,
}

impl Hold {
    /// Takes a hold. Objects of rows that are deleted after this stay until it is released.
    pub async fn take(db: &Db) -> Result<Self, StoreError> {
        let (holds, now) = (holds(db), db.now_ms());
        for entry in holds.list("", None, MOST).await? {
            if until(&entry.value) <= now {
                holds.delete(&entry.key, Expect::Any).await?;
            }
        }
        let key = db.random().hex::<16>();
        holds.put(&key, &value(db), Expect::Absent).await?;
        let extending = tokio::spawn(extend_always(db.clone(), key.clone()));
        Ok(Self { db: db.clone(), key, _extending: AbortOnDropHandle::new(extending) })
    }

    /// Ends the hold. Fails if it had ended before, so that objects may have been deleted.
    pub async fn release(self) -> Result<(), StoreError> {
        extend(&self.db, &self.key).await?;
        holds(&self.db).delete(&self.key, Expect::Any).await?;
        Ok(())
    }
}

/// Returns whether objects must not be deleted now.
pub async fn is_held(db: &Db) -> Result<bool, StoreError> {
    let now = db.now_ms();
    let entries = holds(db).list("", None, MOST).await?;
    for entry in &entries {
        if until(&entry.value) > now + 2 * LENGTH.as_millis() as i64 {
            // The clock was set back: it ends as long after now as holds do, unless its process goes on extending it.
            extend(db, &entry.key).await?;
        }
    }
    Ok(entries.iter().any(|entry| until(&entry.value) > now))
}

async fn extend_always(db: Db, key: String) {
    loop {
        tokio::time::sleep(EXTEND_EVERY).await;
        if let Err(error) = extend(&db, &key).await {
            tracing::warn!(%error, "a hold on objects cannot be extended");
        }
    }
}

async fn extend(db: &Db, key: &str) -> Result<(), StoreError> {
    let holds = holds(db);
    let lost = || StoreError::Conflict { key: format!("{NAMESPACE}/{key}") };
    let entry = holds.get(key).await?.filter(|entry| until(&entry.value) > db.now_ms()).ok_or_else(lost)?;
    holds.put(key, &value(db), Expect::Version(entry.version)).await?;
    Ok(())
}

fn holds(db: &Db) -> Namespace {
    db.namespace(NAMESPACE)
}

fn value(db: &Db) -> serde_json::Value {
    let until = db.now_ms().saturating_add(LENGTH.as_millis() as i64);
    serde_json::to_value(Until { until }).unwrap_or_default()
}

fn until(value: &serde_json::Value) -> i64 {
    Until::deserialize(value).map_or(0, |value| value.until)
}
