//! All entries at one moment.

use crate::kinds::{KINDS, Kind};
use crate::search::{Lexicon, Question, Terms};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::sync::{Arc, PoisonError, RwLock};

pub const TEAM: &str = "team";
/// In no id, and plain in an address.
const CURSOR_JOINT: char = '~';

#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub id: String,
    pub value: Map<String, Value>,
    /// Changes with every write.
    pub version: i64,
    /// What it measures as JSON.
    pub bytes: usize,
    made: i64,
    terms: Terms,
}

impl Item {
    /// Pages have one.
    pub fn slug(&self) -> Option<&str> {
        self.value.get("slug")?.as_str()
    }

    /// Its place in the order of its kind.
    pub fn cursor(&self) -> String {
        format!("{}{CURSOR_JOINT}{}", self.made, self.id)
    }
}

/// As it is shown.
impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// All entries at one moment.
#[derive(Default)]
pub struct Snapshot {
    pub revision: i64,
    /// For each kind, the newest first.
    pub(super) shelves: [Vec<Arc<Item>>; KINDS.len()],
    pub teams: Vec<Arc<Item>>,
    /// Of this one and of all that come after it.
    pub(super) lexicon: Arc<RwLock<Lexicon>>,
}

impl Snapshot {
    pub fn of(&self, kind: &Kind) -> &[Arc<Item>] {
        &self.shelves[place(kind)]
    }

    /// By its id; a page also by its slug.
    pub fn find(&self, kind: &Kind, id: &str) -> Option<&Arc<Item>> {
        let by_id = self.of(kind).iter().find(|item| item.id == id);
        by_id.or_else(|| self.of(kind).iter().find(|item| item.slug() == Some(id)))
    }

    /// How many there are up to the entry that a cursor tells of, also where that is gone; none where it tells of none.
    /// An id alone will do for an entry that is there.
    pub fn after(&self, kind: &Kind, cursor: &str) -> Option<usize> {
        let all = self.of(kind);
        let Some((made, id)) = cursor.split_once(CURSOR_JOINT) else {
            return all.iter().position(|item| item.id == cursor).map(|place| place + 1);
        };
        let made: i64 = made.parse().ok()?;
        Some(all.partition_point(|item| (item.made, item.id.as_str()) >= (made, id)))
    }

    /// The best of those that match, with their kinds and scores; of one kind only where `kind` says so.
    pub fn search(
        &self,
        question: &Question,
        kind: Option<&str>,
        limit: usize,
    ) -> Vec<(&'static str, &Item, f32)> {
        let shelves = KINDS
            .iter()
            .zip(&self.shelves)
            .flat_map(|(kind, shelf)| shelf.iter().map(|item| (kind.singular, item)));
        let all = shelves.chain(self.teams.iter().map(|team| (TEAM, team)));
        let all: Vec<(&'static str, &Item)> = all
            .map(|(name, item)| (name, &**item))
            .filter(|(name, _)| kind.is_none_or(|kind| kind == *name))
            .collect();
        let lexicon = self.lexicon.read().unwrap_or_else(PoisonError::into_inner);
        let ranked = question.rank(&lexicon, all.iter().map(|(_, item)| &item.terms));
        ranked.into_iter().take(limit).map(|(place, score)| (all[place].0, all[place].1, score)).collect()
    }

    /// As it is after these changes.
    pub(super) fn with(
        &self,
        revision: i64,
        put: &[(&Kind, Arc<Item>)],
        removed: &[(&Kind, String)],
    ) -> Self {
        let mut shelves = self.shelves.clone();
        for (kind, item) in put {
            let shelf = &mut shelves[place(kind)];
            shelf.retain(|other| other.id != item.id);
            shelf.push(item.clone());
            sort(shelf);
        }
        for (kind, id) in removed {
            shelves[place(kind)].retain(|other| other.id != *id);
        }
        Self { revision, shelves, teams: self.teams.clone(), lexicon: self.lexicon.clone() }
    }

    /// An entry as it stands on the shelf.
    pub(super) fn item(&self, id: String, value: Map<String, Value>, version: i64) -> Item {
        let made = value.get("createdAt").and_then(Value::as_i64).unwrap_or(0);
        let terms = self.lexicon.write().unwrap_or_else(PoisonError::into_inner).read(&value);
        let bytes = serde_json::to_string(&value).map_or(0, |text| text.len());
        Item { id, value, version, bytes, made, terms }
    }
}

fn place(kind: &Kind) -> usize {
    KINDS.iter().position(|other| other.plural == kind.plural).unwrap_or(0)
}

/// The newest first.
pub(super) fn sort(shelf: &mut [Arc<Item>]) {
    shelf.sort_by(|one, other| (other.made, &other.id).cmp(&(one.made, &one.id)));
}
