//! A cache of all entries in memory, which is never older than the database.
//!
//! Each change raises a revision in its transaction. A reader compares it with the cached one, which is one small query,
//! and reads the entries again if another process has changed them. A process applies its own changes to its cache.

mod snapshot;

pub use snapshot::{CachedEntry, Snapshot};

use crate::entry::Entry;
use crate::merge::{self, FieldError};
use crate::records::Kind;
use crate::values::is_slug;
use kit::etag::{ETag, IfMatch};
use serde_json::{Map, Value};
use snapshot::sort;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use store::kv::{Expect, Namespace};
use store::{Db, StoreError, Tx};

const NAMESPACE: &str = "PORTAL_UPDATES";
/// What is about that namespace, and not in it.
const ABOUT: &str = "PORTAL";
const REVISION: &str = "revision";
/// Every change writes this key first, so that changes come one after the other.
const LOCK: &str = "turn";
const SEEDED: &str = "seeded";
const PAGE: i64 = 5_000;

#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error("no {0} `{1}`")]
    NotFound(&'static str, String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Conflict(String),
    #[error("the {0} `{1}` has been changed meanwhile")]
    Stale(&'static str, String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FieldError> for EntryError {
    fn from(error: FieldError) -> Self {
        Self::Invalid(error.message)
    }
}

/// An entry that a file brings, with what the file says of it besides.
#[derive(Debug)]
pub struct Import {
    pub entry: Entry,
    pub id: Option<String>,
    pub created_at: Option<i64>,
    pub updated_at: Option<i64>,
}

pub struct EntryCache {
    db: Db,
    entries: Namespace,
    about: Namespace,
    held: RwLock<Arc<Snapshot>>,
    /// Held by the one request that reads the entries; the others wait for it.
    reading: tokio::sync::Mutex<()>,
}

impl EntryCache {
    pub fn new(db: Db) -> Self {
        let (entries, about) = (db.namespace(NAMESPACE), db.namespace(ABOUT));
        Self { db, entries, about, held: RwLock::default(), reading: tokio::sync::Mutex::default() }
    }

    /// Returns the entries as they are in the database now.
    pub async fn current(&self) -> Result<Arc<Snapshot>, StoreError> {
        let revision = self.revision().await?;
        let held = self.held();
        if held.revision == revision {
            return Ok(held);
        }
        let _reading = self.reading.lock().await;
        // What is read is at least as new as the revision that was read before it.
        let revision = self.revision().await?;
        let held = self.held();
        if held.revision == revision {
            return Ok(held);
        }
        let read = Arc::new(self.read(revision).await?);
        self.hold(read.clone());
        Ok(read)
    }

    /// Stores a new entry under a new id.
    pub async fn create(&self, entry: Entry) -> Result<CachedEntry, EntryError> {
        let now = self.db.clock().now_ms();
        let mut change = self.begin().await?;
        let created = change.put(self.made(entry, now), Expect::Absent).await?;
        change.commit().await?;
        Ok(created)
    }

    /// Applies a merge patch to an entry, if its version is one that the caller means.
    pub async fn patch(
        &self,
        kind: Kind,
        id: &str,
        patch: &Map<String, Value>,
        if_match: &IfMatch,
    ) -> Result<CachedEntry, EntryError> {
        let mut change = self.begin().await?;
        let (stored, version) = change.find(kind, id, if_match).await?;
        let corrupt =
            |error: FieldError| StoreError::Corrupt { what: kind.key(id), reason: error.to_string() };
        let old = merge::read_stored(kind, stored).map_err(corrupt)?;
        let mut entry = merge::patch(&old, patch)?;
        if entry == old {
            return Ok(self.held().cached(entry, version));
        }
        entry.set_updated_at(self.db.clock().now_ms());
        let patched = change.put(entry, Expect::Version(version)).await?;
        change.commit().await?;
        Ok(patched)
    }

    /// Deletes an entry, if its version is one that the caller means.
    pub async fn delete(&self, kind: Kind, id: &str, if_match: &IfMatch) -> Result<(), EntryError> {
        let mut change = self.begin().await?;
        change.find(kind, id, if_match).await?;
        self.entries.delete_in(&mut change.tx, &kind.key(id), Expect::Any).await?;
        change.removed.push((kind, id.to_owned()));
        change.commit().await
    }

    /// Stores the first entries, once in the life of the data: those that are deleted do not come back.
    pub async fn seed(&self, entries: Vec<Entry>) -> Result<(), EntryError> {
        if self.about.get(SEEDED).await?.is_some() {
            return Ok(());
        }
        let mut change = self.begin().await?;
        match self.about.put_in(&mut change.tx, SEEDED, &Value::Bool(true), Expect::Absent).await {
            Ok(_) => {}
            // Another process was faster.
            Err(StoreError::Conflict { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let now = self.db.clock().now_ms();
        for entry in entries {
            change.put(self.made(entry, now), Expect::Absent).await?;
        }
        change.commit().await
    }

    /// Stores all entries of a file, or none. An entry with an id replaces the one that has it.
    pub async fn import(&self, imports: Vec<Import>) -> Result<(), EntryError> {
        let mut change = self.begin().await?;
        change.is_wide = true;
        let now = self.db.clock().now_ms();
        for Import { entry, id, created_at, updated_at } in imports {
            let mut entry = self.made(entry, now);
            id.into_iter().for_each(|id| entry.set_id(id));
            created_at.into_iter().for_each(|time| entry.set_created_at(time));
            updated_at.into_iter().for_each(|time| entry.set_updated_at(time));
            change.put(entry, Expect::Any).await?;
        }
        change.commit().await
    }

    /// Gives an entry what the server sets: an id and times.
    fn made(&self, mut entry: Entry, now: i64) -> Entry {
        entry.set_id(self.db.random().uuid_v7(self.db.clock()).to_string());
        entry.set_created_at(now);
        entry.set_updated_at(now);
        entry.fill_slug();
        entry
    }

    async fn begin(&self) -> Result<Change<'_>, StoreError> {
        let mut tx = self.db.begin().await?;
        self.about.put_in(&mut tx, LOCK, &Value::Bool(true), Expect::Any).await?;
        let before = self.about.get_in(&mut tx, REVISION).await?;
        let before = before.and_then(|entry| entry.value.as_i64()).unwrap_or(0);
        Ok(Change { cache: self, tx, before, put: Vec::new(), removed: Vec::new(), is_wide: false })
    }

    /// Fails if two pages would have the same slug: pages are found by their slugs.
    async fn check_slugs(&self, put: &[Arc<CachedEntry>]) -> Result<(), EntryError> {
        let pages = || put.iter().filter_map(|cached| Some((cached.entry.slug()?, cached.id())));
        if pages().next().is_none() {
            return Ok(());
        }
        let snapshot = self.current().await?;
        let replaced: HashSet<&str> = pages().map(|(_, id)| id).collect();
        let others = snapshot.of(Kind::Page).iter().filter(|cached| !replaced.contains(cached.id()));
        let mut taken: HashSet<&str> = others.filter_map(|cached| cached.entry.slug()).collect();
        for (slug, _) in pages() {
            if !is_slug(slug) {
                let missing = "`slug` is missing: the title has no letters to make it from";
                return Err(EntryError::Invalid(missing.to_owned()));
            }
            if !taken.insert(slug) {
                return Err(EntryError::Conflict(format!("another page has the slug `{slug}`")));
            }
        }
        Ok(())
    }

    async fn revision(&self) -> Result<i64, StoreError> {
        let entry = self.about.get(REVISION).await?;
        Ok(entry.and_then(|entry| entry.value.as_i64()).unwrap_or(0))
    }

    async fn read(&self, revision: i64) -> Result<Snapshot, StoreError> {
        let held = self.held();
        let mut snapshot = Snapshot { revision, lexicon: held.lexicon.clone(), ..Snapshot::default() };
        for (list, kind) in snapshot.lists.iter_mut().zip(Kind::ALL) {
            let known: HashMap<&str, &Arc<CachedEntry>> =
                held.of(kind).iter().map(|cached| (cached.id(), cached)).collect();
            for (id, stored, version) in self.read_all(kind).await? {
                match known.get(id.as_str()).filter(|cached| cached.version == version) {
                    Some(unchanged) => list.push(Arc::clone(unchanged)),
                    None => match merge::read_stored(kind, stored) {
                        Ok(entry) => list.push(Arc::new(held.cached(entry, version))),
                        // One entry that cannot be read keeps none of the others away.
                        Err(error) => {
                            tracing::error!(key = kind.key(&id), %error, "a stored entry is left out")
                        }
                    },
                }
            }
            sort(kind, list);
        }
        Ok(snapshot)
    }

    async fn read_all(&self, kind: Kind) -> Result<Vec<(String, Value, i64)>, StoreError> {
        let prefix = kind.key_prefix();
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.entries.list(prefix, after.as_deref(), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            after = page.last().map(|entry| entry.key.clone());
            let rest = page
                .into_iter()
                .map(|entry| (entry.key[prefix.len()..].to_owned(), entry.value, entry.version));
            all.extend(rest);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Returns the entries as they were when they were last read.
    pub fn held(&self) -> Arc<Snapshot> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces what is held, unless that is newer.
    fn hold(&self, snapshot: Arc<Snapshot>) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if snapshot.revision > held.revision {
            *held = snapshot;
        }
    }
}

/// A transaction that changes entries.
struct Change<'a> {
    cache: &'a EntryCache,
    tx: Tx,
    /// The revision that it changes.
    before: i64,
    put: Vec<Arc<CachedEntry>>,
    removed: Vec<(Kind, String)>,
    /// Whether it changes too much to be applied to the cache entry by entry.
    is_wide: bool,
}

impl Change<'_> {
    /// Finds an entry by its id, as it is stored, with its version. Fails if the caller means another version.
    async fn find(&mut self, kind: Kind, id: &str, if_match: &IfMatch) -> Result<(Value, i64), EntryError> {
        let found = match self.cache.entries.get_in(&mut self.tx, &kind.key(id)).await {
            Err(StoreError::InvalidKey(_)) => None,
            found => found?,
        };
        let entry = found.ok_or_else(|| EntryError::NotFound(kind.name(), id.to_owned()))?;
        match if_match.allows(&ETag::new(entry.version)) {
            true => Ok((entry.value, entry.version)),
            false => Err(EntryError::Stale(kind.name(), id.to_owned())),
        }
    }

    async fn put(&mut self, entry: Entry, expect: Expect) -> Result<CachedEntry, EntryError> {
        let key = entry.kind().key(entry.id());
        let stored = serde_json::to_value(&entry);
        let stored = stored.map_err(|error| EntryError::Invalid(error.to_string()))?;
        let version = self.cache.entries.put_in(&mut self.tx, &key, &stored, expect).await?;
        let cached = self.cache.held().cached(entry, version);
        self.put.push(Arc::new(cached.clone()));
        Ok(cached)
    }

    async fn commit(mut self) -> Result<(), EntryError> {
        self.cache.check_slugs(&self.put).await?;
        let after = self.before + 1;
        self.cache.about.put_in(&mut self.tx, REVISION, &after.into(), Expect::Any).await?;
        let Change { cache, tx, before, put, removed, is_wide } = self;
        tx.commit().await?;
        let held = cache.held();
        if held.revision == before && !is_wide {
            cache.hold(Arc::new(held.with(after, &put, &removed)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Update;
    use base::{Clock, Random};

    #[tokio::test]
    async fn an_entry_that_cannot_be_read_is_left_out_and_can_be_deleted() {
        let folder = tempfile::TempDir::new().unwrap();
        let url = format!("sqlite://{}", folder.path().join("stoa.db").display());
        let db = Db::open(&url, Clock::fixed(1_794_709_061_250), Random::seeded(1)).await.unwrap();
        let writer = EntryCache::new(db.clone());
        let good = writer.create(Update { title: "a".to_owned(), ..Update::default() }.into()).await.unwrap();
        writer.entries.put("update:bad", &Value::Bool(true), Expect::Any).await.unwrap();

        let reader = EntryCache::new(db);
        let snapshot = reader.current().await.unwrap();
        let ids: Vec<&str> = snapshot.of(Kind::Update).iter().map(|cached| cached.id()).collect();
        assert_eq!(ids, [good.id()]);
        let patched = reader.patch(Kind::Update, "bad", &Map::new(), &IfMatch::default()).await;
        assert!(matches!(patched, Err(EntryError::Store(StoreError::Corrupt { .. }))), "{patched:?}");
        reader.delete(Kind::Update, "bad", &IfMatch::default()).await.unwrap();
        assert!(reader.entries.get("update:bad").await.unwrap().is_none());
    }
}
