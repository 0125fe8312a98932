//! A passage as it is given to the index.

/// A part of a document, found as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage<'a> {
    /// The document's title.
    pub title: &'a str,
    /// The path of headings above the passage.
    pub headings: &'a [String],
    pub text: &'a str,
    /// Of length 1, in the index's dimension.
    pub vector: &'a [f32],
    pub mentions: &'a [Mention<'a>],
}

/// A name in a passage: of a person, a place or another thing with a name of its own. Concepts are left out: vectors and
/// words compare them already, and they connect too many passages to be useful as a hop.
#[derive(Clone, Copy, Debug)]
pub struct Mention<'a> {
    /// The same for every spelling of the name.
    pub key: &'a str,
    /// Whether the passage is about it.
    pub defines: bool,
}
