//! A piece of a page's content.

use super::region::Region;

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum PartKind {
    Heading(u8),
    Prose,
    Lines,
    Code,
}

#[derive(Debug)]
pub(super) struct Part {
    pub kind: PartKind,
    pub text: String,
    pub region: Region,
    /// Bytes of text inside links.
    pub linked: usize,
    /// Of code, if the page says it.
    pub language: String,
}

impl Part {
    /// Returns whether the part consists of short lines, nearly all of them links.
    pub fn is_menu(&self) -> bool {
        let lines = self.text.lines().count().max(1);
        self.linked * 10 >= self.text.len() * 7
            && self.text.len() < lines * 40
            && !matches!(self.kind, PartKind::Heading(_))
    }
}
