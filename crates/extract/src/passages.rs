//! Passages: a document cut by its structure into pieces that the encoder can read whole.
//!
//! Blocks under the same headings make a section, sections that are too small join their neighbours, and a section
//! that is too large is cut into parts of about the same size, between blocks rather than between sentences, and
//! within a sentence only where it alone is too long.

mod cut;
mod sections;

use crate::Document;
use sections::Cutter;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// What is shown: the passage itself.
    pub text: String,
    /// From the outermost to the nearest.
    pub headings: Vec<String>,
    pub page: Option<u32>,
    /// In characters of `Document::text`.
    pub offset: usize,
    /// Title and heading path, as far as there is room for them.
    pub context: String,
}

impl Passage {
    /// What the encoder reads, never more than the tokens allowed: title, heading path, passage.
    pub fn embedded(&self) -> String {
        match self.context.as_str() {
            "" => self.text.clone(),
            context => format!("{context}\n{}", self.text),
        }
    }
}

/// Cuts a document into passages that have, with their context, at most `max_tokens` as `count` counts them.
///
/// `count` may include a constant for marks at the ends. It is called a few times for each sentence.
pub fn passages(
    document: &Document,
    title: &str,
    max_tokens: usize,
    count: &dyn Fn(&str) -> usize,
) -> Vec<Passage> {
    let cutter = Cutter::new(title, max_tokens, count);
    let sections = document.blocks.chunk_by(|one, next| one.headings == next.headings);
    let groups = cutter.join_small(sections.map(|blocks| cutter.section(blocks)));
    groups.iter().flat_map(|group| cutter.passages(group)).collect()
}

#[cfg(test)]
mod tests;
