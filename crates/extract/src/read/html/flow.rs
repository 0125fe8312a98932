//! Collects the tags and text of a page into parts, as a stream. No tree is built, so deep nesting costs nothing and
//! unclosed tags do little harm.

use std::cell::RefCell;

use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};

use super::elements::{is_block, is_container, raw_kind};
use super::grid::Grid;
use super::part::{Part, PartKind};
use super::region::{Region, attribute};
use crate::clean;

#[derive(Default)]
pub(super) struct Flow {
    pub parts: Vec<Part>,
    pub title: String,
    pub author: String,
    has_title: bool,
    text: String,
    linked: usize,
    links: usize,
    heading: Option<u8>,
    /// The open element whose content is not markup.
    raw: Option<String>,
    is_preformatted: bool,
    containers: Vec<(String, Region)>,
    lists: usize,
    list: String,
    grid: Option<Grid>,
}

#[derive(Default)]
pub(super) struct FlowSink(RefCell<Flow>);

impl FlowSink {
    pub fn finish(&self) -> Flow {
        let mut flow = self.0.take();
        flow.flush();
        flow.end_list();
        flow.end_table();
        flow
    }
}

impl TokenSink for FlowSink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut flow = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => flow.characters(&text),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return flow.start(&tag),
            Token::TagToken(tag) => flow.end(&tag.name),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Most open elements that an end tag is compared with, so that a hostile page takes linear time.
const LOOK_BACK: usize = 64;

impl Flow {
    fn characters(&mut self, text: &str) {
        match self.raw.as_deref() {
            // Pictures may have titles too; the first title is the page's.
            Some("title") if !self.has_title => self.title.push_str(text),
            Some(_) => {}
            None => {
                self.text.push_str(text);
                if self.links > 0 {
                    self.linked += text.trim().len();
                }
            }
        }
    }

    fn start(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        if let Some(kind) = raw_kind(name)
            && !tag.self_closing
        {
            self.raw = Some(name.to_owned());
            return TokenSinkResult::RawData(kind);
        }
        if is_block(name) {
            self.flush();
        }
        match name {
            "a" => self.links += 1,
            "br" | "hr" => self.text.push('\n'),
            "meta" => self.meta(tag),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.start_heading(name),
            "ul" | "ol" | "dl" if !tag.self_closing => self.lists += 1,
            "li" | "dt" | "dd" if self.lists > 0 => self.item(),
            "table" => {
                self.end_table();
                self.grid = Some(Grid::default());
            }
            "tr" => drop(self.grid.as_mut().map(Grid::row)),
            "td" | "th" => drop(self.grid.as_mut().map(Grid::cell)),
            "pre" => self.is_preformatted = true,
            _ => {}
        }
        if is_container(name) && !tag.self_closing {
            self.containers.push((name.to_owned(), self.region().inside(tag)));
        }
        TokenSinkResult::Continue
    }

    fn end(&mut self, name: &str) {
        if self.raw.as_deref() == Some(name) {
            self.raw = None;
            self.has_title |= name == "title";
            return;
        }
        match name {
            "a" => self.links = self.links.saturating_sub(1),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.end_heading(),
            "pre" => self.end_preformatted(),
            _ if is_block(name) => self.flush(),
            _ => {}
        }
        match name {
            "ul" | "ol" | "dl" => {
                self.lists = self.lists.saturating_sub(1);
                if self.lists == 0 {
                    self.end_list();
                }
            }
            "table" => self.end_table(),
            _ => {}
        }
        let near = self.containers.len().saturating_sub(LOOK_BACK);
        if is_container(name)
            && let Some(at) = self.containers[near..].iter().rposition(|(open, _)| open == name)
        {
            self.containers.truncate(near + at);
        }
    }

    fn region(&self) -> Region {
        self.containers.last().map_or(Region::Body, |(_, region)| *region)
    }

    fn meta(&mut self, tag: &Tag) {
        let content = attribute(tag, "content").unwrap_or_default();
        match attribute(tag, "name").or_else(|| attribute(tag, "property")) {
            Some("author" | "dc.creator" | "citation_author") if self.author.is_empty() => {
                self.author = content.to_owned();
            }
            _ => {}
        }
    }

    fn start_heading(&mut self, name: &str) {
        self.end_table();
        self.end_list();
        self.heading = name[1..].parse().ok();
    }

    fn end_heading(&mut self) {
        if let Some(level) = self.heading.take() {
            let text = std::mem::take(&mut self.text);
            self.push(PartKind::Heading(level), text);
        }
    }

    fn end_preformatted(&mut self) {
        self.is_preformatted = false;
        let text = std::mem::take(&mut self.text);
        match &mut self.grid {
            Some(grid) => grid.text(&text),
            None => self.push(PartKind::Lines, text),
        }
    }

    fn item(&mut self) {
        if !self.list.is_empty() {
            self.list.push('\n');
        }
        self.list.push_str(&"  ".repeat(self.lists.clamp(1, 9) - 1));
        self.list.push_str("- ");
    }

    fn end_list(&mut self) {
        let list = std::mem::take(&mut self.list);
        match &mut self.grid {
            Some(grid) if !list.is_empty() => grid.text(&list.replace('\n', " ")),
            _ => self.push(PartKind::Lines, list),
        }
    }

    fn end_table(&mut self) {
        for (kind, text) in self.grid.take().map(Grid::into_parts).unwrap_or_default() {
            self.push(kind, text);
        }
    }

    /// Ends the current paragraph.
    fn flush(&mut self) {
        if self.heading.is_some() || self.is_preformatted {
            self.text.push('\n');
            return;
        }
        if self.text.trim().is_empty() {
            self.text.clear();
            return;
        }
        let text = std::mem::take(&mut self.text);
        if self.lists > 0 {
            self.list.push_str(&clean::prose(&text));
            self.list.push(' ');
        } else if let Some(grid) = &mut self.grid {
            grid.text(&clean::prose(&text));
        } else {
            self.push(PartKind::Prose, text);
        }
    }

    fn push(&mut self, kind: PartKind, text: String) {
        let linked = std::mem::take(&mut self.linked);
        let region = self.region();
        if region != Region::Hidden && !text.trim().is_empty() {
            self.parts.push(Part { kind, text, region, linked });
        }
    }
}
