//! Text within paragraphs: spaces and breaks that are elements, and elements whose text is not shown.

use crate::read::xml::{Element, Node};

/// Counts the open elements whose content is left out.
#[derive(Default)]
pub(super) struct Hidden {
    open: usize,
    /// Depth of pictures: the title of one is not that of the document, which is a field of the same name.
    frames: usize,
}

impl Hidden {
    /// Takes the next node, and returns whether it is left out.
    pub fn leaves_out(&mut self, node: &Node) -> bool {
        if let Node::Open(element) = node {
            self.frames += usize::from(element.name == FRAME);
            self.open += usize::from(self.is_hidden(element.name));
        }
        let is_inside = self.open > 0;
        if let Node::Close(name) = node {
            self.open = self.open.saturating_sub(usize::from(self.is_hidden(name)));
            self.frames = self.frames.saturating_sub(usize::from(*name == FRAME));
        }
        is_inside
    }

    fn is_hidden(&self, name: &str) -> bool {
        is_hidden(name) || name == "title" && self.frames > 0
    }
}

const FRAME: &str = "frame";

/// Comments, deleted text, lists of contents and of figures, numbers of notes, descriptions of pictures, and what
/// stands beside the body in a single XML file.
fn is_hidden(name: &str) -> bool {
    matches!(
        name,
        "annotation"
            | "tracked-changes"
            | "forms"
            | "ruby-text"
            | "note-citation"
            | "table-of-content"
            | "illustration-index"
            | "table-index"
            | "object-index"
            | "user-index"
            | "alphabetical-index"
            | "number"
            | "desc"
            | "event-listeners"
            | "scripts"
            | "binary-data"
            | "settings"
            | "styles"
            | "automatic-styles"
            | "master-styles"
            | "meta"
    )
}

/// The widest space. A hostile file could ask for millions.
const WIDEST: usize = 100;

/// Returns the text that an element stands for, if it stands for any.
pub(super) fn written(element: &Element) -> Option<String> {
    match element.name {
        "s" => {
            let count = element.attribute("c").and_then(|count| count.parse().ok()).unwrap_or(1);
            Some(" ".repeat(WIDEST.min(count)))
        }
        "tab" => Some("\t".to_owned()),
        "line-break" => Some("\n".to_owned()),
        _ => None,
    }
}

/// Adds text of the file, in which line breaks mean no more than spaces.
pub(super) fn push(paragraph: &mut String, text: &str) {
    paragraph.extend(text.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
}
