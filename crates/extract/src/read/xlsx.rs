//! XLSX: a heading for each sheet, a line for each row, and values as the sheet shows them.

mod values;

use super::package::{Package, Relation};
use super::table::Table;
use super::xml::{self, Element, Node};
use crate::document::Builder;
use crate::{Excess, ExtractError, Kind, Limits};
use std::collections::BTreeMap;
use values::Values;
pub(super) use values::plain_number;

const WORKBOOK: &str = "xl/workbook.xml";

pub(super) fn read(bytes: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let mut package = Package::open(bytes, Kind::Xlsx, limits)?;
    package.properties(builder)?;
    let relations = package.relations(WORKBOOK)?;
    let (sheets, counts_from_1904) = sheets(&package.required(WORKBOOK)?, &relations)?;
    let values = Values::read(&mut package, &relations, counts_from_1904)?;
    let mut cells_left = limits.cells;
    for (name, path) in sheets {
        let Some(xml) = package.part(&path)? else { continue };
        builder.heading(1, &name)?;
        let text = sheet(&xml, &values, &mut cells_left, builder).and_then(|text| {
            text.ok_or_else(|| ExtractError::too_large(Kind::Xlsx, Excess::Cells, limits.cells))
        })?;
        builder.lines(&text)?;
    }
    Ok(())
}

/// Name and part of each sheet, and whether dates count from 1904.
type Sheets = (Vec<(String, String)>, bool);

fn sheets(xml: &[u8], relations: &BTreeMap<String, Relation>) -> Result<Sheets, ExtractError> {
    let mut sheets = Vec::new();
    let mut from_1904 = false;
    xml::walk(xml, Kind::Xlsx, |node| {
        let Node::Open(element) = node else { return Ok(()) };
        match element.name {
            "sheet" => {
                let relation = element.attribute("id").and_then(|id| relations.get(&id));
                let relation = relation.filter(|relation| relation.kind == "worksheet");
                sheets.extend(
                    relation.map(|to| (element.attribute("name").unwrap_or_default(), to.path.clone())),
                );
            }
            "workbookPr" => {
                from_1904 = matches!(element.attribute("date1904").as_deref(), Some("1" | "true"))
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok((sheets, from_1904))
}

/// Returns the rows of a sheet as lines, or `None` if it has more cells than are left.
fn sheet(
    xml: &[u8],
    values: &Values,
    cells_left: &mut usize,
    builder: &Builder,
) -> Result<Option<String>, ExtractError> {
    let mut reader = SheetReader { values, table: Table::of_sheet(), row: Vec::new(), cell: Cell::default() };
    let mut is_too_large = false;
    xml::walk(xml, Kind::Xlsx, |node| {
        if matches!(node, Node::Close("c")) {
            is_too_large |= *cells_left == 0;
            *cells_left = cells_left.saturating_sub(1);
        }
        if !is_too_large && !builder.is_full_with(reader.table.text()) {
            reader.node(node);
        }
        Ok(())
    })?;
    Ok((!is_too_large).then(|| reader.table.into_text()))
}

struct SheetReader<'a> {
    values: &'a Values,
    table: Table,
    row: Vec<String>,
    cell: Cell,
}

#[derive(Default)]
struct Cell {
    column: Option<usize>,
    kind: String,
    style: usize,
    value: String,
    in_value: bool,
}

/// The widest sheet that the format allows, so that one cell far to the right does not make a row of millions.
const COLUMNS: usize = 16_384;

impl SheetReader<'_> {
    fn node(&mut self, node: Node) {
        match node {
            Node::Open(element) => self.open(&element),
            Node::Text(text) if self.cell.in_value => self.cell.value.push_str(text),
            Node::Text(_) => {}
            Node::Close("v" | "t") => self.cell.in_value = false,
            Node::Close("c") => self.end_cell(),
            Node::Close("row") => self.table.row(std::mem::take(&mut self.row)),
            Node::Close(_) => {}
        }
    }

    fn open(&mut self, element: &Element) {
        match element.name {
            "c" => {
                self.cell = Cell {
                    column: element.attribute("r").and_then(|place| column(&place)),
                    kind: element.attribute("t").unwrap_or_default(),
                    style: element.attribute("s").and_then(|style| style.parse().ok()).unwrap_or(0),
                    ..Cell::default()
                }
            }
            "v" | "t" => self.cell.in_value = true,
            // Phonetic guides repeat the text.
            "rPh" => self.cell.in_value = false,
            _ => {}
        }
    }

    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        let value = self.values.shown(&cell.kind, cell.style, cell.value);
        let column = cell.column.unwrap_or(self.row.len()).min(COLUMNS);
        if value.is_empty() || column < self.row.len() {
            return;
        }
        self.row.resize(column, String::new());
        self.row.push(value);
    }
}

/// Returns the column of a cell reference: "C7" is in column 2.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let column =
        letters.fold(0, |column, letter| column * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    column.checked_sub(1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_have_letters() {
        assert_eq!(
            ["A1", "Z9", "AA10", "XFD1", "12"].map(super::column),
            [Some(0), Some(25), Some(26), Some(16383), None]
        );
    }
}
