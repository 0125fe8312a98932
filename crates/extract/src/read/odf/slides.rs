//! OpenDocument presentation: a page for each slide, with its title as heading, then text, tables and notes.

use super::inline::{self, Hidden};
use crate::document::Builder;
use crate::read::table::Table;
use crate::read::xml::{self, Element, Node};
use crate::{Excess, ExtractError, Limits};

pub(super) fn read(xml: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let kind = builder.kind();
    let mut slides = Slides { builder, hidden: Hidden::default(), number: 0, slide: Slide::default() };
    xml::walk(xml, kind, |node| {
        slides.node(node)?;
        match slides.number as usize > limits.pages {
            true => Err(ExtractError::too_large(kind, Excess::Slides, limits.pages)),
            false => Ok(()),
        }
    })
}

struct Slides<'a> {
    builder: &'a mut Builder,
    hidden: Hidden,
    /// Of the current slide, from 1.
    number: u32,
    slide: Slide,
}

/// What is read of the current slide.
#[derive(Default)]
struct Slide {
    is_open: bool,
    titles: Vec<String>,
    shapes: Vec<String>,
    notes: Vec<String>,
    in_notes: bool,
    role: Role,
    /// The paragraphs of the current shape, one on each line.
    text: String,
    /// Depth of nested lists in the shape.
    lists: usize,
    in_text: bool,
    table: Option<(Table, Vec<String>)>,
}

#[derive(Default, PartialEq, Clone, Copy)]
enum Role {
    Title,
    #[default]
    Text,
    /// Date, footer, slide number.
    Frame,
}

impl Slides<'_> {
    fn node(&mut self, node: Node) -> Result<(), ExtractError> {
        if self.hidden.leaves_out(&node) {
            return Ok(());
        }
        match node {
            Node::Open(element) => self.open(&element)?,
            Node::Text(text) if self.slide.in_text => inline::push(&mut self.slide.text, text),
            Node::Text(_) => {}
            Node::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    fn open(&mut self, element: &Element) -> Result<(), ExtractError> {
        if element.name == "page" {
            self.end_slide()?;
            self.number += 1;
            self.slide.is_open = true;
        } else {
            self.slide.open(element);
        }
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "page" => self.end_slide(),
            _ => {
                self.slide.close(name);
                Ok(())
            }
        }
    }

    fn end_slide(&mut self) -> Result<(), ExtractError> {
        let mut slide = std::mem::take(&mut self.slide);
        if !slide.is_open {
            return Ok(());
        }
        slide.end_shape();
        self.builder.page(self.number);
        self.builder.leave(1)?;
        slide.titles.iter().try_for_each(|title| self.builder.heading(1, title))?;
        slide.shapes.iter().try_for_each(|text| self.builder.lines(text))?;
        slide.notes.iter().flat_map(|note| note.lines()).try_for_each(|note| self.builder.prose(note))
    }
}

/// Deeper lists are not indented further.
const DEEPEST: usize = 8;

impl Slide {
    fn open(&mut self, element: &Element) {
        match element.name {
            "notes" => {
                self.end_shape();
                self.in_notes = true;
            }
            name if is_shape(name) => {
                self.end_shape();
                self.role = match element.attribute("class").as_deref() {
                    Some("title") => Role::Title,
                    Some("date-time" | "footer" | "header" | "page-number" | "page") => Role::Frame,
                    _ => Role::Text,
                };
            }
            "list" => self.lists += 1,
            "p" => {
                self.in_text = true;
                let depth = self.lists.saturating_sub(1).min(DEEPEST);
                self.text.push_str(&"  ".repeat(depth));
            }
            "table" => self.table = Some((Table::default(), Vec::new())),
            _ => {
                // A break within a paragraph begins no other one.
                let written = inline::written(element).unwrap_or_default();
                self.text.push_str(&written.replace('\n', " "));
            }
        }
    }

    fn close(&mut self, name: &str) {
        match (name, &mut self.table) {
            ("p", _) => {
                self.in_text = false;
                self.text.push('\n');
            }
            ("list", _) => self.lists = self.lists.saturating_sub(1),
            ("table-cell" | "covered-table-cell", Some((_, row))) => row.push(std::mem::take(&mut self.text)),
            ("table-row", Some((table, row))) => table.row(std::mem::take(row)),
            ("table", Some(_)) => {
                let text = self.table.take().map(|(table, _)| table.into_text()).unwrap_or_default();
                self.shapes.push(text);
            }
            ("notes", _) => {
                self.end_shape();
                self.in_notes = false;
            }
            (name, None) if is_shape(name) => self.end_shape(),
            _ => {}
        }
    }

    fn end_shape(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.role {
            Role::Frame => {}
            _ if self.in_notes => self.notes.push(text),
            Role::Title => self.titles.push(text),
            Role::Text => self.shapes.push(text),
        }
        self.role = Role::Text;
    }
}

fn is_shape(name: &str) -> bool {
    matches!(
        name,
        "frame"
            | "custom-shape"
            | "rect"
            | "ellipse"
            | "circle"
            | "line"
            | "connector"
            | "path"
            | "polygon"
            | "caption"
    )
}
