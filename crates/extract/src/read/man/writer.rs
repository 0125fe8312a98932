//! Writes a page to the document: its paragraphs, its items with their terms, its code.

use super::escapes::GLUE;
use crate::document::Builder;
use crate::fence::fenced;
use crate::read::list::List;
use crate::read::table::Table;
use crate::{ExtractError, clean};

pub(super) struct Writer<'b> {
    builder: &'b mut Builder,
    /// The current paragraph. A line feed is a line break.
    text: String,
    list: List,
    /// The code so far, if lines are not joined.
    code: Option<String>,
    /// What the next line is besides text.
    next: Next,
    /// How far text is moved to the right, and how far it was when the list began.
    indent: usize,
    list_indent: usize,
    /// Whether the list ends, unless the paragraph after it is the term of its next item.
    may_end_list: bool,
    /// Whether the terms of the list are lines before text that is moved to the right.
    has_plain_terms: bool,
    /// The address of the open link.
    pub link: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Next {
    Text,
    Heading(u8),
    Term,
    /// Another term of the same item.
    OtherTerm,
}

impl<'b> Writer<'b> {
    pub fn new(builder: &'b mut Builder) -> Self {
        Self {
            builder,
            text: String::new(),
            list: List::default(),
            code: None,
            next: Next::Text,
            indent: 0,
            list_indent: 0,
            may_end_list: false,
            has_plain_terms: false,
            link: String::new(),
        }
    }

    /// Sets the title: "GZIP" in section 1 is "gzip(1)".
    pub fn title(&mut self, name: &str, section: &str) {
        let name = if name.contains(char::is_lowercase) { name.to_owned() } else { name.to_lowercase() };
        self.builder.title(&if section.is_empty() { name } else { format!("{name}({section})") });
    }

    pub fn heading(&mut self, level: u8, text: &str) -> Result<(), ExtractError> {
        self.end_code()?;
        self.end_list()?;
        (self.indent, self.list_indent) = (0, 0);
        if text.is_empty() {
            self.next = Next::Heading(level);
            return Ok(());
        }
        self.builder.heading(level, text)
    }

