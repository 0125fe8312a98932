//! OpenDocument spreadsheet: a heading for each sheet, a line for each row.

use super::inline::{self, Hidden};
use crate::document::Builder;
use crate::read::table::Table;
use crate::read::xlsx::plain_number;
use crate::read::xml::{self, Element, Node};
use crate::{Excess, ExtractError, Limits};

pub(super) fn read(xml: &[u8], builder: &mut Builder, limits: &Limits) -> Result<(), ExtractError> {
    let kind = builder.kind();
    let mut reader = SheetReader {
        builder,
        hidden: Hidden::default(),
        table: None,
        row: Vec::new(),
        row_bytes: 0,
        row_repeats: 1,
        blanks: 0,
        cell: Cell::default(),
        cells_left: limits.cells,
        cells: limits.cells,
    };
    xml::walk(xml, kind, |node| reader.node(node))
}

struct SheetReader<'a> {
    builder: &'a mut Builder,
    hidden: Hidden,
    table: Option<Table>,
    row: Vec<String>,
    row_bytes: usize,
    row_repeats: usize,
    /// Empty cells since the last one with a value. A row ends with thousands of them.
    blanks: usize,
    cell: Cell,
    cells_left: usize,
    cells: usize,
}

#[derive(Default)]
struct Cell {
    kind: String,
    /// The value without its format, if it has one.
    value: String,
    text: String,
    in_text: bool,
    repeats: usize,
}

/// The widest sheet that programs allow.
const COLUMNS: usize = 16_384;
/// A row that repeats a cell is not made longer than this.
const LONGEST_REPEATED: usize = 1 << 20;

impl SheetReader<'_> {
    fn node(&mut self, node: Node) -> Result<(), ExtractError> {
        if self.hidden.leaves_out(&node) {
            return Ok(());
        }
        match node {
            Node::Open(element) => self.open(&element)?,
            Node::Text(text) if self.cell.in_text => inline::push(&mut self.cell.text, text),
            Node::Text(_) => {}
            Node::Close(name) => self.close(name)?,
        }
        Ok(())
    }

    fn open(&mut self, element: &Element) -> Result<(), ExtractError> {
        let attribute = |name: &str| element.attribute(name);
        let count = |name: &str| attribute(name).and_then(|count| count.parse().ok()).unwrap_or(1);
        match element.name {
            "table" => {
                self.end_table()?;
                self.builder.heading(1, &attribute("name").unwrap_or_default())?;
                self.table = Some(Table::of_sheet());
            }
            "table-row" => {
                self.row_repeats = count("number-rows-repeated");
                (self.row, self.row_bytes, self.blanks) = (Vec::new(), 0, 0);
            }
            "table-cell" | "covered-table-cell" => {
                let value = ["date-value", "boolean-value", "value"].into_iter().find_map(attribute);
                self.cell = Cell {
                    kind: attribute("value-type").unwrap_or_default(),
                    value: value.unwrap_or_default(),
                    repeats: count("number-columns-repeated"),
                    ..Cell::default()
                };
            }
            "p" => self.cell.in_text = true,
            _ => self.cell.text.push_str(&inline::written(element).unwrap_or_default()),
        }
        Ok(())
    }

    fn close(&mut self, name: &str) -> Result<(), ExtractError> {
        match name {
            "p" => {
                self.cell.in_text = false;
                self.cell.text.push(' ');
            }
            "table-cell" | "covered-table-cell" => self.end_cell()?,
            "table-row" => self.end_row()?,
            "table" => self.end_table()?,
            _ => {}
        }
        Ok(())
    }

    fn end_cell(&mut self) -> Result<(), ExtractError> {
        let cell = std::mem::take(&mut self.cell);
        let value = shown(&cell);
        if value.trim().is_empty() {
            self.blanks = self.blanks.saturating_add(cell.repeats).min(COLUMNS);
            return Ok(());
        }
        let blanks = std::mem::take(&mut self.blanks);
        self.row.resize((self.row.len() + blanks).min(COLUMNS), String::new());
        for _ in 0..cell.repeats.max(1) {
            if self.row.len() >= COLUMNS || self.row_bytes > LONGEST_REPEATED {
                break;
            }
            self.row_bytes += value.len();
            self.row.push(value.clone());
        }
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), ExtractError> {
        let row = std::mem::take(&mut self.row);
        let Some(table) = &mut self.table else { return Ok(()) };
        let filled = row.iter().filter(|cell| !cell.is_empty()).count();
        let repeats = if filled == 0 { 1 } else { self.row_repeats.max(1) };
        for _ in 0..repeats {
            if self.builder.is_full_with(table.text()) {
                break;
            }
            match self.cells_left.checked_sub(filled) {
                Some(left) => self.cells_left = left,
                None => return Err(ExtractError::too_large(self.builder.kind(), Excess::Cells, self.cells)),
            }
            table.row(row.clone());
        }
        Ok(())
    }

    fn end_table(&mut self) -> Result<(), ExtractError> {
        match self.table.take() {
            Some(table) => self.builder.lines(&table.into_text()),
            None => Ok(()),
        }
    }
}

/// Returns the value as the readers of other sheets write it, or the text of the cell.
fn shown(cell: &Cell) -> String {
    match cell.kind.as_str() {
        "float" => match cell.value.parse::<f64>() {
            Ok(number) => plain_number(number),
            Err(_) => cell.text.clone(),
        },
        "date" => match cell.value.split_once('T') {
            Some((date, "00:00:00")) => date.to_owned(),
            Some((date, time)) => format!("{date} {time}"),
            None => cell.value.clone(),
        },
        "boolean" => (if cell.value == "true" { "yes" } else { "no" }).to_owned(),
        _ if cell.text.trim().is_empty() => cell.value.clone(),
        _ => cell.text.clone(),
    }
}
