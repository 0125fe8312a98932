//! All entries at one moment.

use crate::entry::Entry;
use crate::records::Kind;
use crate::search::{Lexicon, Question, Terms};
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::sync::{Arc, PoisonError, RwLock};

/// Separates the parts of a cursor. It is in no id, and needs no encoding in an address.
const CURSOR_SEPARATOR: char = '~';

/// An entry with what is needed to list, compare and search it.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedEntry {
    pub entry: Entry,
    /// Changes with every write.
    pub version: i64,
    /// Its length as JSON.
    pub bytes: usize,
    terms: Terms,
}

impl CachedEntry {
    pub fn id(&self) -> &str {
        self.entry.id()
    }

    /// Returns its place in the order of its kind, for the next page to begin after.
    pub fn cursor(&self) -> String {
        format!("{}{CURSOR_SEPARATOR}{}", self.entry.created_at(), self.id())
    }
}

/// As it is shown.
impl Serialize for CachedEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entry.serialize(serializer)
    }
}

/// All entries at one moment.
#[derive(Default)]
pub struct Snapshot {
    pub revision: i64,
    /// Those of each kind, in the order of [`Kind::ALL`]: the newest first, teams by their names.
    pub(super) lists: [Vec<Arc<CachedEntry>>; Kind::ALL.len()],
    /// The words of this snapshot and of all that follow it.
    pub(super) lexicon: Arc<RwLock<Lexicon>>,
}

impl Snapshot {
    pub fn of(&self, kind: Kind) -> &[Arc<CachedEntry>] {
        &self.lists[kind as usize]
    }

    /// Finds an entry by its id, or a page by its slug.
    pub fn find(&self, kind: Kind, id: &str) -> Option<&Arc<CachedEntry>> {
        let by_id = self.of(kind).iter().find(|cached| cached.id() == id);
        by_id.or_else(|| self.of(kind).iter().find(|cached| cached.entry.slug() == Some(id)))
    }

    /// Returns how many entries there are up to the one that a cursor names, also if that was deleted. None if the text is
    /// no cursor. The id of an entry is a cursor as long as the entry is there.
    pub fn position_after(&self, kind: Kind, cursor: &str) -> Option<usize> {
        let all = self.of(kind);
        let Some((created_at, id)) = cursor.split_once(CURSOR_SEPARATOR) else {
            return all.iter().position(|cached| cached.id() == cursor).map(|position| position + 1);
        };
        let created_at: i64 = created_at.parse().ok()?;
        Some(all.partition_point(|cached| (cached.entry.created_at(), cached.id()) >= (created_at, id)))
    }

    /// Returns the best of the entries that match, with their scores; only those of one kind if `kind` is given.
    pub fn search(&self, question: &Question, kind: Option<Kind>, limit: usize) -> Vec<(&Entry, f32)> {
        let kinds = Kind::ALL.into_iter().filter(|own| kind.is_none_or(|kind| kind == *own));
        let all: Vec<&Arc<CachedEntry>> = kinds.flat_map(|kind| self.of(kind)).collect();
        let lexicon = self.lexicon.read().unwrap_or_else(PoisonError::into_inner);
        let ranked = question.rank(&lexicon, all.iter().map(|cached| &cached.terms));
        ranked.into_iter().take(limit).map(|(position, score)| (&all[position].entry, score)).collect()
    }

    /// Returns the snapshot after these changes.
    pub(super) fn with(&self, revision: i64, put: &[Arc<CachedEntry>], removed: &[(Kind, String)]) -> Self {
        let mut lists = self.lists.clone();
        for cached in put {
            let kind = cached.entry.kind();
            let list = &mut lists[kind as usize];
            list.retain(|other| other.id() != cached.id());
            list.push(cached.clone());
            sort(kind, list);
        }
        for (kind, id) in removed {
            lists[*kind as usize].retain(|other| other.id() != *id);
        }
        Self { revision, lists, lexicon: self.lexicon.clone() }
    }

    /// Adds the words of an entry to the lexicon.
    pub(super) fn cached(&self, entry: Entry, version: i64) -> CachedEntry {
        let terms = self.lexicon.write().unwrap_or_else(PoisonError::into_inner).read(&entry.texts());
        let bytes = serde_json::to_string(&entry).map_or(0, |text| text.len());
        CachedEntry { entry, version, bytes, terms }
    }
}

pub(super) fn sort(kind: Kind, list: &mut [Arc<CachedEntry>]) {
    match kind {
        Kind::Team => list.sort_by(|one, other| one.id().cmp(other.id())),
        _ => list.sort_by(|one, other| {
            let order = |cached: &CachedEntry| Reverse(cached.entry.created_at());
            order(one).cmp(&order(other)).then_with(|| other.id().cmp(one.id()))
        }),
    }
}
