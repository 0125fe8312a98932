//! Tables: cells between `&`, rows between `\\`.

use super::commands::plain;
use super::scan::{Scan, without_comments};
use crate::read::table::Table;

/// Returns the rows of a table's environment as lines.
pub(super) fn read(body: &str) -> String {
    let body = without_comments(body);
    let mut scan = Scan::new(&body);
    scan.option();
    // A width may stand before the format of the columns.
    let first = scan.argument().unwrap_or_default();
    if first.contains("width") || first.contains(|c: char| c.is_ascii_digit()) && !first.contains(['{', '*'])
    {
        scan.argument();
    }
    let rows = scan.rest();
    let mut table = Table::default();
    for row in rows.split("\\\\") {
        table.row(cells(row).iter().map(|cell| plain(cell)).collect());
    }
    table.into_text()
}

/// Splits a row at each `&` that is not written as `\&`.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in row.chars() {
        match (c, cells.last_mut()) {
            ('&', _) if !escaped => cells.push(String::new()),
            (_, Some(cell)) => cell.push(c),
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    cells.into_iter().map(|cell| spanning(&cell)).collect()
}

/// Returns the text of `\multicolumn{2}{c}{text}`.
fn spanning(cell: &str) -> String {
    let Some((_, rest)) = cell.split_once("\\multicolumn") else { return cell.to_owned() };
    let mut scan = Scan::new(rest);
    let text = (0..3).map(|_| scan.argument()).last().flatten();
    text.unwrap_or(cell).to_owned()
}
