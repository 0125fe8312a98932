//! The marks of list items: Word stores no numbers, only which list and level an item belongs to.

use std::collections::BTreeMap;

use crate::read::xml::{self, Node};
use crate::{ExtractError, Kind};

/// The deepest level of a list in the format.
const LEVELS: usize = 9;

#[derive(Default)]
pub(super) struct Numbering {
    /// The abstract list of each list.
    lists: BTreeMap<String, String>,
    /// The first number of each numbered level of an abstract list.
    levels: BTreeMap<(String, usize), u64>,
    /// The number of the last item, by list and level.
    last: BTreeMap<(String, usize), u64>,
}

impl Numbering {
    pub fn read(xml: &[u8]) -> Result<Self, ExtractError> {
        let mut numbering = Self::default();
        let (mut list, mut level, mut start, mut in_list) = (String::new(), 0, 1, false);
        xml::walk(xml, Kind::Docx, |node| {
            let Node::Open(element) = node else { return Ok(()) };
            let attribute = |name: &str| element.attribute(name).unwrap_or_default();
            match element.name {
                "abstractNum" => (list, in_list) = (attribute("abstractNumId"), false),
                "num" => (list, in_list) = (attribute("numId"), true),
                "abstractNumId" if in_list => drop(numbering.lists.insert(list.clone(), attribute("val"))),
                "lvl" => (level, start) = (attribute("ilvl").parse().unwrap_or(0), 1),
                "start" => start = attribute("val").parse().unwrap_or(1),
                "numFmt" if !in_list && !matches!(attribute("val").as_str(), "bullet" | "none") => {
                    numbering.levels.insert((list.clone(), level), start);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(numbering)
    }

    /// Returns the mark of the next item of a list: "3. " or "- ".
    pub fn mark(&mut self, list: &str, level: usize) -> String {
        let first = self.lists.get(list).and_then(|list| self.levels.get(&(list.clone(), level)).copied());
        let Some(first) = first else { return "- ".to_owned() };
        for deeper in level + 1..LEVELS {
            self.last.remove(&(list.to_owned(), deeper));
        }
        let last = self.last.entry((list.to_owned(), level)).or_insert(first.saturating_sub(1));
        *last = last.saturating_add(1);
        format!("{last}. ")
    }
}
