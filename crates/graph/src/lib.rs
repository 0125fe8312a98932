//! Names and concepts of documents, and the graph that they make. Pure: text in, evidence out; evidence in,
//! graph out. No model, no clock, no store; the same input always gives the same output.

mod acronym;
mod edge;
mod entities;
mod graph;
mod key;
mod kind;
mod leiden;
mod lexicon;
mod mentions;
mod names;
mod parsed_text;
mod phrases;
mod question;
mod same;
mod text;

pub use edge::Edge;
pub use graph::{Evidence, Graph, Node, View};
pub use kind::Kind;
pub use mentions::mentions;
pub use question::names_in;

/// A passage of a document, as it was cut.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    pub text: &'a str,
    /// From the outermost to the one right above the passage.
    pub headings: &'a [String],
}

/// That a passage names something.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Counted from 0.
    pub passage: u32,
    /// The normal form: what two documents share that name the same entity.
    pub key: String,
    /// As a reader would write it.
    pub label: String,
    pub kind: Kind,
    /// How often in this passage.
    pub count: u32,
    /// How much it matters in its document, between 0 and 1.
    pub weight: f32,
    /// The document or passage is about it: it stands in the title, the heading, or is defined there.
    pub defines: bool,
    /// In which sentences of the passage: bit n for the nth, the last bit for all beyond.
    pub sentences: u32,
}

impl Mention {
    /// As the evidence of a document.
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
