//! The passages that have a term, and how often each has it.

use std::borrow::Cow;

/// Passages in ascending order, and the counts of each.
#[derive(Clone, Default)]
pub struct Postings<'a> {
    pub passages: Cow<'a, [u32]>,
    pub counts: Cow<'a, [u8]>,
}

impl<'a> Postings<'a> {
    pub fn of(passages: &'a [u32], counts: &'a [u8]) -> Self {
        Self { passages: Cow::Borrowed(passages), counts: Cow::Borrowed(counts) }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, u8)> {
        self.passages.iter().copied().zip(self.counts.iter().copied())
    }

    /// Returns the passages that have one of two terms, with the sum of both counts.
    pub fn or(self, other: Self) -> Self {
        if self.passages.is_empty() || other.passages.is_empty() {
            return if self.passages.is_empty() { other } else { self };
        }
        let (mut passages, mut counts) = (Vec::new(), Vec::new());
        let (mut ours, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        loop {
            let next = ours.peek().into_iter().chain(theirs.peek()).map(|(passage, _)| *passage).min();
            let Some(passage) = next else { break };
            let of_passage = |(at, _): &(u32, u8)| *at == passage;
            let ours = ours.next_if(of_passage).map_or(0, |(_, count)| count);
            let theirs = theirs.next_if(of_passage).map_or(0, |(_, count)| count);
            passages.push(passage);
            counts.push(ours.saturating_add(theirs));
        }
        Self { passages: passages.into(), counts: counts.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_with_either_term_are_listed_once() {
        let one = Postings::of(&[1, 4, 7], &[1, 2, 250]);
        let other = Postings::of(&[0, 4, 7, 9], &[5, 3, 100, 1]);
        let both: Vec<(u32, u8)> = one.clone().or(other).iter().collect();
        assert_eq!(both, [(0, 5), (1, 1), (4, 5), (7, 255), (9, 1)]);
        let same = |postings: Postings<'_>| postings.iter().eq(one.iter());
        assert!(same(one.clone().or(Postings::default())) && same(Postings::default().or(one.clone())));
    }
}
