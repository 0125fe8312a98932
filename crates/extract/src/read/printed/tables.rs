//! Tables of a page: puts each cell in its column by where it stands, and joins the lines of cells that are wrapped.

use super::layout::{CELL_GAP, Cell, Line};
use crate::read::table::Table;

/// The share of its column that a cell fills if its text goes on below it.
const FULL: f64 = 0.7;

/// Joins the cells of lines that are no rows: lines of a paragraph that is set to the full width of its column, with few
/// words in them.
pub(super) fn join_stretched(lines: &mut [Line]) {
    for at in 1..lines.len().saturating_sub(1) {
        let [above, line, below] = &mut lines[at - 1..=at + 1] else { continue };
        let is_text = |other: &Line| {
            let step = (other.y - line.y).abs();
            !other.is_row && other.column == line.column && step < 1.6 * line.size
        };
        let is_full = line.x < line.column.0 + line.size && line.right > line.column.1 - line.size;
        // The first line of a paragraph has no other one above it. Below a row stands no text that is as wide.
        let goes_on = is_text(below) && below.right - below.x > 0.6 * (line.column.1 - line.column.0);
        let is_inside = is_text(below) && is_text(above) || goes_on && !above.is_row;
        if line.is_row && line.table == 0 && is_full && is_inside {
            line.text = line.text.replace(CELL_GAP, " ");
            line.is_row = false;
        }
    }
}

/// Joins lines that continue the cells of the row above them with that row.
pub(super) fn join_wrapped(lines: &mut Vec<Line>) {
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines.drain(..) {
        match joined.last_mut().and_then(|row| Some((continued(row, &line)?, row))) {
            Some((columns, row)) => extend(row, line, &columns),
            None => joined.push(line),
        }
    }
    *lines = joined;
}

/// Returns which cells of a row the cells of the line below it continue, if they do: each stands below a cell that
/// had no room for its next word. A line with something in the first column is a row of its own, unless its last cell
/// goes on with a sentence.
fn continued(row: &Line, line: &Line) -> Option<Vec<usize>> {
    let step = row.bottom - line.y;
    let is_near = step > 0.5 * line.size && step < 1.6 * line.size;
    let is_same = (row.size - line.size).abs() < 0.12 * row.size && row.column == line.column;
    if row.table > 0
        || line.table > 0
        || !row.is_row
        || !is_near
        || !is_same
        || line.cells.len() > row.cells.len()
    {
        return None;
    }
    if line.cells.len() == row.cells.len() {
        return goes_on(row, line).then(|| (0..row.cells.len()).collect());
    }
    line.cells.iter().map(|cell| wrapped(row, cell, line.size)).collect()
}

/// Returns whether all cells of a line stand below those of the row, and its last cell continues a sentence.
fn goes_on(row: &Line, line: &Line) -> bool {
    let mut pairs = row.cells.iter().zip(&line.cells);
    let is_below = pairs.all(|(above, below)| (above.x - below.x).abs() < 0.5 * line.size);
    let (Some(above), Some(below)) = (row.cells.last(), line.cells.last()) else { return false };
    is_below
        && row.cells.len() > 1
        && below.text.starts_with(char::is_lowercase)
        && above.text.contains(' ')
        && above.text.starts_with(char::is_uppercase)
        && !above.text.ends_with(['.', ':', ';', '!', '?'])
        && above.right - above.x > FULL * (row.column.1 - above.x)
}

fn wrapped(row: &Line, below: &Cell, size: f64) -> Option<usize> {
    let at = row.cells.iter().position(|cell| (cell.x - below.x).abs() < 0.5 * size).filter(|at| *at > 0)?;
    let above = &row.cells[at];
    let next = row.cells.iter().map(|cell| cell.x).filter(|x| *x > above.x).fold(f64::MAX, f64::min);
    let room = next.min(row.column.1 + 0.5 * size);
    let letters = below.text.chars().count().max(1) as f64;
    let word = below.text.split(' ').next().unwrap_or_default().chars().count() as f64;
    let width = (below.right - below.x) * word / letters;
    // The gap to the next column is at least that of a letter.
    (above.right + width + 0.8 * size > room).then_some(at)
}

fn extend(row: &mut Line, line: Line, columns: &[usize]) {
    row.bottom = line.y;
    for (cell, at) in line.cells.into_iter().zip(columns) {
        let above = &mut row.cells[*at];
        above.text = crate::clean::unwrap([above.text.as_str(), cell.text.as_str()]);
        above.right = above.right.max(cell.right);
    }
    row.text = row.cells.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(CELL_GAP);
}

/// Returns rows as lines of text, with the names of the columns if the first row names them.
pub(super) fn text(rows: &[&Line]) -> String {
    let mut columns = Columns::of(rows);
    let mut table = Table::default();
    for row in rows {
        table.row(columns.cells(row));
    }
    table.into_text()
}

/// The left and right edges of the columns, from the left.
struct Columns(Vec<(f64, f64)>);

impl Columns {
    /// Takes the columns of the first row that has the most cells.
    fn of(rows: &[&Line]) -> Self {
        let most = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let widest = rows.iter().find(|row| row.cells.len() == most);
        let mut columns: Vec<(f64, f64)> =
            widest.into_iter().flat_map(|row| &row.cells).map(|cell| (cell.x, cell.right)).collect();
        // Rows that are read from the right begin with their last column.
        let runs_left = columns.windows(2).any(|pair| pair[0].0 > pair[1].0);
        if runs_left {
            columns.reverse();
        }
        Self(columns)
    }

    /// Returns the cells of a row, one for each column. Columns grow with what stands in them.
    fn cells(&mut self, row: &Line) -> Vec<String> {
        let runs_left = row.cells.windows(2).any(|pair| pair[0].x > pair[1].x);
        let mut cells = vec![String::new(); self.0.len()];
        for cell in &row.cells {
            let column = self.column(cell);
            let Some((edges, text)) = self.0.get_mut(column).zip(cells.get_mut(column)) else { continue };
            *edges = (edges.0.min(cell.x), edges.1.max(cell.right));
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&cell.text);
        }
        if runs_left {
            cells.reverse();
        }
        cells
    }

    /// Returns the column that a cell overlaps the most, or the nearest one.
    fn column(&self, cell: &Cell) -> usize {
        let overlap = |edges: &(f64, f64)| edges.1.min(cell.right) - edges.0.max(cell.x);
        let best = self.0.iter().enumerate().max_by(|one, other| overlap(one.1).total_cmp(&overlap(other.1)));
        best.map_or(0, |(at, _)| at)
    }
}
