//! The words of the passages, and how well each passage matches the words of a query: BM25.

use crate::numbering::Numbering;
use crate::passage::Passage;
use std::collections::HashMap;
use std::ops::Range;
use words::for_each_stem;

/// How soon more of the same word adds little, and how far a long passage is held back: the textbook's values.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// A word of the title or of a heading counts as so many in the text.
const TITLE_WEIGHT: u32 = 3;

/// Passages are known by their numbers. Later ones have higher numbers, so every list is in order.
#[derive(Default)]
pub struct Lexical {
    terms: HashMap<Box<str>, u32>,
    lists: Vec<List>,
    /// How many words each passage has; 0 when it was removed.
    lengths: Vec<u32>,
    total_length: u64,
    passages: usize,
}

/// The passages that have a term, and how often.
#[derive(Default)]
struct List {
    passages: Vec<u32>,
    counts: Vec<u8>,
}

impl Lexical {
    /// Adds the passages of a document behind all others; gives its terms, by which it can be removed.
    pub fn push(&mut self, passages: &[Passage<'_>]) -> Box<[u32]> {
        let mut document_terms = Vec::new();
        for passage in passages {
            let counts = self.count_terms(passage);
            let number = self.lengths.len() as u32;
            let length = counts.iter().map(|(_, count)| *count).sum();
            for (term, count) in counts {
                let list = &mut self.lists[term as usize];
                list.passages.push(number);
                list.counts.push(count.min(255) as u8);
                document_terms.push(term);
            }
            self.lengths.push(length);
            self.total_length += u64::from(length);
        }
        self.passages += passages.len();
        document_terms.sort_unstable();
        document_terms.dedup();
        document_terms.into()
    }

    fn count_terms(&mut self, passage: &Passage<'_>) -> Vec<(u32, u32)> {
        let mut terms = Vec::new();
        for heading in passage.headings.iter().map(String::as_str).chain([passage.title]) {
            for_each_stem(heading, |stem| terms.push((self.term(stem), TITLE_WEIGHT)));
        }
        for_each_stem(passage.text, |stem| terms.push((self.term(stem), 1)));
        terms.sort_unstable();
        terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        terms
    }

    fn term(&mut self, stem: &str) -> u32 {
        if let Some(term) = self.terms.get(stem) {
            return *term;
        }
        let term = self.lists.len() as u32;
        self.lists.push(List::default());
        self.terms.insert(stem.into(), term);
        term
    }

    /// Takes a document's passages out of all that is counted.
    pub fn remove(&mut self, passages: Range<u32>, terms: &[u32]) {
        for term in terms {
            let list = &mut self.lists[*term as usize];
            let start = list.passages.partition_point(|passage| *passage < passages.start);
            let end = list.passages.partition_point(|passage| *passage < passages.end);
            list.passages.drain(start..end);
            list.counts.drain(start..end);
        }
        for passage in passages {
            self.total_length -= u64::from(self.lengths[passage as usize]);
            self.lengths[passage as usize] = 0;
            self.passages -= 1;
        }
    }

    /// Gives the passages their new numbers, and back the memory that others had; gives the new numbers of terms.
    pub fn renumber(&mut self, passages: &Numbering) -> Numbering {
        let terms = Numbering::of(self.lists.iter().map(|list| !list.passages.is_empty()));
        self.terms.retain(|_, term| terms.keeps(*term as usize));
        self.terms.values_mut().for_each(|term| terms.renumber(term));
        self.terms.shrink_to_fit();
        terms.retain(&mut self.lists);
        for list in &mut self.lists {
            list.passages.iter_mut().for_each(|passage| passages.renumber(passage));
            list.passages.shrink_to_fit();
            list.counts.shrink_to_fit();
        }
        passages.retain(&mut self.lengths);
        terms
    }

    pub fn bytes(&self) -> usize {
        let list = |list: &List| size_of::<List>() + 4 * list.passages.capacity() + list.counts.capacity();
        let term = |term: &str| size_of::<(Box<str>, u32)>() + 1 + term.len();
        self.lists.iter().map(list).sum::<usize>()
            + self.terms.keys().map(|key| term(key)).sum::<usize>()
            + 4 * self.lengths.capacity()
    }

    /// For every passage the share of the query's words that it has: rare words weigh more, and a word counts in full
    /// where a passage is full of it.
    pub fn scores(&self, query: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.lengths.len()];
        let mean_length = self.total_length as f32 / self.passages.max(1) as f32;
        let (base, slope) = (K1 * (1.0 - B), K1 * B / mean_length.max(1.0));
        let terms = self.query_terms(query);
        let total: f32 = terms.iter().map(|(_, weight)| weight).sum();
        for (list, weight) in terms {
            let weight = weight / total;
            for (passage, count) in list.passages.iter().zip(&list.counts) {
                let passage = *passage as usize;
                let count = f32::from(*count);
                scores[passage] += weight * count / (count + base + slope * self.lengths[passage] as f32);
            }
        }
        scores
    }

    /// The lists of the query's terms and their weights, in the order in which the query has them, so that sums are
    /// the same whatever was stored when.
    fn query_terms(&self, query: &str) -> Vec<(&List, f32)> {
        let mut terms: Vec<(&List, f32)> = Vec::new();
        let mut positions = HashMap::new();
        for_each_stem(query, |stem| {
            let list = self.terms.get(stem).map_or(&EMPTY, |term| &self.lists[*term as usize]);
            let position = *positions.entry(stem.to_owned()).or_insert(terms.len());
            match terms.get_mut(position) {
                Some((_, weight)) => *weight += self.rarity(list),
                None => terms.push((list, self.rarity(list))),
            }
        });
        terms
    }

    fn rarity(&self, list: &List) -> f32 {
        let (all, having) = (self.passages as f32, list.passages.len() as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }
}

static EMPTY: List = List { passages: Vec::new(), counts: Vec::new() };
