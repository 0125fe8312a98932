//! OpenDocument text: headings, lists, tables, code, and each note after the paragraph that it belongs to.

use std::collections::BTreeMap;

use super::inline::{self, Hidden};
use super::styles::Styles;
use crate::document::Builder;
use crate::read::list::List;
use crate::read::table::Table;
use crate::read::xml::{self, Element, Node};
use crate::{ExtractError, clean};

pub(super) fn read(xml: &[u8], styles: &Styles, builder: &mut Builder) -> Result<(), ExtractError> {
    let kind = builder.kind();
    let mut body = Body::new(styles, builder);
    xml::walk(xml, kind, |node| body.node(node))?;
    body.flush()
}

const CONTENTS_HEADING: &str = "Contents_20_Heading";

struct Body<'a> {
    styles: &'a Styles,
    builder: &'a mut Builder,
    hidden: Hidden,
    /// The open paragraphs: notes and frames are inside the paragraph that they belong to.
    paragraphs: Vec<Paragraph>,
    /// Depth of notes.
    notes: usize,
    /// The notes of the current paragraph, list or table.
    note_texts: Vec<String>,
    list: List,
    numbering: Numbering,
    /// The lines of code so far.
    code: String,
    /// Depth of nested tables. Inner tables are text of a cell of the outermost.
    tables: usize,
    table: Table,
    row: Vec<String>,
    cell: String,
}

#[derive(Default)]
struct Paragraph {
    text: String,
    style: String,
    level: Option<u8>,
}

/// Which list is open, and its numbers.
#[derive(Default)]
struct Numbering {
    style: String,
    /// The number of the current item of each open list; none if it is not numbered.
    numbers: Vec<Option<u64>>,
    /// The last number of each list style, for lists that continue an earlier one.
    last: BTreeMap<String, u64>,
    /// Whether an item was opened that has no text yet.
    is_item_due: bool,
}

impl<'a> Body<'a> {
    fn new(styles: &'a Styles, builder: &'a mut Builder) -> Self {
        Self {
            styles,
            builder,
            hidden: Hidden::default(),
            paragraphs: Vec::new(),
            notes: 0,
            note_texts: Vec::new(),
            list: List::default(),
            numbering: Numbering::default(),
            code: String::new(),
            tables: 0,
            table: Table::default(),
            row: Vec::new(),
            cell: String::new(),
        }
    }

    fn node(&mut self, node: Node) -> Result<(), ExtractError> {
        if self.hidden.leaves_out(&node) {
            return Ok(());
        }
        match node {
            Node::Open(element) => self.open(&element),
            Node::Text(text) => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    inline::push(&mut paragraph.text, text);
                }
            }
            Node::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    fn open(&mut self, element: &Element) {
        let attribute = |name: &str| element.attribute(name).unwrap_or_default();
        match element.name {
            "h" => {
                let level = attribute("outline-level").parse().unwrap_or(1);
                let style = attribute("style-name");
                self.paragraphs.push(Paragraph { text: String::new(), style, level: Some(level) });
            }
            "p" => {
                let style = attribute("style-name");
                let level = self.styles.level(&style);
                self.paragraphs.push(Paragraph { text: String::new(), style, level });
            }
            "note" => self.notes += 1,
            "table" => self.tables += 1,
            "list" if self.is_in_body() => self.start_list(element),
            "list-item" if self.is_in_body() => {
                self.numbering.is_item_due = true;
                if let Ok(number) = attribute("start-value").parse() {
                    self.list.end();
                    self.list.start(Some(number));
                    self.numbering.set(number);
                }
            }
            _ => {
                if let (Some(text), Some(paragraph)) = (inline::written(element), self.paragraphs.last_mut())
                {
                    paragraph.text.push_str(&text);
                }
            }
        }
    }

    /// Returns whether lists are lists here. In cells and notes they are text.
    fn is_in_body(&self) -> bool {
        self.tables == 0 && self.notes == 0
    }

