//! DOCX: headings and code by their styles, lists, tables, and notes at the end.

mod numbering;
mod styles;

use super::package::Package;
use super::table::Table;
use super::xml::{self, Element, Node};
use crate::document::Builder;
use crate::{ExtractError, Kind, Limits};
use numbering::Numbering;
use styles::Styles;
pub(super) use styles::{heading_level, names_code, names_contents};

const DOCUMENT: &str = "word/document.xml";

pub(super) fn read(bytes: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let mut package = Package::open(bytes, Kind::Docx, limits)?;
    package.properties(builder)?;
    let styles = match package.part("word/styles.xml")? {
        Some(xml) => Styles::read(&xml)?,
        None => Styles::default(),
    };
    let numbering = match package.part("word/numbering.xml")? {
        Some(xml) => Numbering::read(&xml)?,
        None => Numbering::default(),
    };
    let mut body = Body::new(&styles, numbering, builder);
    xml::walk(&package.required(DOCUMENT)?, Kind::Docx, |node| body.node(node))?;
    body.flush()?;
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(xml) = package.part(notes)? {
            xml::walk(&xml, Kind::Docx, |node| body.node(node))?;
            body.flush()?;
        }
    }
    Ok(())
}

/// Reads the text of the body, paragraph by paragraph.
struct Body<'a> {
    styles: &'a Styles,
    builder: &'a mut Builder,
    paragraph: String,
    level: Option<u8>,
    is_item: bool,
    is_code: bool,
    is_contents: bool,
    /// Which list the paragraph is an item of, and how deep.
    number: String,
    indent: usize,
    numbering: Numbering,
    /// The items of the list so far.
    list: String,
    /// The lines of code so far.
    code: String,
    /// Depth of nested tables. Inner tables are text of a cell of the outermost.
    tables: usize,
    table: Table,
    row: Vec<String>,
    cell: String,
    /// Depth of elements to skip: deleted text, and fallbacks that repeat a picture's text.
    skipped: usize,
    in_text: bool,
    /// Whether tabs are stops of the paragraph, and not in its text.
    in_tab_stops: bool,
}

impl<'a> Body<'a> {
    fn new(styles: &'a Styles, numbering: Numbering, builder: &'a mut Builder) -> Self {
        Self {
            styles,
            builder,
            paragraph: String::new(),
            level: None,
            is_item: false,
            is_code: false,
            is_contents: false,
            number: String::new(),
            indent: 0,
            numbering,
            list: String::new(),
            code: String::new(),
            tables: 0,
            table: Table::default(),
            row: Vec::new(),
            cell: String::new(),
            skipped: 0,
            in_text: false,
            in_tab_stops: false,
        }
    }

    fn node(&mut self, node: Node) -> Result<(), ExtractError> {
        match node {
            Node::Open(element) if is_skipped(element.name) => self.skipped += 1,
            Node::Close(name) if is_skipped(name) => self.skipped = self.skipped.saturating_sub(1),
            _ if self.skipped > 0 => {}
            Node::Open(element) => self.open(&element),
            Node::Text(text) if self.in_text => self.paragraph.push_str(text),
            Node::Text(_) => {}
            Node::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    fn open(&mut self, element: &Element) {
        match element.name {
            "t" => self.in_text = true,
            "tabs" => self.in_tab_stops = true,
            "tab" if !self.in_tab_stops => self.paragraph.push('\t'),
            "br" | "cr" => self.paragraph.push('\n'),
            "noBreakHyphen" => self.paragraph.push('-'),
            "pStyle" => {
                let style = element.attribute("val").unwrap_or_default();
                self.level = self.styles.level(&style);
                self.is_code = self.styles.is_code(&style);
                self.is_contents = self.styles.is_contents(&style);
                self.is_item |= style.starts_with("List");
            }
            "outlineLvl" if self.level.is_none() => {
                let level = element.attribute("val").and_then(|level| level.parse::<u8>().ok());
                self.level = level.filter(|level| *level < 9).map(|level| level + 1);
            }
            "numId" => {
                self.number = element.attribute("val").unwrap_or_default();
                self.is_item |= self.number != "0";
            }
            "ilvl" => {
                let level = element.attribute("val").and_then(|level| level.parse::<usize>().ok());
                self.indent = level.unwrap_or(0).min(8);
            }
            "tbl" => self.tables += 1,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "t" => self.in_text = false,
            "tabs" => self.in_tab_stops = false,
            "p" => self.end_paragraph()?,
            "tc" if self.tables == 1 => self.row.push(std::mem::take(&mut self.cell)),
            "tr" if self.tables == 1 => self.table.row(std::mem::take(&mut self.row)),
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.flush()?;
                    self.builder.lines(&std::mem::take(&mut self.table).into_text())?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), ExtractError> {
        let text = std::mem::take(&mut self.paragraph);
        let level = self.level.take();
        let is_item = std::mem::take(&mut self.is_item);
        let is_code = std::mem::take(&mut self.is_code);
        let (number, indent) = (std::mem::take(&mut self.number), std::mem::take(&mut self.indent));
        let is_contents = std::mem::take(&mut self.is_contents);
        if text.trim().is_empty() || is_contents {
            return Ok(());
        }
        if self.tables > 0 {
            self.cell.push_str(&text);
            self.cell.push(' ');
            return Ok(());
        }
        match level {
            Some(0) => {
                self.flush()?;
                self.builder.title(&text);
                self.builder.heading(0, &text)
            }
            Some(level) => {
                self.flush()?;
                self.builder.heading(level, &text)
            }
            None if is_code => {
                self.flush_list()?;
                self.code.push_str(&text);
                self.code.push('\n');
                Ok(())
            }
            None if is_item => {
                self.flush_code()?;
                self.list.push_str(&"  ".repeat(indent));
                self.list.push_str(&self.numbering.mark(&number, indent));
                self.list.push_str(&crate::clean::prose(&text));
                self.list.push('\n');
                Ok(())
            }
            None => {
                self.flush()?;
                self.builder.prose(&text)
            }
        }
    }

    fn flush(&mut self) -> Result<(), ExtractError> {
        self.flush_list()?;
        self.flush_code()
    }

    fn flush_code(&mut self) -> Result<(), ExtractError> {
        self.builder.code("", &std::mem::take(&mut self.code))
    }

    fn flush_list(&mut self) -> Result<(), ExtractError> {
        self.builder.lines(&std::mem::take(&mut self.list))
    }
}

fn is_skipped(name: &str) -> bool {
    matches!(name, "Fallback" | "del" | "instrText" | "delText")
}
