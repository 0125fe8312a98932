//! Groups blocks into sections, and decides which headings and which title go with a passage.

use super::Passage;
use super::cut::{self, Piece};
use crate::Block;

pub(super) struct Cutter<'a> {
    title: &'a str,
    max_tokens: usize,
    count: &'a dyn Fn(&str) -> usize,
    /// Tokens that `count` adds to every text.
    added: usize,
}

/// Consecutive blocks under the same headings.
pub(super) struct Section<'d> {
    headings: &'d [String],
    pieces: Vec<Piece<'d>>,
    tokens: usize,
}

/// Sections that share their passages: one, or several that fit into one passage together.
pub(super) struct Group<'d> {
    headings: &'d [String],
    sections: Vec<Section<'d>>,
}

impl<'a> Cutter<'a> {
    pub fn new(title: &'a str, max_tokens: usize, count: &'a dyn Fn(&str) -> usize) -> Self {
        Self { title, max_tokens, count, added: count("") }
    }

    pub fn section<'d>(&self, blocks: &'d [Block]) -> Section<'d> {
        let headings = blocks.first().map_or(&[][..], |block| &block.headings);
        let room = self.room(&self.context(headings));
        let measure = |text: &str| self.tokens(text);
        let pieces: Vec<Piece> = blocks.iter().flat_map(|block| cut::pieces(block, room, &measure)).collect();
        let tokens = pieces.iter().map(|piece| piece.tokens).sum();
        Section { headings, pieces, tokens }
    }

    /// Joins a small section with its neighbour if one is the parent of the other, or if both have the same parent.
    pub fn join_small<'d>(&self, sections: impl Iterator<Item = Section<'d>>) -> Vec<Group<'d>> {
        let mut groups: Vec<Group> = Vec::new();
        for section in sections {
            match groups.last_mut().and_then(|group| Some((self.joined_headings(group, &section)?, group))) {
                Some((headings, group)) => {
                    group.headings = headings;
                    group.sections.push(section);
                }
                None => groups.push(Group { headings: section.headings, sections: vec![section] }),
            }
        }
        groups
    }

    /// Returns the headings of a group after this section joins it, or `None` if the section must not join.
    fn joined_headings<'d>(&self, group: &Group<'d>, section: &Section<'d>) -> Option<&'d [String]> {
        let small = self.max_tokens / 6;
        let neighbour = group.sections.last()?;
        if neighbour.tokens.min(section.tokens) >= small {
            return None;
        }
        let pairs = group.headings.iter().zip(section.headings);
        let shared = pairs.take_while(|(one, other)| one == other).count();
        let (shared, own) = group.headings.split_at(shared);
        let is_near =
            own.len() <= usize::from(group.sections.len() == 1) && section.headings.len() <= shared.len() + 1;
        if !is_near {
            return None;
        }
        let sections = group.sections.iter().chain([section]);
        let tokens =
            sections.map(|section| section.tokens + self.tokens(own_heading(section, shared))).sum::<usize>();
        (tokens <= self.room(&self.context(shared))).then_some(shared)
    }

    pub fn passages(&self, group: &Group) -> Vec<Passage> {
        let context = self.context(group.headings);
        if let [section] = group.sections.as_slice() {
            let parts = cut::parts(&section.pieces, self.room(&context));
            let parts = parts.into_iter().map(|part| &section.pieces[part]);
            return parts.flat_map(|pieces| self.checked(pieces, group.headings, &context)).collect();
        }
        let mut text = String::new();
        for section in &group.sections {
            for part in [own_heading(section, group.headings), &text_of(&section.pieces)] {
                if !part.is_empty() && !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(part);
            }
        }
        let first = group.sections.iter().find_map(|section| section.pieces.first());
        let joined = first.map(|first| passage(text, first, group.headings, &context));
        match joined.filter(|passage| (self.count)(&passage.embedded()) <= self.max_tokens) {
            Some(passage) => vec![passage],
            None => {
                let sections = group.sections.iter();
                sections
                    .flat_map(|section| self.checked(&section.pieces, section.headings, &context))
                    .collect()
            }
        }
    }

    /// Counts the whole passage, and halves it if that is too long: a tokenizer that looks beyond spaces may find
    /// more tokens in the whole than in its pieces.
    fn checked(&self, pieces: &[Piece], headings: &[String], context: &str) -> Vec<Passage> {
        let Some(first) = pieces.first() else { return Vec::new() };
        let passage = passage(text_of(pieces), first, headings, context);
        if pieces.len() == 1 || (self.count)(&passage.embedded()) <= self.max_tokens {
            return vec![passage];
        }
        let (left, right) = pieces.split_at(pieces.len() / 2);
        [left, right].into_iter().flat_map(|half| self.checked(half, headings, context)).collect()
    }

    fn tokens(&self, text: &str) -> usize {
        if text.is_empty() { 0 } else { (self.count)(text).saturating_sub(self.added) }
    }

    /// Returns the tokens left for a passage below this context.
    fn room(&self, context: &str) -> usize {
        self.max_tokens.saturating_sub(self.added + self.tokens(context)).max(1)
    }

    /// Returns title and heading path in at most a third of the tokens. If they are too long, outer headings are
    /// dropped first, then the end of the title.
    fn context(&self, headings: &[String]) -> String {
        let most = self.max_tokens / 3;
        let headings = match headings {
            [first, rest @ ..] if first == self.title => rest,
            all => all,
        };
        for skipped in 0..=headings.len() {
            let path = headings[skipped..].join(" > ");
            let context = [self.title, &path].into_iter().filter(|part| !part.is_empty());
            let context = context.collect::<Vec<_>>().join("\n");
            if self.tokens(&context) <= most {
                return context;
            }
        }
        let mut title = self.title;
        while self.tokens(title) > most {
            title = title[..title.floor_char_boundary(title.len() / 2)].trim_end();
        }
        title.to_owned()
    }
}

/// Returns the heading of a section if the headings of its passage do not include it.
fn own_heading<'d>(section: &Section<'d>, shared: &[String]) -> &'d str {
    section.headings.get(shared.len()).map_or("", String::as_str)
}

fn passage(text: String, first: &Piece, headings: &[String], context: &str) -> Passage {
    let headings = headings.to_vec();
    Passage { text, headings, page: first.block.page, offset: first.offset, context: context.to_owned() }
}

/// Returns the text of the pieces with everything between them. Code that is split gets the missing fences.
fn text_of(pieces: &[Piece]) -> String {
    let blocks = pieces.chunk_by(|one, next| std::ptr::eq(one.block, next.block));
    let texts = blocks.filter_map(|pieces| {
        let (first, last) = (pieces.first()?, pieces.last()?);
        Some(&first.block.text[first.range.start..last.range.end])
    });
    let mut text = texts.collect::<Vec<_>>().join("\n\n");
    if pieces.first().is_some_and(|first| first.in_code.at_start) {
        text.insert_str(0, "```\n");
    }
    if pieces.last().is_some_and(|last| last.in_code.at_end) {
        text.push_str("\n```");
    }
    text
}
