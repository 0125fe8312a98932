//! Tables as text: each row becomes a line with the names of its columns, so that it can be read alone.

/// Takes rows one by one, so that a table is never held as cells.
#[derive(Default)]
pub(crate) struct Table {
    header: Option<Vec<String>>,
    /// The first row with several cells, held until the next one shows whether it names the columns.
    first: Option<Vec<String>>,
    text: String,
}

impl Table {
    pub fn row(&mut self, cells: Vec<String>) {
        let cells: Vec<String> = cells.iter().map(|cell| crate::clean::prose(cell)).collect();
        let filled = cells.iter().filter(|cell| !cell.is_empty()).count();
        if filled == 0 {
            return;
        }
        if self.header.is_some() {
            return self.line(&cells);
        }
        match self.first.take() {
            // A single cell above the table is its caption.
            None if filled == 1 && self.text.len() < 1000 => self.line(&cells),
            None => self.first = Some(cells),
            Some(first) if names_columns(&first, &cells) => {
                self.header = Some(first);
                self.line(&cells);
            }
            Some(first) => {
                self.header = Some(Vec::new());
                self.line(&first);
                self.line(&cells);
            }
        }
    }

    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_text(mut self) -> String {
        if let Some(first) = self.first.take() {
            self.line(&first);
        }
        self.text
    }

    fn line(&mut self, cells: &[String]) {
        let header = self.header.as_deref().unwrap_or_default();
        let separator = if header.is_empty() { " | " } else { "; " };
        let mut written = false;
        for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            if std::mem::replace(&mut written, true) {
                self.text.push_str(separator);
            }
            if let Some(name) = header.get(column).filter(|name| !name.is_empty()) {
                self.text.push_str(name);
                self.text.push_str(if name.ends_with(':') { " " } else { ": " });
            }
            self.text.push_str(cell);
        }
        self.text.push('\n');
    }
}

/// Returns whether the first row names the columns: short cells with letters, all filled (except the first) and all
/// different. A first cell that ends in a colon names its row instead.
fn names_columns(first: &[String], next: &[String]) -> bool {
    let width = first.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
    let names = &first[..width];
    let is_name = |cell: &String| {
        let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
        cell.chars().count() <= 60 && letters > 0 && !cell.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_distinct = |(at, cell): (usize, &String)| !names[..at].contains(cell);
    (2..=256).contains(&width)
        && next.len() <= first.len()
        && !names[0].ends_with(':')
        && names.iter().skip(usize::from(names[0].is_empty())).all(is_name)
        && names.iter().enumerate().all(is_distinct)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[&str], expected: &[&str]) {
        let mut table = Table::default();
        for row in rows {
            table.row(row.split('|').map(str::to_owned).collect());
        }
        assert_eq!(table.into_text().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rows_carry_the_names_of_their_columns() {
        check(&["Name|Speed", "P-204|3000", "|12"], &["Name: P-204; Speed: 3000", "Speed: 12"]);
        check(&["|Name|Speed", "0|P-204|3000"], &["0; Name: P-204; Speed: 3000"]);
        check(&["Pumps of 2024", "Name|Speed", "P-204|3000"], &["Pumps of 2024", "Name: P-204; Speed: 3000"]);
    }

    #[test]
    fn a_first_row_of_values_names_nothing() {
        check(&["1|2", "3|4"], &["1 | 2", "3 | 4"]);
        check(&["Speed:|3000", "Oil:|12"], &["Speed: | 3000", "Oil: | 12"]);
        check(&["only|row"], &["only | row"]);
    }
}
