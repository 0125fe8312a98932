//! A table of a page while it is read: a table of data, or one that only arranges text.

use super::part::PartKind;
use crate::read::table::Table;

#[derive(Default)]
pub(super) struct Grid {
    rows: Vec<Vec<Cell>>,
}

#[derive(Default)]
struct Cell {
    text: String,
    /// How many rows and columns it covers.
    rows: usize,
    columns: usize,
}

/// A table with a longer cell, or with longer cells on average, is not a table of data.
const LONGEST_CELL: usize = 3000;
const LONGEST_MEAN: usize = 500;
/// A cell that covers more is repeated only so often.
const MOST_ROWS: usize = 200;
const MOST_COLUMNS: usize = 20;
/// A longer cell is not repeated.
const LONGEST_REPEATED: usize = 200;
/// The most cells to which those that cover several may grow.
const MOST_CELLS: usize = 100_000;

impl Grid {
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn cell(&mut self, rows: usize, columns: usize) {
        if self.rows.is_empty() {
            self.row();
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(Cell {
                text: String::new(),
                rows: rows.clamp(1, MOST_ROWS),
                columns: columns.clamp(1, MOST_COLUMNS),
            });
        }
    }

    /// Adds text to the current cell. A caption or stray text becomes a row.
    pub fn text(&mut self, text: &str) {
        if self.rows.last().is_none_or(Vec::is_empty) {
            self.cell(1, 1);
        }
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.text.push_str(text.trim());
            cell.text.push('\n');
        }
    }

    /// Returns lines of data, or the paragraphs that the table arranges.
    pub fn into_parts(self) -> Vec<(PartKind, String)> {
        let is_filled = |cell: &&Cell| !cell.text.trim().is_empty();
        let columns = self.rows.iter().map(|row| row.iter().filter(is_filled).count()).max();
        let lengths: Vec<usize> =
            self.rows.iter().flatten().filter(is_filled).map(|cell| cell.text.len()).collect();
        let is_data = columns.is_some_and(|columns| columns > 1)
            && lengths.iter().all(|length| *length <= LONGEST_CELL)
            && lengths.iter().sum::<usize>() <= lengths.len() * LONGEST_MEAN;
        if is_data {
            return vec![(PartKind::Lines, self.into_lines())];
        }
        let cells = self.rows.into_iter().flatten();
        cells
            .flat_map(|cell| {
                cell.text.lines().map(|line| (PartKind::Prose, line.to_owned())).collect::<Vec<_>>()
            })
            .collect()
    }

    fn into_lines(self) -> String {
        let mut table = Table::default();
        for row in self.spread() {
            table.row(row);
        }
        table.into_text()
    }

    /// Repeats the text of cells that cover several rows, and leaves room beside those that cover several columns, so
    /// that every cell is in its column.
    fn spread(self) -> Vec<Vec<String>> {
        let mut left = MOST_CELLS;
        // For each column, what covers it from above and for how many rows.
        let mut above: Vec<(String, usize)> = Vec::new();
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            let mut spread: Vec<String> = Vec::with_capacity(row.len());
            for cell in row {
                take_from_above(&mut above, &mut spread, &mut left);
                for column in 0..cell.columns.min(1 + left) {
                    let text = if column == 0 { cell.text.clone() } else { String::new() };
                    if cell.rows > 1 && cell.text.len() <= LONGEST_REPEATED {
                        above.resize(above.len().max(spread.len() + 1), (String::new(), 0));
                        above[spread.len()] = (text.clone(), cell.rows - 1);
                    }
                    spread.push(text);
                    left = left.saturating_sub(usize::from(column > 0));
                }
            }
            take_from_above(&mut above, &mut spread, &mut left);
            rows.push(spread);
        }
        rows
    }
}

fn take_from_above(above: &mut [(String, usize)], row: &mut Vec<String>, left: &mut usize) {
    while let Some((text, rows)) = above.get_mut(row.len()).filter(|(_, rows)| *rows > 0 && *left > 0) {
        *rows -= 1;
        *left -= 1;
        row.push(text.clone());
    }
}
