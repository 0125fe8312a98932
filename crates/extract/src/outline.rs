//! The whole text of a document for a reader, with the places where its pages and sections begin.

use serde::{Deserialize, Serialize};

use crate::Document;

/// Further headings are left out: they would be longer than the text.
const MOST_HEADINGS: usize = 10_000;

/// The text that the offsets of passages count in. All starts are in characters of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub text: String,
    /// Whether the text goes on, and was cut.
    pub is_cut: bool,
    pub pages: Vec<PageStart>,
    pub headings: Vec<HeadingStart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageStart {
    /// From 1: the page of a PDF, the slide of a presentation.
    pub number: u32,
    pub start: usize,
}

/// A heading, and where the text below it begins. The heading itself is not in the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadingStart {
    /// From 1, the outermost.
    pub level: usize,
    pub text: String,
    pub start: usize,
}

impl Document {
    /// Returns the text up to this many bytes, with the pages and headings in that part.
    pub fn outline(&self, most_bytes: usize) -> Outline {
        let mut text = self.text();
        let is_cut = text.len() > most_bytes;
        if is_cut {
            text.truncate(text.floor_char_boundary(most_bytes));
        }
        let characters = text.chars().count();
        let (mut pages, mut headings) = (Vec::new(), Vec::new());
        let (mut page, mut path): (Option<u32>, &[String]) = (None, &[]);
        for block in self.blocks.iter().take_while(|block| block.offset < characters) {
            if let Some(number) = block.page.filter(|number| Some(*number) != page) {
                pages.push(PageStart { number, start: block.offset });
                page = Some(number);
            }
            let known = path.iter().zip(&block.headings).take_while(|(one, other)| one == other).count();
            for (depth, heading) in block.headings.iter().enumerate().skip(known) {
                if headings.len() < MOST_HEADINGS {
                    headings.push(HeadingStart {
                        level: depth + 1,
                        text: heading.clone(),
                        start: block.offset,
                    });
                }
            }
            path = &block.headings;
        }
        Outline { text, is_cut, pages, headings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, extract};

    fn outline(markdown: &str, most_bytes: usize) -> Outline {
        extract("a.md", markdown.as_bytes(), &Limits::default()).unwrap().outline(most_bytes)
    }

    #[test]
    fn headings_stand_where_their_text_begins() {
        let found = outline("Before.\n\n# A\n\n## B\n\nOne.\n\nTwo.\n\n## C\n\nThree.\n\n# D\n\nFour.", 1000);
        assert_eq!(found.text, "Before.\n\nOne.\n\nTwo.\n\nThree.\n\nFour.");
        let headings: Vec<(usize, &str, usize)> = found
            .headings
            .iter()
            .map(|heading| (heading.level, heading.text.as_str(), heading.start))
            .collect();
        let place = |text: &str| found.text.find(text).unwrap();
        assert_eq!(
            headings,
            [
                (1, "A", place("One.")),
                (2, "B", place("One.")),
                (2, "C", place("Three.")),
                (1, "D", place("Four."))
            ]
        );
        assert!(found.pages.is_empty() && !found.is_cut);
    }

    #[test]
    fn a_long_text_is_cut_between_characters_with_what_is_below() {
        let found = outline("# A\n\nzwölf\n\n# B\n\nelf", 3);
        assert_eq!((found.text.as_str(), found.is_cut), ("zw", true));
        assert_eq!(found.headings.len(), 1);
    }

    #[test]
    fn pages_are_listed_where_they_begin() {
        let block = |text: &str, page: u32, offset: usize| crate::Block {
            text: text.to_owned(),
            headings: Vec::new(),
            page: Some(page),
            offset,
            form: crate::Form::Prose,
        };
        let blocks = vec![block("one", 1, 0), block("two", 1, 5), block("three", 3, 10)];
        let document = Document { kind: crate::Kind::Pdf, title: None, author: None, blocks };
        let pages = document.outline(1000).pages;
        assert_eq!(pages, [PageStart { number: 1, start: 0 }, PageStart { number: 3, start: 10 }]);
    }
}
