//! A table of a page while it is read: a table of data, or one that only arranges text.

use super::part::PartKind;
use crate::read::table::Table;

#[derive(Default)]
pub(super) struct Grid {
    rows: Vec<Vec<String>>,
}

/// A table with a longer cell is not a table of data.
const LONGEST_CELL: usize = 600;

impl Grid {
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn cell(&mut self) {
        if self.rows.is_empty() {
            self.row();
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Adds text to the current cell. A caption or stray text becomes a row.
    pub fn text(&mut self, text: &str) {
        if self.rows.last().is_none_or(Vec::is_empty) {
            self.cell();
        }
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(text.trim());
            cell.push('\n');
        }
    }

    /// Returns lines of data, or the paragraphs that the table arranges.
    pub fn into_parts(self) -> Vec<(PartKind, String)> {
        let columns =
            self.rows.iter().map(|row| row.iter().filter(|cell| !cell.trim().is_empty()).count()).max();
        let is_data = columns.is_some_and(|columns| columns > 1)
            && self.rows.iter().flatten().all(|cell| cell.len() <= LONGEST_CELL);
        if is_data {
            return vec![(PartKind::Lines, self.into_lines())];
        }
        let cells = self.rows.into_iter().flatten();
        cells
            .flat_map(|cell| cell.lines().map(|line| (PartKind::Prose, line.to_owned())).collect::<Vec<_>>())
            .collect()
    }

    fn into_lines(self) -> String {
        let mut table = Table::default();
        for row in self.rows {
            table.row(row);
        }
        table.into_text()
    }
}
