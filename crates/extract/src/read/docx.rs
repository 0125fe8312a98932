//! DOCX: headings by their styles, lists, tables, and notes at the end.

use std::collections::BTreeMap;

use super::package::Package;
use super::table::Table;
use super::xml::{self, Element, Node};
use crate::document::Builder;
use crate::{ExtractError, Kind, Limits};

const DOCUMENT: &str = "word/document.xml";

pub(super) fn read(bytes: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let mut package = Package::open(bytes, Kind::Docx, limits)?;
    package.properties(builder)?;
    let styles = match package.part("word/styles.xml")? {
        Some(xml) => styles(&xml)?,
        None => Styles::new(),
    };
    let mut body = Body::new(&styles, builder);
    xml::walk(&package.required(DOCUMENT)?, Kind::Docx, |node| body.node(node))?;
    body.flush_list()?;
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(xml) = package.part(notes)? {
            xml::walk(&xml, Kind::Docx, |node| body.node(node))?;
            body.flush_list()?;
        }
    }
    Ok(())
}

/// Heading level by style. Level 0 is the document's title.
type Styles = BTreeMap<String, u8>;

fn styles(xml: &[u8]) -> Result<Styles, ExtractError> {
    let mut styles = Styles::new();
    let mut parents: Vec<(String, String)> = Vec::new();
    let mut current = String::new();
    xml::walk(xml, Kind::Docx, |node| {
        let Node::Open(element) = node else { return Ok(()) };
        let value = || element.attribute("val").unwrap_or_default();
        match element.name {
            "style" => current = element.attribute("styleId").unwrap_or_default(),
            "name" => drop(heading_level(&value()).map(|level| styles.insert(current.clone(), level))),
            "outlineLvl" => {
                if let Ok(level @ 0..=8) = value().parse::<u8>() {
                    styles.entry(current.clone()).or_insert(level + 1);
                }
            }
            "basedOn" => parents.push((current.clone(), value())),
            _ => {}
        }
        Ok(())
    })?;
    for (style, parent) in parents {
        if let (false, Some(level)) = (styles.contains_key(&style), styles.get(&parent).copied()) {
            styles.insert(style, level);
        }
    }
    Ok(styles)
}

fn heading_level(style: &str) -> Option<u8> {
    let style = style.to_lowercase();
    if style == "title" {
        return Some(0);
    }
    style.strip_prefix("heading")?.trim().parse().ok().filter(|level| (1..=9).contains(level))
}

/// Reads the text of the body, paragraph by paragraph.
struct Body<'a> {
    styles: &'a Styles,
    builder: &'a mut Builder,
    paragraph: String,
    level: Option<u8>,
    is_item: bool,
    indent: usize,
    /// The items of the list so far.
    list: String,
    /// Depth of nested tables. Inner tables are text of a cell of the outermost.
    tables: usize,
    table: Table,
    row: Vec<String>,
    cell: String,
    /// Depth of elements to skip: deleted text, and fallbacks that repeat a picture's text.
    skipped: usize,
    in_text: bool,
}

impl<'a> Body<'a> {
    fn new(styles: &'a Styles, builder: &'a mut Builder) -> Self {
        Self {
            styles,
            builder,
            paragraph: String::new(),
            level: None,
            is_item: false,
            indent: 0,
            list: String::new(),
            tables: 0,
            table: Table::default(),
            row: Vec::new(),
            cell: String::new(),
            skipped: 0,
            in_text: false,
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
            "tab" | "br" | "cr" => self.paragraph.push(' '),
            "noBreakHyphen" => self.paragraph.push('-'),
            "pStyle" => {
                let style = element.attribute("val").unwrap_or_default();
                self.level = self.styles.get(&style).copied().or_else(|| heading_level(&style));
                self.is_item |= style.starts_with("List");
            }
            "outlineLvl" if self.level.is_none() => {
                let level = element.attribute("val").and_then(|level| level.parse::<u8>().ok());
                self.level = level.filter(|level| *level < 9).map(|level| level + 1);
            }
            "numId" => self.is_item |= element.attribute("val").is_some_and(|id| id != "0"),
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
            "p" => self.end_paragraph()?,
            "tc" if self.tables == 1 => self.row.push(std::mem::take(&mut self.cell)),
            "tr" if self.tables == 1 => self.table.row(std::mem::take(&mut self.row)),
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.flush_list()?;
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
        let indent = std::mem::take(&mut self.indent);
        if text.trim().is_empty() {
            return Ok(());
        }
        if self.tables > 0 {
            self.cell.push_str(&text);
            self.cell.push(' ');
            return Ok(());
        }
        match level {
            Some(0) => {
                self.flush_list()?;
                self.builder.title(&text);
                self.builder.heading(0, &text)
            }
            Some(level) => {
                self.flush_list()?;
                self.builder.heading(level, &text)
            }
            None if is_item => {
                self.list.push_str(&"  ".repeat(indent));
                self.list.push_str("- ");
                self.list.push_str(&crate::clean::prose(&text));
                self.list.push('\n');
                Ok(())
            }
            None => {
                self.flush_list()?;
                self.builder.prose(&text)
            }
        }
    }

    fn flush_list(&mut self) -> Result<(), ExtractError> {
        self.builder.lines(&std::mem::take(&mut self.list))
    }
}

fn is_skipped(name: &str) -> bool {
    matches!(name, "Fallback" | "del" | "instrText" | "delText")
}
