//! The passages of one owner, document by document.
//!
//! The passages of a document have consecutive numbers, and those of later documents are higher. Removing a document
//! leaves its numbers unused. When more than half as many numbers are unused as used, all passages are renumbered, so
//! that memory is freed.
//!
//! An index can be written to a file and mapped again (`file`). Then the passages of the file have the first numbers.

mod file;

pub use file::FileError;

use crate::dense::Dense;
use crate::languages::{Languages, language_of};
use crate::lexical::Lexical;
use crate::links::Links;
use crate::numbering::Numbering;
use crate::passage::Passage;
use crate::word_scores::WordScores;
use inference::arrays::Array;
use std::collections::HashMap;
use std::ops::Range;
use words::Language;

/// An owner's passages, ready to be searched.
pub struct Index {
    pub(crate) dense: Dense,
    lexical: Lexical,
    pub(crate) links: Links,
    languages: Languages,
    documents: HashMap<String, u32>,
    /// By the number in `owners`; none if the document was removed.
    entries: Vec<Option<DocumentEntry>>,
    /// The number of each passage's document: of those in a file, then of the others.
    mapped_owners: Array<u32>,
    owners: Vec<u32>,
    unused: usize,
}

/// What is stored of a document.
struct DocumentEntry {
    document: String,
    language: Language,
    passages: Range<u32>,
    /// Empty if the passages are in a file.
    terms: Box<[u32]>,
}

impl Index {
    /// Creates an index for vectors of this dimension.
    pub fn new(dimension: usize) -> Self {
        Self {
            dense: Dense::new(dimension),
            lexical: Lexical::default(),
            links: Links::default(),
            languages: Languages::default(),
            documents: HashMap::new(),
            entries: Vec::new(),
            mapped_owners: Array::default(),
            owners: Vec::new(),
            unused: 0,
        }
    }

    /// Stores the passages of a document, replacing those that it had.
    pub fn put(&mut self, document: &str, passages: &[Passage<'_>]) {
        self.remove(document);
        if passages.is_empty() {
            return;
        }
        let start = self.numbers() as u32;
        let language = language_of(passages);
        let terms = self.lexical.push(passages, language);
        self.links.push(passages);
        passages.iter().for_each(|passage| self.dense.push(passage.vector));
        let number = self.entries.len() as u32;
        self.owners.resize(self.owners.len() + passages.len(), number);
        let passages = start..self.numbers() as u32;
        self.languages.add(language);
        self.entries.push(Some(DocumentEntry { document: document.to_owned(), language, passages, terms }));
        self.documents.insert(document.to_owned(), number);
    }

    /// Removes a document with all its passages.
    pub fn remove(&mut self, document: &str) {
        let Some(number) = self.documents.remove(document) else { return };
        let Some(entry) = self.entries[number as usize].take() else { return };
        self.unused += entry.passages.len();
        self.languages.remove(entry.language);
        self.lexical.remove(entry.passages.clone(), &entry.terms);
        self.links.remove(entry.passages);
        // The numbers of a file cannot be changed; the next file leaves out what is not used.
        if self.unused > self.len() / 2 && self.mapped_owners.is_empty() {
            self.renumber();
        }
    }

    fn renumber(&mut self) {
        let is_held = |owner: &u32| self.entries[*owner as usize].is_some();
        let passages = Numbering::of(self.owners.iter().map(is_held));
        self.dense.retain(|passage| passages.keeps(passage));
        let terms = self.lexical.renumber(&passages);
        self.links.renumber(&passages);
        self.entries.retain(Option::is_some);
        self.entries.shrink_to_fit();
        self.documents.shrink_to_fit();
        self.owners.clear();
        for (number, entry) in (0..).zip(self.entries.iter_mut().flatten()) {
            let start = self.owners.len();
            self.owners.resize(start + entry.passages.len(), number);
            entry.passages = start as u32..self.owners.len() as u32;
            entry.terms.iter_mut().for_each(|term| terms.renumber(term));
            self.documents.insert(entry.document.clone(), number);
        }
        self.owners.shrink_to_fit();
        self.unused = 0;
    }

    /// Returns the number of passages.
    pub fn len(&self) -> usize {
        self.numbers() - self.unused
    }

    /// Returns how many numbers are given to passages, used or not.
    fn numbers(&self) -> usize {
        self.mapped_owners.len() + self.owners.len()
    }

    pub fn dimension(&self) -> usize {
        self.dense.dimension()
    }

    /// Returns how many passages are in memory, used or not, and how many in a file.
    pub fn places(&self) -> (usize, usize) {
        (self.owners.len(), self.mapped_owners.len())
    }

    /// Returns the ids of the stored documents that have passages.
    pub fn documents(&self) -> impl Iterator<Item = &str> {
        self.documents.keys().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an estimate of the memory used, in bytes.
    pub fn bytes(&self) -> usize {
        let entry = |entry: &DocumentEntry| 2 * entry.document.len() + 4 * entry.terms.len();
        self.dense.bytes()
            + self.lexical.bytes()
            + self.links.bytes()
            + self.entries.iter().flatten().map(entry).sum::<usize>()
            + self.entries.capacity() * size_of::<DocumentEntry>()
            + 4 * self.owners.capacity()
    }

    /// Returns for each document number whether the document is still stored and accepted.
    pub(crate) fn accepted(&self, accept: &dyn Fn(&str) -> bool) -> Vec<bool> {
        let accept = |entry: &DocumentEntry| accept(&entry.document);
        self.entries.iter().map(|entry| entry.as_ref().is_some_and(accept)).collect()
    }

    /// Compares the passages with the words of a query.
    pub(crate) fn word_scores(&self, query: &str) -> WordScores<'_> {
        self.lexical.compare(query, &self.languages.present())
    }

    pub(crate) fn owner(&self, passage: u32) -> u32 {
        match (passage as usize).checked_sub(self.mapped_owners.len()) {
            None => self.mapped_owners[passage as usize],
            // A damaged file may name passages that it does not have.
            Some(added) => self.owners.get(added).copied().unwrap_or(u32::MAX),
        }
    }

    /// Returns a passage's document and the passage's number within it.
    pub(crate) fn locate(&self, passage: u32) -> Option<(&str, u32)> {
        let entry = self.entries.get(self.owner(passage) as usize)?.as_ref()?;
        Some((&entry.document, passage.checked_sub(entry.passages.start)?))
    }
}
