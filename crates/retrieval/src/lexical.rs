//! The words of the passages.

use crate::keys::Keys;
use crate::numbering::Numbering;
use crate::passage::Passage;
use crate::postings::Postings;
use crate::strings::{Strings, part, write_ends};
use crate::word_scores::{Part, WordScores};
use inference::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use words::{Language, for_each_stem};

/// How often a word of the title or of a heading counts, compared with one in the text.
const TITLE_WEIGHT: u32 = 3;

/// An inverted index. Passages are added in the order of their numbers, so every list is sorted. Those of a file have the
/// first numbers.
#[derive(Default)]
pub struct Lexical {
    mapped: MappedLists,
    /// Passages of the file that were removed, document by document.
    removed: Vec<Range<u32>>,
    terms: Keys,
    lists: Vec<List>,
    /// How many words each added passage has; 0 if it was removed.
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

/// The lists of the passages in a file. Terms are sorted.
#[derive(Default)]
struct MappedLists {
    terms: Strings,
    ends: Array<u32>,
    passages: Array<u32>,
    counts: Array<u8>,
    lengths: Array<u32>,
}

/// Where the passages of a term are.
#[derive(Clone, Default)]
struct Term<'a> {
    mapped: Postings<'a>,
    added: Postings<'a>,
}

impl Lexical {
    pub fn read(from: &mut ArrayReader, passages: usize) -> Result<Self, Damaged> {
        let terms = Strings::read(from)?;
        let ends = from.take_exactly::<u32>(terms.len())?;
        let postings = ends.last().map_or(0, |end| *end as usize);
        let mapped = MappedLists {
            terms,
            ends,
            passages: from.take_exactly(postings)?,
            counts: from.take_exactly(postings)?,
            lengths: from.take_exactly(passages)?,
        };
        let total_length = mapped.lengths.iter().map(|length| u64::from(*length)).sum();
        Ok(Self { mapped, total_length, passages, ..Self::default() })
    }

    /// Writes the passages of these numbers under their new numbers.
    pub fn write(
        &self,
        to: &mut ArrayWriter<impl Write>,
        passages: &[u32],
        numbering: &Numbering,
    ) -> io::Result<()> {
        let kept = |term: &Term<'_>| {
            term.postings().filter(|(passage, _)| numbering.keeps(*passage as usize)).count()
        };
        let mut terms: Vec<(&str, usize, Term<'_>)> =
            self.all_terms().map(|(key, term)| (key, kept(&term), term)).collect();
        terms.retain(|(_, kept, _)| *kept > 0);
        terms.sort_unstable_by_key(|(key, ..)| *key);
        Strings::write(to, terms.iter().map(|(key, ..)| *key))?;
        write_ends(to, terms.iter().map(|(_, kept, _)| *kept))?;
        let postings = terms.iter().map(|(_, kept, _)| kept).sum();
        let new = |(old, _): (u32, u8)| numbering.new_number(old);
        to.put_parts(
            postings,
            terms.iter().map(|(.., term)| term.postings().filter_map(new).collect::<Vec<u32>>()),
        )?;
        let count = |(old, count): (u32, u8)| numbering.keeps(old as usize).then_some(count);
        to.put_parts(
            postings,
            terms.iter().map(|(.., term)| term.postings().filter_map(count).collect::<Vec<u8>>()),
        )?;
        let lengths: Vec<u32> = passages.iter().map(|passage| self.length(*passage)).collect();
        to.put(&lengths)
    }

    fn all_terms(&self) -> impl Iterator<Item = (&str, Term<'_>)> {
        let mapped = self.mapped.terms.iter();
        let added = self.terms.iter().filter(|key| self.mapped.terms.find(key).is_none());
        mapped.chain(added).map(|key| (key, self.find(key)))
    }