    fn start_list(&mut self, element: &Element) {
        let depth = self.numbering.numbers.len() + 1;
        if let Some(style) = element.attribute("style-name") {
            self.numbering.style = style;
        } else if depth == 1 {
            self.numbering.style.clear();
        }
        let continues = element.attribute("continue-numbering").is_some_and(|value| value == "true")
            || element.attribute("continue-list").is_some();
        let first = self.styles.first_number(&self.numbering.style, depth);
        let last = self.numbering.last.get(&self.numbering.style).copied();
        let first = match (first, last) {
            (Some(_), Some(last)) if continues && depth == 1 => Some(last.saturating_add(1)),
            _ => first,
        };
        self.list.start(first);
        self.numbering.numbers.push(first);
        self.numbering.is_item_due = false;
    }

    fn close(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "p" | "h" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.end_paragraph(paragraph)?;
                }
            }
            "note" => self.notes = self.notes.saturating_sub(1),
            "list-item" if self.is_in_body() => self.numbering.is_item_due = false,
            "list" if self.is_in_body() => {
                self.numbering.end();
                if self.list.end() {
                    self.flush()?;
                }
            }
            "table-cell" | "covered-table-cell" if self.tables == 1 => {
                self.row.push(std::mem::take(&mut self.cell));
            }
            "table-row" if self.tables == 1 => self.table.row(std::mem::take(&mut self.row)),
            "table" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.flush()?;
                    self.builder.lines(&std::mem::take(&mut self.table).into_text())?;
                    self.flush_notes()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self, paragraph: Paragraph) -> Result<(), ExtractError> {
        let Paragraph { text, style, level } = paragraph;
        if self.notes > 0 {
            self.note_texts.push(text);
            return Ok(());
        }
        // The heading of a list of contents, which is left out.
        if style == CONTENTS_HEADING {
            return Ok(());
        }
        let is_code = self.styles.is_code(&style);
        if text.trim().is_empty() {
            if is_code && !self.code.is_empty() {
                self.code.push('\n');
            }
            return Ok(());
        }
        if self.tables > 0 {
            self.cell.push_str(&text);
            self.cell.push(' ');
            return Ok(());
        }
        match level {
            Some(level) => {
                self.flush()?;
                if level == 0 {
                    self.builder.title(&text);
                }
                self.builder.heading(level, &text)?;
                self.flush_notes()
            }
            None if self.list.is_open() => {
                self.flush_code()?;
                self.item(&style);
                self.list.paragraph(&clean::prose(&text));
                Ok(())
            }
            None if is_code => {
                self.code.push_str(&text);
                self.code.push('\n');
                Ok(())
            }
            None => {
                self.flush_code()?;
                self.builder.prose(&text)?;
                self.flush_notes()
            }
        }
    }

    /// Writes the mark of an item before its first paragraph.
    fn item(&mut self, style: &str) {
        if !std::mem::take(&mut self.numbering.is_item_due) {
            return;
        }
        // A list without a style has that of its paragraphs.
        let level = self.numbering.numbers.len();
        let first = self.styles.first_number(self.styles.list_of(style), level);
        if let (true, Some(None), Some(first)) =
            (self.numbering.style.is_empty(), self.numbering.numbers.last(), first)
        {
            self.list.end();
            self.list.start(Some(first));
            self.numbering.set(first);
        }
        self.list.item();
        self.numbering.count();
    }

    fn flush(&mut self) -> Result<(), ExtractError> {
        self.builder.lines(&self.list.take_text())?;
        self.flush_code()?;
        self.flush_notes()
    }

    fn flush_code(&mut self) -> Result<(), ExtractError> {
        self.builder.code("", &std::mem::take(&mut self.code))
    }

    fn flush_notes(&mut self) -> Result<(), ExtractError> {
        std::mem::take(&mut self.note_texts).iter().try_for_each(|note| self.builder.prose(note))
    }
}

impl Numbering {
    /// Sets the number of the next item.
    fn set(&mut self, number: u64) {
        if let Some(last) = self.numbers.last_mut() {
            *last = Some(number);
        }
    }

    fn count(&mut self) {
        let next = self.numbers.last_mut().and_then(Option::as_mut);
        let Some(next) = next else { return };
        let number = *next;
        *next = next.saturating_add(1);
        if self.numbers.len() == 1 {
            self.last.insert(self.style.clone(), number);
        }
    }

    fn end(&mut self) {
        self.numbers.pop();
        self.is_item_due = false;
    }
}
