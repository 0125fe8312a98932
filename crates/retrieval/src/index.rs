//! The passages of one owner, document by document.
//!
//! A document's passages have consecutive numbers, and later documents have higher ones. Removing a document leaves
//! its numbers unused; once these outnumber half of the others, all are numbered anew, so that memory follows what
//! is held.

use crate::dense::Dense;
use crate::lexical::Lexical;
use crate::links::Links;
use crate::numbering::Numbering;
use std::collections::HashMap;
use std::ops::Range;

/// As much of a document as is found at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage<'a> {
    /// The document's.
    pub title: &'a str,
    /// The path of headings above it.
    pub headings: &'a [String],
    pub text: &'a str,
    /// Of length one, in the index's dimension.
    pub vector: &'a [f32],
    pub mentions: &'a [Mention<'a>],
}

/// Something that a passage names: a person, a place, a thing with a name of its own. Concepts are not given: vectors
/// and words compare them already, and following them as well leads astray.
#[derive(Clone, Copy, Debug)]
pub struct Mention<'a> {
    /// The same wherever the same is meant.
    pub key: &'a str,
    /// Whether the passage is about it.
    pub defines: bool,
}

/// See the crate's comment.
pub struct Index {
    pub(crate) dense: Dense,
    pub(crate) lexical: Lexical,
    pub(crate) links: Links,
    documents: HashMap<String, u32>,
    /// By the number that `owners` gives; none where a document was removed.
    places: Vec<Option<Place>>,
    /// Each passage's document.
    owners: Vec<u32>,
    unused: usize,
}

/// Where a document is.
struct Place {
    document: String,
    passages: Range<u32>,
    terms: Box<[u32]>,
}

impl Index {
    /// For vectors of this dimension.
    pub fn new(dimension: usize) -> Self {
        Self {
            dense: Dense::new(dimension),
            lexical: Lexical::default(),
            links: Links::default(),
            documents: HashMap::new(),
            places: Vec::new(),
            owners: Vec::new(),
            unused: 0,
        }
    }

    /// Stores a document's passages in place of those that it had.
    pub fn put(&mut self, document: &str, passages: &[Passage<'_>]) {
        self.remove(document);
        if passages.is_empty() {
            return;
        }
        let start = self.owners.len() as u32;
        let terms = self.lexical.push(passages);
        self.links.push(passages);
        passages.iter().for_each(|passage| self.dense.push(passage.vector));
        let number = self.places.len() as u32;
        self.owners.resize(self.owners.len() + passages.len(), number);
        let passages = start..self.owners.len() as u32;
        self.places.push(Some(Place { document: document.to_owned(), passages, terms }));
        self.documents.insert(document.to_owned(), number);
    }

    /// Leaves everything as if the document had never been there.
    pub fn remove(&mut self, document: &str) {
        let Some(number) = self.documents.remove(document) else { return };
        let Some(place) = self.places[number as usize].take() else { return };
        self.unused += place.passages.len();
        self.lexical.remove(place.passages.clone(), &place.terms);
        self.links.remove(place.passages);
        if self.unused > self.len() / 2 {
            self.renumber();
        }
    }

    fn renumber(&mut self) {
        let is_held = |owner: &u32| self.places[*owner as usize].is_some();
        let passages = Numbering::of(self.owners.iter().map(is_held));
        self.dense.retain(|passage| passages.keeps(passage));
        let terms = self.lexical.renumber(&passages);
        self.links.renumber(&passages);
        self.places.retain(Option::is_some);
        self.places.shrink_to_fit();
        self.documents.shrink_to_fit();
        self.owners.clear();
        for (number, place) in (0..).zip(self.places.iter_mut().flatten()) {
            let start = self.owners.len();
            self.owners.resize(start + place.passages.len(), number);
            place.passages = start as u32..self.owners.len() as u32;
            place.terms.iter_mut().for_each(|term| terms.renumber(term));
            self.documents.insert(place.document.clone(), number);
        }
        self.owners.shrink_to_fit();
        self.unused = 0;
    }

    /// The number of passages.
    pub fn len(&self) -> usize {
        self.owners.len() - self.unused
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let place = |place: &Place| 2 * place.document.len() + 4 * place.terms.len();
        self.dense.bytes()
            + self.lexical.bytes()
            + self.links.bytes()
            + self.places.iter().flatten().map(place).sum::<usize>()
            + self.places.capacity() * size_of::<Place>()
            + 4 * self.owners.capacity()
    }

    /// Which passages are held, and of documents that are accepted.
    pub(crate) fn accepted(&self, accept: Option<&dyn Fn(&str) -> bool>) -> Vec<bool> {
        let accept = |place: &Place| accept.is_none_or(|accept| accept(&place.document));
        self.places.iter().map(|place| place.as_ref().is_some_and(accept)).collect()
    }

    pub(crate) fn owner(&self, passage: u32) -> u32 {
        self.owners[passage as usize]
    }

    /// A passage's document, and which of its passages it is.
    pub(crate) fn locate(&self, passage: u32) -> Option<(&str, u32)> {
        let place = self.places[self.owner(passage) as usize].as_ref()?;
        Some((&place.document, passage - place.passages.start))
    }
}
