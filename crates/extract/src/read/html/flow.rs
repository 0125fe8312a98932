//! Collects the tags and text of a page into parts, as a stream. No tree is built, so deep nesting costs nothing and
//! unclosed tags do little harm.

use std::cell::RefCell;

use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};

use super::elements::{is_block, is_container, is_link_sign, raw_kind};
use super::grid::Grid;
use super::part::{Part, PartKind};
use super::region::{Region, attribute};
use crate::clean;
use crate::fence::fenced;
use crate::read::list::List;

#[derive(Default)]
pub(super) struct Flow {
    pub parts: Vec<Part>,
    pub title: String,
    pub author: String,
    has_title: bool,
    text: String,
    linked: usize,
    /// The open links and anchors, and which of them are links.
    links: Vec<bool>,
    heading: Option<u8>,
    /// The open element whose content is not markup.
    raw: Option<String>,
    is_preformatted: bool,
    /// Of the current piece of code.
    language: String,
    containers: Vec<(String, Region)>,
    list: List,
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

/// A line break in running text. White space, but none that pages have in their source.
const LINE_BREAK: char = '\u{2028}';

/// Returns the language that the class of an element names, as in `class="language-rust"`.
fn language(tag: &Tag) -> Option<String> {
    let mut classes = attribute(tag, "class")?.split_whitespace();
    let named = |class: &str| {
        class.strip_prefix("language-").or_else(|| class.strip_prefix("lang-")).map(str::to_owned)
    };
    classes.find_map(named)
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
                if self.links.last() == Some(&true) {
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
            // An anchor is a place in the page, not a link.
            "a" => self.links.push(attribute(tag, "href").is_some()),
            "br" => self.line_break(),
            "hr" => self.text.push('\n'),
            "meta" => self.meta(tag),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.start_heading(name),
            "ol" if !tag.self_closing => {
                self.list
                    .start(Some(attribute(tag, "start").and_then(|start| start.parse().ok()).unwrap_or(1)));
            }
            "ul" | "dl" | "menu" if !tag.self_closing => self.list.start(None),
            "li" if self.list.is_open() => self.list.item(),
            "dt" if self.list.is_open() => self.list.defined_term(),
            "dd" if self.list.is_open() => self.list.definition(),
            "table" => {
                self.end_table();
                self.end_list();
                self.list.enter_table();
                self.grid = Some(Grid::default());
            }
            "tr" => drop(self.grid.as_mut().map(Grid::row)),
            "td" | "th" => {
                let span = |name| attribute(tag, name).and_then(|span| span.trim().parse().ok()).unwrap_or(1);
                if let Some(grid) = &mut self.grid {
                    grid.cell(span("rowspan"), span("colspan"));
                }
            }
            "pre" => {
                self.is_preformatted = true;
                self.language = language(tag).unwrap_or_default();
            }
            "code" if self.is_preformatted => {
                self.language = language(tag).unwrap_or(std::mem::take(&mut self.language))
            }
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
            "a" => drop(self.links.pop()),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.end_heading(),
            "pre" => self.end_preformatted(),
            _ if is_block(name) => self.flush(),
            _ => {}
        }
        match name {
            "ul" | "ol" | "dl" | "menu" if self.list.end() => self.end_list(),
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
            self.push(PartKind::Heading(level), text.trim_end_matches(is_link_sign).to_owned());
        }
    }

    fn end_preformatted(&mut self) {
        self.is_preformatted = false;
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        if self.list.is_open() {
            self.list.code(&fenced(&self.language, &clean::lines(&text)));
        } else if let Some(grid) = &mut self.grid {
            grid.text(&text);
        } else {
            self.push(PartKind::Code, text);
        }
    }

    /// Two line breaks in a row separate paragraphs.
    fn line_break(&mut self) {
        if self.is_preformatted {
            return self.text.push('\n');
        }
        if self.text.trim_end_matches([' ', '\t', '\n', '\r']).ends_with(LINE_BREAK) {
            return self.flush();
        }
        self.text.push(LINE_BREAK);
    }

    fn end_list(&mut self) {
        let list = self.list.take_text();
        match &mut self.grid {
            Some(grid) if !list.is_empty() => grid.text(&list.replace('\n', " ")),
            _ => self.push(PartKind::Lines, list),
        }
    }

    fn end_table(&mut self) {
        self.list.leave_table();
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
        if self.list.is_open() {
            self.list.paragraph(&clean::prose(&text));
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
            let language = self.language.clone();
            self.parts.push(Part { kind, text, region, linked, language });
        }
    }
}
