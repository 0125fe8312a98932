//! Splits a document by its structure into passages that the encoder can read whole.
//!
//! Blocks under the same headings form a section. Small sections join their neighbours. A section that is too large
//! is split into parts of about the same size: between blocks if possible, else between sentences, and within a
//! sentence only if it alone is too long. Steps of a list, entries of a log and pieces of code are treated like
//! sentences. If code must be split, every part has its own fences.

mod cut;
mod sections;
mod units;

use crate::Document;
use sections::Cutter;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The passage itself, which is shown.
    pub text: String,
    /// From the outermost to the nearest.
    pub headings: Vec<String>,
    pub page: Option<u32>,
    /// In characters of `Document::text`.
    pub offset: usize,
    /// Title and heading path, as far as they fit.
    pub context: String,
}

impl Passage {
    /// Returns what the encoder reads, within the token limit: title, heading path, passage.
    pub fn embedded(&self) -> String {
        match self.context.as_str() {
            "" => self.text.clone(),
            context => format!("{context}\n{}", self.text),
        }
    }
}

/// Splits a document into passages of at most `max_tokens`, with their context, as `count` counts them.
///
/// `count` may include a constant for the tokens that mark the ends. It is called a few times for each sentence.
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
