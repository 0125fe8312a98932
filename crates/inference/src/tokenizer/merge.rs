//! Merges neighbours in order of priority, in n log n time: a queue of candidates over a linked list.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A part of the text, with its token if there is one.
#[derive(Debug, Clone, Copy)]
pub struct Symbol {
    pub id: Option<u32>,
    pub start: u32,
    pub end: u32,
}

/// What two neighbours become. The lowest order is merged first; among equals, the leftmost.
pub struct Merge {
    pub order: u32,
    pub id: u32,
}

/// Merges neighbours as long as `find` returns a merge. Returns what is left in the order of the text.
pub fn merge_all(
    symbols: impl Iterator<Item = Symbol>,
    find: impl Fn(&Symbol, &Symbol) -> Option<Merge>,
) -> impl Iterator<Item = Symbol> {
    let mut list = List::new(symbols);
    let mut queue: BinaryHeap<Reverse<Candidate>> =
        (0..list.links.len() as u32).filter_map(|left| list.candidate(left, &find)).collect();
    while let Some(Reverse(candidate)) = queue.pop() {
        if !list.still_has(&candidate) {
            continue;
        }
        list.merge(&candidate);
        queue.extend(list.candidate(candidate.left, &find));
        queue.extend(list.candidate(list.at(candidate.left).before, &find));
    }
    let mut next = 0;
    std::iter::from_fn(move || {
        let link = list.links.get(next as usize)?;
        next = link.after;
        Some(link.symbol)
    })
}

/// Sorted by the order of merging. Positions are small numbers, since most of the time is spent in the queue.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    order: u32,
    left: u32,
    right: u32,
    middle: u32,
    end: u32,
    id: u32,
}

struct List {
    links: Vec<Link>,
}

/// `before` and `after` are [`NOWHERE`] at the ends.
struct Link {
    symbol: Symbol,
    before: u32,
    after: u32,
}

const NOWHERE: u32 = u32::MAX;

impl List {
    fn new(symbols: impl Iterator<Item = Symbol>) -> Self {
        let link = |(index, symbol): (u32, Symbol)| Link {
            symbol,
            before: index.checked_sub(1).unwrap_or(NOWHERE),
            after: index + 1,
        };
        let mut links: Vec<Link> = (0..).zip(symbols).map(link).collect();
        if let Some(last) = links.last_mut() {
            last.after = NOWHERE;
        }
        Self { links }
    }

    fn at(&self, index: u32) -> &Link {
        &self.links[index as usize]
    }

    fn candidate(
        &self,
        left: u32,
        find: impl Fn(&Symbol, &Symbol) -> Option<Merge>,
    ) -> Option<Reverse<Candidate>> {
        let first = self.links.get(left as usize)?;
        let second = self.links.get(first.after as usize)?;
        let Merge { order, id } = find(&first.symbol, &second.symbol)?;
        let (right, middle, end) = (first.after, first.symbol.end, second.symbol.end);
        Some(Reverse(Candidate { order, left, right, middle, end, id }))
    }

    /// Returns whether both neighbours are unchanged since they became candidates.
    fn still_has(&self, candidate: &Candidate) -> bool {
        let left = self.at(candidate.left);
        left.after == candidate.right
            && left.symbol.end == candidate.middle
            && self.at(candidate.right).symbol.end == candidate.end
    }

    fn merge(&mut self, candidate: &Candidate) {
        let after = std::mem::replace(&mut self.links[candidate.right as usize].after, NOWHERE);
        let left = &mut self.links[candidate.left as usize];
        left.symbol.id = Some(candidate.id);
        left.symbol.end = candidate.end;
        left.after = after;
        if let Some(after) = self.links.get_mut(after as usize) {
            after.before = candidate.left;
        }
    }
}
