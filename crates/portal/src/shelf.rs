//! Everything the portal holds, in memory: a cache of its namespace, which is never older than the database.
//!
//! Each change bumps a revision in its transaction. A reader compares it with the one that it holds, which is one small
//! query, and reads the namespace again where somebody else has changed it; its own changes it applies itself.

mod snapshot;

pub use snapshot::{Item, Snapshot, TEAM};

use crate::kinds::{KINDS, Kind, PAGES, is_slug};
use crate::transfer::Cargo;
use serde_json::{Map, Value};
use snapshot::sort;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use store::kv::{Expect, Namespace};
use store::{Db, StoreError, Tx};

const NAMESPACE: &str = "PORTAL_UPDATES";
/// What is about the namespace, and not in it.
const ABOUT: &str = "PORTAL";
const REVISION: &str = "revision";
/// Written first by every change, so that they come one after the other.
const TURN: &str = "turn";
const SEEDED: &str = "seeded";
const ORG: &str = "org:";
const PAGE: i64 = 5_000;

#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
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

pub struct Shelf {
    db: Db,
    entries: Namespace,
    about: Namespace,
    held: RwLock<Arc<Snapshot>>,
    /// One reads at a time, the others wait for it.
    reading: tokio::sync::Mutex<()>,
}

impl Shelf {
    pub fn new(db: Db) -> Self {
        let (entries, about) = (db.namespace(NAMESPACE), db.namespace(ABOUT));
        Self { db, entries, about, held: RwLock::default(), reading: tokio::sync::Mutex::default() }
    }

