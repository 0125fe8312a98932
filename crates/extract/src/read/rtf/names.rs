//! Tables at the head of an RTF file: the code pages of fonts, and the names of styles.

use std::collections::BTreeMap;

use super::charset::{self, Charset};
use crate::read::docx::{heading_level, names_code, names_contents};

/// Further fonts and styles are not kept.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Fonts {
    charsets: BTreeMap<i32, Charset>,
    current: i32,
}

impl Fonts {
    pub fn word(&mut self, word: &str, number: i32) {
        match word {
            "f" => self.current = number,
            "fcharset" => self.set(charset::of_font(number)),
            "cpg" => self.set(Some(charset::of_code_page(number))),
            _ => {}
        }
    }

    fn set(&mut self, charset: Option<Charset>) {
        if let Some(charset) = charset.filter(|_| self.charsets.len() < MOST) {
            self.charsets.insert(self.current, charset);
        }
    }

    pub fn charset(&self, font: i32) -> Option<Charset> {
        self.charsets.get(&font).copied()
    }
}

#[derive(Default)]
pub(super) struct Styles {
    styles: BTreeMap<i32, Style>,
    current: i32,
    open: Style,
    name: String,
}

#[derive(Default, Clone, Copy)]
pub(super) struct Style {
    /// The heading level. Level 0 is the document's title.
    pub level: Option<u8>,
    pub is_code: bool,
    /// Whether its paragraphs are entries of a table of contents.
    pub is_contents: bool,
}

impl Styles {
    pub fn word(&mut self, word: &str, number: i32) {
        match word {
            "s" => self.current = number,
            "outlinelevel" => self.open.level = outline_level(number),
            _ => {}
        }
    }

    /// Takes text of the table: a name ends its style.
    pub fn text(&mut self, text: &str) {
        for c in text.chars() {
            if c != ';' {
                if self.name.len() < 200 {
                    self.name.push(c);
                }
                continue;
            }
            let name = std::mem::take(&mut self.name);
            let mut style = std::mem::take(&mut self.open);
            style.level = heading_level(name.trim()).or(style.level);
            style.is_code = names_code(&name);
            style.is_contents = names_contents(name.trim());
            if self.styles.len() < MOST {
                self.styles.insert(std::mem::take(&mut self.current), style);
            }
        }
    }

    pub fn get(&self, style: i32) -> Style {
        self.styles.get(&style).copied().unwrap_or_default()
    }
}

/// Levels of the file begin at 0; 9 is running text.
pub(super) fn outline_level(number: i32) -> Option<u8> {
    u8::try_from(number).ok().filter(|level| *level < 9).map(|level| level + 1)
}
