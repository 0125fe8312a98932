//! Tables that are drawn with signs: cells between bars, rows between lines of dashes.

use crate::read::table::Table;

/// Returns the rows of a drawn table as lines.
pub(super) fn table(paragraph: &[&str]) -> Option<String> {
    let is_drawn = |line: &&&str| {
        let line = line.trim();
        line.len() > 1 && line.starts_with(['|', '+', '│']) && line.ends_with(['|', '+', '│'])
    };
    let drawn = paragraph.iter().filter(is_drawn).count();
    if paragraph.len() < 3 || drawn * 10 < paragraph.len() * 9 {
        return None;
    }
    let is_border = |line: &str| !line.contains(char::is_alphanumeric);
    // Without borders inside, each line is a row.
    let borders = paragraph.iter().filter(|line| is_border(line)).count();
    let lines_are_rows = borders <= 3;
    let mut table = Table::default();
    let mut row: Vec<String> = Vec::new();
    for line in paragraph {
        if is_border(line) {
            table.row(std::mem::take(&mut row));
            continue;
        }
        let inner = line.trim().trim_start_matches(['|', '│']).trim_end_matches(['|', '│']);
        for (column, cell) in inner.split(['|', '│']).enumerate() {
            match row.get_mut(column) {
                Some(above) => {
                    above.push(' ');
                    above.push_str(cell.trim());
                }
                None => row.push(cell.trim().to_owned()),
            }
        }
        if lines_are_rows {
            table.row(std::mem::take(&mut row));
        }
    }
    table.row(row);
    Some(table.into_text())
}