    /// As it is in the database now.
    pub async fn now(&self) -> Result<Arc<Snapshot>, StoreError> {
        let revision = self.revision().await?;
        let held = self.held();
        if held.revision == revision {
            return Ok(held);
        }
        let _turn = self.reading.lock().await;
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

    pub async fn create(&self, kind: &'static Kind, given: &Map<String, Value>) -> Result<Item, ShelfError> {
        let mut value = kind.create(given).map_err(ShelfError::Invalid)?;
        let id = self.db.random().uuid_v7(self.db.clock()).to_string();
        let now = self.db.clock().now_ms();
        value.insert("id".to_owned(), id.clone().into());
        stamp(kind, &mut value, now);
        let mut change = self.begin().await?;
        let item = change.put(kind, id, value, Expect::Absent).await?;
        change.commit().await?;
        Ok(item)
    }

    /// With a merge patch; `expected` is the version that it is for, where the caller knows one.
    pub async fn patch(
        &self,
        kind: &'static Kind,
        id: &str,
        patch: &Map<String, Value>,
        expected: Option<&str>,
    ) -> Result<Item, ShelfError> {
        let mut change = self.begin().await?;
        let (id, old, version) = change.find(kind, id).await?;
        check_expected(kind, &id, version, expected)?;
        let mut value = kind.patch(&old, patch).map_err(ShelfError::Invalid)?;
        if value == old {
            return Ok(self.held().item(id, value, version));
        }
        stamp(kind, &mut value, self.db.clock().now_ms());
        let item = change.put(kind, id, value, Expect::Version(version)).await?;
        change.commit().await?;
        Ok(item)
    }

    pub async fn delete(
        &self,
        kind: &'static Kind,
        id: &str,
        expected: Option<&str>,
    ) -> Result<(), ShelfError> {
        let mut change = self.begin().await?;
        let (id, _, version) = change.find(kind, id).await?;
        check_expected(kind, &id, version, expected)?;
        self.entries.delete_in(&mut change.tx, &kind.key(&id), Expect::Any).await?;
        change.removed.push((kind, id));
        change.commit().await?;
        Ok(())
    }

    /// The first entries, once in the life of the data. Whoever deletes them has deleted them for good.
    pub async fn seed(&self, entries: &[(&'static Kind, Value)]) -> Result<(), ShelfError> {
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
        for (kind, given) in entries {
            let mut value = kind.create(&object(given.clone())).map_err(ShelfError::Invalid)?;
            let id = self.db.random().uuid_v7(self.db.clock()).to_string();
            value.insert("id".to_owned(), id.clone().into());
            stamp(kind, &mut value, now);
            change.put(kind, id, value, Expect::Absent).await?;
        }
        change.commit().await
    }

    /// All of it, or nothing. What has an id replaces the entry that has it.
    pub async fn import(&self, cargo: Cargo) -> Result<(), ShelfError> {
        let mut change = self.begin().await?;
        change.is_wide = true;
        let now = self.db.clock().now_ms();
        for (kind, mut value) in cargo.entries {
            let given = value.get("id").and_then(Value::as_str).map(str::to_owned);
            let id = given.unwrap_or_else(|| self.db.random().uuid_v7(self.db.clock()).to_string());
            value.insert("id".to_owned(), id.clone().into());
            let changed = value.get("updatedAt").cloned();
            stamp(kind, &mut value, now);
            value.extend(changed.map(|changed| ("updatedAt".to_owned(), changed)));
            change.put(kind, id, value, Expect::Any).await?;
        }
        for team in cargo.teams {
            let name = team.get("name").and_then(Value::as_str).unwrap_or_default();
            let key = format!("{ORG}{name}");
            self.entries.put_in(&mut change.tx, &key, &Value::Object(team.clone()), Expect::Any).await?;
        }
        change.commit().await
    }

    async fn begin(&self) -> Result<Change<'_>, StoreError> {
        let mut tx = self.db.begin().await?;
        self.about.put_in(&mut tx, TURN, &Value::Bool(true), Expect::Any).await?;
        let before = self.about.get_in(&mut tx, REVISION).await?;
        let before = before.and_then(|entry| entry.value.as_i64()).unwrap_or(0);
        Ok(Change { shelf: self, tx, before, put: Vec::new(), removed: Vec::new(), is_wide: false })
    }

    /// Pages are found by their slugs, so no two may have the same.
    async fn check_slugs(&self, put: &[(&Kind, Arc<Item>)]) -> Result<(), ShelfError> {
        let pages = || put.iter().filter_map(|(_, item)| Some((item.slug()?, item.id.as_str())));
        if pages().next().is_none() {
            return Ok(());
        }
        let snapshot = self.now().await?;
        let replaced: HashSet<&str> = pages().map(|(_, id)| id).collect();
        let others = snapshot.of(&PAGES).iter().filter(|item| !replaced.contains(item.id.as_str()));
        let mut taken: HashSet<&str> = others.filter_map(|item| item.slug()).collect();
        for (slug, _) in pages() {
            if !is_slug(slug) {
                let missing = "`slug` is missing: the title has no letters to make it from";
                return Err(ShelfError::Invalid(missing.to_owned()));
            }
            if !taken.insert(slug) {
                return Err(ShelfError::Conflict(format!("another page has the slug `{slug}`")));
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
        let lexicon = held.lexicon.clone();
        let mut snapshot = Snapshot { revision, lexicon, ..Snapshot::default() };
        for (place, kind) in KINDS.iter().enumerate() {
            let prefix = format!("{}:", kind.singular);
            let known: HashMap<&str, &Arc<Item>> =
                held.of(kind).iter().map(|item| (item.id.as_str(), item)).collect();
            for (id, value, version) in self.all(&prefix).await? {
                let unchanged = known.get(id.as_str()).filter(|item| item.version == version);
                let item = unchanged.map(|item| Arc::clone(item));
                snapshot.shelves[place]
                    .push(item.unwrap_or_else(|| Arc::new(held.item(id, object(value), version))));
            }
            sort(&mut snapshot.shelves[place]);
        }
        let teams = self.all(ORG).await?.into_iter();
        snapshot.teams =
            teams.map(|(id, team, version)| Arc::new(held.item(id, object(team), version))).collect();
        Ok(snapshot)
    }

    async fn all(&self, prefix: &str) -> Result<Vec<(String, Value, i64)>, StoreError> {
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

    /// As it was when it was last read.
    pub fn held(&self) -> Arc<Snapshot> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Unless what is held is newer.
    fn hold(&self, snapshot: Arc<Snapshot>) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if snapshot.revision > held.revision {
            *held = snapshot;
        }
    }
}

/// A transaction on the shelf.
struct Change<'a> {
    shelf: &'a Shelf,
    tx: Tx,
    /// The revision that it changes.
    before: i64,
    put: Vec<(&'static Kind, Arc<Item>)>,
    removed: Vec<(&'static Kind, String)>,
    /// Whether it changes more than is worth applying one by one.
    is_wide: bool,
}

impl Change<'_> {
    /// An entry by its id; a page also by its slug.
    async fn find(
        &mut self,
        kind: &'static Kind,
        id: &str,
    ) -> Result<(String, Map<String, Value>, i64), ShelfError> {
        let missing = || ShelfError::NotFound(kind.singular, id.to_owned());
        let found = self.shelf.entries.get_in(&mut self.tx, &kind.key(id)).await;
        let found = match found {
            Err(StoreError::InvalidKey(_)) => return Err(missing()),
            found => found?,
        };
        let entry = found.ok_or_else(missing)?;
        Ok((id.to_owned(), object(entry.value), entry.version))
    }

    async fn put(
        &mut self,
        kind: &'static Kind,
        id: String,
        value: Map<String, Value>,
        expect: Expect,
    ) -> Result<Item, ShelfError> {
        let stored = Value::Object(value.clone());
        let version = self.shelf.entries.put_in(&mut self.tx, &kind.key(&id), &stored, expect).await?;
        let made = self.shelf.held().item(id, value, version);
        self.put.push((kind, Arc::new(made.clone())));
        Ok(made)
    }

    async fn commit(mut self) -> Result<(), ShelfError> {
        self.shelf.check_slugs(&self.put).await?;
        let after = self.before + 1;
        self.shelf.about.put_in(&mut self.tx, REVISION, &after.into(), Expect::Any).await?;
        let Change { shelf, tx, before, put, removed, is_wide } = self;
        tx.commit().await?;
        let held = shelf.held();
        if held.revision == before && !is_wide {
            shelf.hold(Arc::new(held.with(after, &put, &removed)));
        }
        Ok(())
    }
}

/// Made now, where it does not say when; changed now.
fn stamp(kind: &Kind, value: &mut Map<String, Value>, now: i64) {
    if kind.has_created_at {
        value.entry("createdAt").or_insert(now.into());
    }
    if kind.has_updated_at {
        value.insert("updatedAt".to_owned(), now.into());
    }
}

fn check_expected(kind: &Kind, id: &str, version: i64, expected: Option<&str>) -> Result<(), ShelfError> {
    let fits = |tags: &str| {
        tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag(version))
    };
    match expected.is_none_or(fits) {
        true => Ok(()),
        false => Err(ShelfError::Stale(kind.singular, id.to_owned())),
    }
}

/// The version as HTTP has it.
pub fn etag(version: i64) -> String {
    format!("\"{version}\"")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
