//! The words of the passages, and their BM25 scores for a query.

use crate::keys::Keys;
use crate::numbering::Numbering;
use crate::passage::Passage;
use std::collections::HashMap;
use std::ops::Range;
use words::for_each_stem;

/// BM25's usual parameters: saturation of repeated words, and the penalty for long passages.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// How often a word of the title or of a heading counts, compared with one in the text.
const TITLE_WEIGHT: u32 = 3;

/// An inverted index. Passages are added in the order of their numbers, so every list is sorted.
#[derive(Default)]
pub struct Lexical {
    terms: Keys,
    lists: Vec<List>,
    /// How many words each passage has; 0 if it was removed.
    lengths: Vec<u32>,
    total_length: u64,
    passages: usize,
}

/// The passages that have a term, and how often each has it.
#[derive(Default)]
struct List {
    passages: Vec<u32>,
    counts: Vec<u8>,
}

impl Lexical {
    /// Adds the passages of a document after all others. Returns the document's terms, which `remove` needs.
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
        let term = self.terms.get_or_insert(stem, self.lists.len());
        if term as usize == self.lists.len() {
            self.lists.push(List::default());
        }
        term
    }

    /// Removes the passages of a document.
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

    /// Applies new numbers to the passages and frees the memory of removed ones. Returns the new numbers of the
    /// terms.
    pub fn renumber(&mut self, passages: &Numbering) -> Numbering {
        let terms = Numbering::of(self.lists.iter().map(|list| !list.passages.is_empty()));
        self.terms.renumber(&terms);
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
        self.lists.iter().map(list).sum::<usize>() + self.terms.bytes() + 4 * self.lengths.capacity()
    }

    /// Returns for every passage the share of the query's words that it has. Rare words weigh more, and a word counts
    /// more the more often a passage repeats it.
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

    /// Returns the lists of the query's terms with their weights, in the order of the query, so that the sums do not
    /// depend on the order in which documents were stored.
    fn query_terms(&self, query: &str) -> Vec<(&List, f32)> {
        let mut terms: Vec<(&List, f32)> = Vec::new();
        let mut positions = HashMap::new();
        for_each_stem(query, |stem| {
            let list = self.terms.get(stem).map_or(&EMPTY, |term| &self.lists[term as usize]);
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
