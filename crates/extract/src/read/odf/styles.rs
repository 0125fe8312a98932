//! The styles of an OpenDocument text: which ones are headings or code, and which levels of lists are numbered.

use std::collections::BTreeMap;

use crate::read::docx::{heading_level, names_code};
use crate::read::xml::{self, Element, Node};
use crate::{ExtractError, Kind};

#[derive(Default)]
pub(super) struct Styles {
    paragraphs: BTreeMap<String, Style>,
    /// The first number of each numbered level of a list style.
    numbered: BTreeMap<(String, usize), u64>,
}

#[derive(Default)]
struct Style {
    parent: String,
    /// The heading level that it gives its paragraphs.
    level: Option<u8>,
    /// The list style of its paragraphs.
    list: String,
}

/// Styles above a style that are asked. A hostile file could make a circle of them.
const ANCESTORS: usize = 16;

impl Styles {
    /// Adds the styles of a part. A file has some that its user sees, and some that the program made.
    pub fn read(&mut self, xml: &[u8], kind: Kind) -> Result<(), ExtractError> {
        let mut list = String::new();
        xml::walk(xml, kind, |node| {
            let Node::Open(element) = node else { return Ok(()) };
            let attribute = |name: &str| element.attribute(name).unwrap_or_default();
            match element.name {
                "style" if attribute("family") == "paragraph" => self.add(&element),
                "list-style" => list = attribute("name"),
                "list-level-style-number" if !attribute("num-format").is_empty() => {
                    let level = attribute("level").parse().unwrap_or(1);
                    let start = attribute("start-value").parse().unwrap_or(1);
                    self.numbered.insert((list.clone(), level), start);
                }
                _ => {}
            }
            Ok(())
        })
    }

    fn add(&mut self, element: &Element) {
        let attribute = |name: &str| element.attribute(name).unwrap_or_default();
        let name = attribute("name");
        let level = attribute("default-outline-level").parse().ok().filter(|level| (1..=10).contains(level));
        let style =
            Style { parent: attribute("parent-style-name"), level, list: attribute("list-style-name") };
        self.paragraphs.insert(name, style);
    }

    /// Returns the heading level of paragraphs with this style. Level 0 is the document's title.
    pub fn level(&self, style: &str) -> Option<u8> {
        let own = |name: &str| self.paragraphs.get(name).and_then(|style| style.level);
        self.line(style).find_map(|name| heading_level(&shown_name(name)).or_else(|| own(name)))
    }

    pub fn is_code(&self, style: &str) -> bool {
        self.line(style).any(|name| names_code(&shown_name(name)))
    }

    /// Returns the list style that a paragraph style has.
    pub fn list_of(&self, style: &str) -> &str {
        let styles = self.line(style).filter_map(|name| self.paragraphs.get(name));
        styles.map(|style| style.list.as_str()).find(|list| !list.is_empty()).unwrap_or_default()
    }

    /// Returns the first number of a level of a list, from 1, if the level is numbered.
    pub fn first_number(&self, list: &str, level: usize) -> Option<u64> {
        self.numbered.get(&(list.to_owned(), level)).copied()
    }

    /// Returns the names of a style and of those that it is based on.
    fn line<'s>(&'s self, style: &'s str) -> impl Iterator<Item = &'s str> {
        let parent = |name: &&str| self.paragraphs.get(*name).map(|style| style.parent.as_str());
        std::iter::successors(Some(style), parent).take(ANCESTORS)
    }
}

/// Returns the name that users see: "Heading_20_1" is "Heading 1".
fn shown_name(name: &str) -> String {
    name.replace("_20_", " ")
}
