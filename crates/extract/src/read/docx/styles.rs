//! The styles of a DOCX document: which ones are headings, which ones show code.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::xml::{self, Node};
use crate::{ExtractError, Kind};

#[derive(Default)]
pub(super) struct Styles {
    /// Heading level by style. Level 0 is the document's title.
    levels: BTreeMap<String, u8>,
    code: BTreeSet<String>,
    /// Those of the entries of a table of contents.
    contents: BTreeSet<String>,
}

impl Styles {
    pub fn read(xml: &[u8]) -> Result<Self, ExtractError> {
        let mut styles = Self::default();
        let mut parents: Vec<(String, String)> = Vec::new();
        let mut current = String::new();
        xml::walk(xml, Kind::Docx, |node| {
            let Node::Open(element) = node else { return Ok(()) };
            let value = || element.attribute("val").unwrap_or_default();
            match element.name {
                "style" => current = element.attribute("styleId").unwrap_or_default(),
                "name" => styles.name(&current, &value()),
                "outlineLvl" => {
                    if let Ok(level @ 0..=8) = value().parse::<u8>() {
                        styles.levels.entry(current.clone()).or_insert(level + 1);
                    }
                }
                "basedOn" => parents.push((current.clone(), value())),
                _ => {}
            }
            Ok(())
        })?;
        for (style, parent) in parents {
            if let (false, Some(level)) =
                (styles.levels.contains_key(&style), styles.levels.get(&parent).copied())
            {
                styles.levels.insert(style.clone(), level);
            }
            if styles.code.contains(&parent) {
                styles.code.insert(style);
            }
        }
        Ok(styles)
    }

    pub fn level(&self, style: &str) -> Option<u8> {
        self.levels.get(style).copied().or_else(|| heading_level(style))
    }

    pub fn is_code(&self, style: &str) -> bool {
        self.code.contains(style) || names_code(style)
    }

    pub fn is_contents(&self, style: &str) -> bool {
        self.contents.contains(style) || names_contents(style)
    }

    fn name(&mut self, style: &str, name: &str) {
        if let Some(level) = heading_level(name) {
            self.levels.insert(style.to_owned(), level);
        }
        if names_code(name) {
            self.code.insert(style.to_owned());
        }
        if names_contents(name) {
            self.contents.insert(style.to_owned());
        }
    }
}

/// Returns whether the name of a style says that it is of entries of a table of contents.
pub(in crate::read) fn names_contents(style: &str) -> bool {
    let style = style.to_lowercase();
    let number = style.strip_prefix("toc").or_else(|| style.strip_prefix("contents"));
    number.is_some_and(|number| number.trim().parse::<u8>().is_ok()) || style == "table of figures"
}

/// Returns the heading level that the name of a style tells. Level 0 is the document's title.
pub(in crate::read) fn heading_level(style: &str) -> Option<u8> {
    let style = style.to_lowercase();
    if style == "title" {
        return Some(0);
    }
    style.strip_prefix("heading")?.trim().parse().ok().filter(|level| (1..=9).contains(level))
}

/// Returns whether the name of a style says that it shows code.
pub(in crate::read) fn names_code(style: &str) -> bool {
    let style = style.to_lowercase();
    ["code", "preformatted", "listing", "verbatim", "console", "terminal"]
        .iter()
        .any(|name| style.contains(name))
}
