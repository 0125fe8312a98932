//! Finds the names and concepts in documents, and builds the graph that connects them. Pure: text in, evidence out;
//! evidence in, graph out. No model, no clock, no store; the same input always gives the same output.

mod acronym;
mod code;
mod edge;
mod entities;
mod graph;
mod key;
mod kind;
mod layout;
mod leiden;
mod lexicon;
mod mentions;
mod names;
mod parsed_text;
mod phrases;
mod question;
mod same;
mod text;
mod units;

pub use edge::Edge;
pub use graph::{Evidence, Graph, Node, View};
pub use key::id;
pub use kind::Kind;
pub use mentions::mentions;
pub use question::names_in;

/// A passage of a document.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    pub text: &'a str,
    /// From the outermost to the nearest.
    pub headings: &'a [String],
    /// Whether it is source code.
    pub is_code: bool,
}

/// The mention of an entity in a passage.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Counted from 0.
    pub passage: u32,
    /// The normal form of the name, the same in all documents that mention the entity.
    pub key: String,
    /// The name as it is shown.
    pub label: String,
    pub kind: Kind,
    /// How often it occurs in this passage.
    pub count: u32,
    /// Its importance in its document, between 0 and 1.
    pub weight: f32,
    /// Whether the document or passage is about it: it is in the title or heading, or is defined there.
    pub defines: bool,
    /// The sentences of the passage that mention it: bit n for the nth, the last bit for all further ones.
    pub sentences: u32,
}

impl Mention {
    /// Returns the mention as evidence of a document.
    pub fn evidence<'a>(&'a self, document: &'a str) -> Evidence<'a> {
        Evidence {
            document,
            passage: self.passage,
            key: &self.key,
            label: &self.label,
            kind: self.kind,
            count: self.count,
            weight: self.weight,
            defines: self.defines,
            sentences: self.sentences,
        }
    }
}