    /// Adds a line of text, or of whatever was announced before it.
    pub fn text_line(&mut self, line: &str) -> Result<(), ExtractError> {
        match std::mem::replace(&mut self.next, Next::Text) {
            Next::Heading(level) => return self.builder.heading(level, line),
            Next::Term => return self.item(line),
            Next::OtherTerm => {
                self.list.other_term(&clean::prose(line));
                return Ok(());
            }
            Next::Text => {}
        }
        if let Some(code) = &mut self.code {
            code.push_str(line);
            code.push('\n');
            return Ok(());
        }
        if line.trim().is_empty() {
            return self.paragraph(true);
        }
        if self.text.ends_with(GLUE) {
            self.text.pop();
        } else if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push(' ');
        }
        self.text.push_str(line);
        Ok(())
    }

    pub fn line_break(&mut self) -> Result<(), ExtractError> {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        Ok(())
    }

    /// Starts a paragraph. One after a mere gap belongs to the item before it.
    pub fn paragraph(&mut self, is_gap: bool) -> Result<(), ExtractError> {
        if let Some(code) = &mut self.code {
            code.push('\n');
            return Ok(());
        }
        self.end_paragraph()?;
        self.may_end_list |= !is_gap && self.indent <= self.list_indent;
        Ok(())
    }

    /// The next line is the term of an item, or another term of the last one.
    pub fn expect_term(&mut self, is_other: bool) -> Result<(), ExtractError> {
        self.end_code()?;
        if !is_other {
            self.end_paragraph()?;
        }
        self.next = if is_other && self.list.is_open() { Next::OtherTerm } else { Next::Term };
        Ok(())
    }

    /// Starts an item. Without a term, the text belongs to the item before it.
    pub fn item(&mut self, term: &str) -> Result<(), ExtractError> {
        self.end_code()?;
        self.end_paragraph()?;
        let term = clean::prose(term);
        if term.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.may_end_list) {
            self.flush_list()?;
        }
        if !self.list.is_open() {
            self.list_indent = self.indent;
        }
        self.list.set_depth(1 + self.indent.saturating_sub(self.list_indent));
        match term.as_str() {
            "•" | "*" | "-" | "o" | "○" | "–" | "·" | "+" => self.list.marked_item("-"),
            _ if is_number(&term) => self.list.marked_item(&term),
            _ => self.list.term(&term),
        }
        Ok(())
    }

    /// Moves the text to the right. A short line before it is a term that the text explains.
    pub fn indent(&mut self) -> Result<(), ExtractError> {
        let is_beside_items = self.has_plain_terms && self.indent <= self.list_indent;
        if is_term(&self.text) && (self.may_end_list || !self.list.is_open() || is_beside_items) {
            let term = std::mem::take(&mut self.text);
            self.may_end_list = false;
            self.has_plain_terms |= !self.list.is_open();
            self.item(&term)?;
        }
        self.end_paragraph()?;
        self.indent += 1;
        Ok(())
    }

    pub fn outdent(&mut self) -> Result<(), ExtractError> {
        self.end_paragraph()?;
        self.indent = self.indent.saturating_sub(1);
        if self.indent < self.list_indent {
            self.end_list()?;
        }
        Ok(())
    }

    pub fn start_code(&mut self) -> Result<(), ExtractError> {
        if self.code.is_none() {
            self.end_paragraph()?;
            if std::mem::take(&mut self.may_end_list) {
                self.flush_list()?;
            }
            self.code = Some(String::new());
        }
        Ok(())
    }

    pub fn end_code(&mut self) -> Result<(), ExtractError> {
        let code = self.code.take().unwrap_or_default();
        let code = clean::lines(&code);
        match self.list.is_open() {
            _ if code.is_empty() => Ok(()),
            true => {
                self.list.code(&fenced("", &code));
                Ok(())
            }
            false => self.builder.code("", &code),
        }
    }

    /// Adds the rows of a table.
    pub fn lines(&mut self, lines: &str) -> Result<(), ExtractError> {
        self.end_list()?;
        self.builder.lines(lines)
    }

    pub fn finish(mut self) -> Result<(), ExtractError> {
        self.end_code()?;
        self.end_list()
    }

    fn end_list(&mut self) -> Result<(), ExtractError> {
        self.end_paragraph()?;
        self.flush_list()
    }

    fn flush_list(&mut self) -> Result<(), ExtractError> {
        (self.may_end_list, self.has_plain_terms) = (false, false);
        self.list.set_depth(0);
        self.list_indent = self.indent;
        self.builder.lines(&self.list.take_text())
    }

    fn end_paragraph(&mut self) -> Result<(), ExtractError> {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.may_end_list) {
            self.flush_list()?;
        }
        let tabbed = text.lines().filter(|line| line.trim().contains('\t')).count();
        let lines: Vec<String> = match tabbed > 1 {
            true => rows(&text),
            false => text.lines().map(clean::prose).filter(|line| !line.is_empty()).collect(),
        };
        if self.list.is_open() {
            lines.iter().for_each(|line| self.list.paragraph(line));
            return Ok(());
        }
        match lines.as_slice() {
            [line] => self.builder.prose(line),
            lines => self.builder.lines(&lines.join("\n")),
        }
    }
}

/// Returns the rows of a table that is set with tabs.
fn rows(text: &str) -> Vec<String> {
    let mut table = Table::default();
    for line in text.lines().filter(|line| line.contains(char::is_alphanumeric)) {
        table.row(line.split('\t').filter(|cell| !cell.trim().is_empty()).map(str::to_owned).collect());
    }
    table.into_text().lines().map(str::to_owned).collect()
}

/// Returns whether a text is a term: one short line that is no sentence.
fn is_term(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text.chars().count() <= 100
        && !text.contains('\n')
        && !text.ends_with(['.', ':', ';', '!', '?'])
}

fn is_number(term: &str) -> bool {
    let number = term.trim_start_matches('(').trim_end_matches(['.', ')']);
    number.len() < term.len() && number.len() <= 3 && number.parse::<u16>().is_ok()
}