    fn find(&self, key: &str) -> Term<'_> {
        let list = self.terms.get(key).map(|term| &self.lists[term as usize]);
        Term {
            mapped: self.mapped.terms.find(key).map(|term| self.mapped.list(term)).unwrap_or_default(),
            added: list.map(|list| Postings::of(&list.passages, &list.counts)).unwrap_or_default(),
        }
    }

    fn length(&self, passage: u32) -> u32 {
        let mapped = self.mapped.lengths.len();
        match (passage as usize).checked_sub(mapped) {
            None => self.mapped.lengths[passage as usize],
            Some(added) => self.lengths.get(added).copied().unwrap_or_default(),
        }
    }

    /// Adds the passages of a document after all others. Returns the document's terms, which `remove` needs.
    pub fn push(&mut self, passages: &[Passage<'_>], language: Language) -> Box<[u32]> {
        let mut document_terms = Vec::new();
        for passage in passages {
            let (counts, length) = self.count_terms(passage, language);
            let number = (self.mapped.lengths.len() + self.lengths.len()) as u32;
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

    /// Returns the terms of a passage with their counts, and how many words it has.
    fn count_terms(&mut self, passage: &Passage<'_>, language: Language) -> (Vec<(u32, u32)>, u32) {
        let above = || passage.headings.iter().map(String::as_str).chain([passage.title]);
        let mut terms = Vec::new();
        for (text, weight) in above().map(|text| (text, TITLE_WEIGHT)).chain([(passage.text, 1)]) {
            for_each_stem(text, language, |stem| terms.push((self.term(stem), weight)));
        }
        let length = terms.iter().map(|(_, weight)| *weight).sum();
        // So that a question of one ideograph finds it. They are no further words of the passage.
        for text in above().chain([passage.text]) {
            words::for_each_ideograph(text, |letter| terms.push((self.term(letter), 1)));
        }
        terms.sort_unstable();
        terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        (terms, length)
    }

    fn term(&mut self, stem: &str) -> u32 {
        let term = self.terms.get_or_insert(stem, self.lists.len());
        if term as usize == self.lists.len() {
            self.lists.push(List::default());
        }
        term
    }

    /// Removes the passages of a document with these terms. Those of a file stay in its lists, and are not counted.
    pub fn remove(&mut self, passages: Range<u32>, terms: &[u32]) {
        self.passages -= passages.len();
        let removed: u64 = passages.clone().map(|passage| u64::from(self.length(passage))).sum();
        self.total_length = self.total_length.saturating_sub(removed);
        let mapped = self.mapped.lengths.len() as u32;
        if passages.start < mapped {
            self.removed.push(passages);
            return;
        }
        for term in terms {
            let list = &mut self.lists[*term as usize];
            let range = within(&list.passages, &passages);
            list.passages.drain(range.clone());
            list.counts.drain(range);
        }
        self.lengths[(passages.start - mapped) as usize..(passages.end - mapped) as usize].fill(0);
    }

    /// Applies new numbers to the passages and frees the memory of removed ones. Returns the new numbers of the
    /// terms. None of the passages may be in a file.
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

    /// Compares the passages with the words of a query. The languages are those of the passages.
    pub fn compare(&self, query: &str, languages: &[Language]) -> WordScores<'_> {
        let (terms, rarities): (Vec<Term<'_>>, Vec<f32>) =
            self.query_terms(query, languages).into_iter().unzip();
        let (mapped, added) = terms.into_iter().map(|term| (term.mapped, term.added)).unzip();
        let in_file = self.mapped.lengths.len() as u32;
        let parts = [
            Part { first: 0, lengths: &self.mapped.lengths, lists: mapped },
            Part { first: in_file, lengths: &self.lengths, lists: added },
        ];
        let mean_length = self.total_length as f32 / self.passages.max(1) as f32;
        WordScores::new(parts, &rarities, mean_length)
    }

    /// Returns the query's words with their rarities, in its order. A word counts once, in whatever language a passage
    /// has it.
    fn query_terms(&self, query: &str, languages: &[Language]) -> Vec<(Term<'_>, f32)> {
        let mut terms: Vec<(Term<'_>, f32)> = Vec::new();
        let mut positions = HashMap::new();
        for word in words::terms(query, Language::of(query), languages) {
            let term = word.stems().iter().map(|stem| self.find(stem)).reduce(Term::or).unwrap_or_default();
            let rarity = self.rarity(&term);
            let position = *positions.entry(word).or_insert(terms.len());
            match terms.get_mut(position) {
                Some((_, sum)) => *sum += rarity,
                None => terms.push((term, rarity)),
            }
        }
        terms
    }

    fn rarity(&self, term: &Term<'_>) -> f32 {
        let removed: usize =
            self.removed.iter().map(|removed| within(&term.mapped.passages, removed).len()).sum();
        let mapped = term.mapped.passages.len().saturating_sub(removed);
        let having = (mapped + term.added.passages.len()) as f32;
        (1.0 + (self.passages as f32 - having + 0.5) / (having + 0.5)).ln()
    }
}

impl MappedLists {
    fn list(&self, term: u32) -> Postings<'_> {
        let term = term as usize;
        Postings::of(part(&self.ends, &self.passages, term), part(&self.ends, &self.counts, term))
    }
}

impl Term<'_> {
    fn postings(&self) -> impl Iterator<Item = (u32, u8)> {
        self.mapped.iter().chain(self.added.iter())
    }

    /// Returns where the passages are that have one of two terms.
    fn or(self, other: Self) -> Self {
        Self { mapped: self.mapped.or(other.mapped), added: self.added.or(other.added) }
    }
}

/// Returns which entries of a sorted list are in a range.
fn within(list: &[u32], range: &Range<u32>) -> Range<usize> {
    let start = list.partition_point(|passage| *passage < range.start);
    start..start + list[start..].partition_point(|passage| *passage < range.end)
}
