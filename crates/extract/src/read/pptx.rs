//! PPTX: a page for each slide, with its title as heading, then text, tables and notes.

use super::package::Package;
use super::table::Table;
use super::xml::{self, Element, Node};
use crate::document::Builder;
use crate::{Excess, ExtractError, Kind, Limits};

const PRESENTATION: &str = "ppt/presentation.xml";

pub(super) fn read(bytes: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let mut package = Package::open(bytes, Kind::Pptx, limits)?;
    package.properties(builder)?;
    let relations = package.relations(PRESENTATION)?;
    let mut slides = Vec::new();
    xml::walk(&package.required(PRESENTATION)?, Kind::Pptx, |node| {
        if let Node::Open(element) = node
            && element.name == "sldId"
        {
            // The element has two attributes `id`; the second is the relation.
            slides
                .extend(element.attributes("id").find_map(|id| relations.get(&id)).map(|to| to.path.clone()));
        }
        Ok(())
    })?;
    if slides.len() > limits.pages {
        return Err(ExtractError::too_large(Kind::Pptx, Excess::Slides, limits.pages));
    }
    for (path, number) in slides.iter().zip(1..) {
        builder.page(number);
        slide(&mut package, path, builder)?;
    }
    Ok(())
}

fn slide(package: &mut Package, path: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let Some(shapes) = shapes(package, path)? else { return Ok(()) };
    builder.leave(1)?;
    for title in shapes.done.iter().filter(|shape| shape.role == Role::Title) {
        builder.heading(1, &title.text)?;
    }
    for shape in shapes.done.iter().filter(|shape| shape.role == Role::Text) {
        builder.lines(&shape.text)?;
    }
    for relation in package.relations(path)?.into_values().filter(|relation| relation.kind == "notesSlide") {
        notes(package, &relation.path, builder)?;
    }
    Ok(())
}

fn shapes(package: &mut Package, path: &str) -> Result<Option<Shapes>, ExtractError> {
    let Some(xml) = package.part(path)? else { return Ok(None) };
    let mut shapes = Shapes::default();
    xml::walk(&xml, Kind::Pptx, |node| {
        shapes.node(node);
        Ok(())
    })?;
    Ok(Some(shapes))
}

fn notes(package: &mut Package, path: &str, builder: &mut Builder) -> Result<(), ExtractError> {
    let Some(shapes) = shapes(package, path)? else { return Ok(()) };
    for shape in shapes.done.iter().filter(|shape| shape.is_body) {
        for paragraph in shape.text.lines() {
            builder.prose(paragraph)?;
        }
    }
    Ok(())
}

#[derive(Default, PartialEq, Clone, Copy)]
enum Role {
    Title,
    #[default]
    Text,
    /// Date, footer, slide number.
    Frame,
}

#[derive(Default)]
struct Shape {
    role: Role,
    is_body: bool,
    text: String,
}

/// The shapes of a slide in order.
#[derive(Default)]
struct Shapes {
    done: Vec<Shape>,
    current: Shape,
    in_text: bool,
    table: Option<(Table, Vec<String>)>,
    cell: String,
}

impl Shapes {
    fn node(&mut self, node: Node) {
        match node {
            Node::Open(element) => self.open(&element),
            Node::Text(text) if self.in_text && self.table.is_some() => self.cell.push_str(text),
            Node::Text(text) if self.in_text => self.current.text.push_str(text),
            Node::Text(_) => {}
            Node::Close(name) => self.close(name),
        }
    }

    fn open(&mut self, element: &Element) {
        match element.name {
            "t" => self.in_text = true,
            // Elements called `tab` are stops; tabs themselves are characters of the text.
            "br" => self.current.text.push(' '),
            "ph" => {
                let kind = element.attribute("type").unwrap_or_default();
                self.current.role = match kind.as_str() {
                    "title" | "ctrTitle" => Role::Title,
                    "dt" | "ftr" | "sldNum" | "hdr" => Role::Frame,
                    _ => Role::Text,
                };
                self.current.is_body = kind == "body";
            }
            "tbl" => self.table = Some((Table::default(), Vec::new())),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match (name, &mut self.table) {
            ("t", _) => self.in_text = false,
            ("p", Some(_)) => self.cell.push(' '),
            ("p", None) => self.current.text.push('\n'),
            ("tc", Some((_, row))) => row.push(std::mem::take(&mut self.cell)),
            ("tr", Some((table, row))) => table.row(std::mem::take(row)),
            ("tbl", Some(_)) => {
                let text = self.table.take().map(|(table, _)| table.into_text()).unwrap_or_default();
                self.done.push(Shape { text, ..Shape::default() });
            }
            ("sp", None) => self.done.push(std::mem::take(&mut self.current)),
            _ => {}
        }
    }
}
