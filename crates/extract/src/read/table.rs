//! Tables as text: each row becomes a line with the names of its columns, so that it can be read alone. A row that is
//! too long becomes several lines, each with the row's key.

use words::sentences;

/// Takes rows one by one, so that a table is never held as cells.
#[derive(Default)]
pub(crate) struct Table {
    header: Option<Vec<String>>,
    /// The first row with several cells, held until the next one shows whether it names the columns.
    first: Option<Vec<String>>,
    text: String,
    /// Whether several tables may stand one below the other, as in a sheet.
    is_sheet: bool,
    /// The first rows below the header of a sheet, held until it is clear that the header is one.
    held: Vec<Vec<String>>,
    after_blank: bool,
}

/// Rows of a sheet that are held. A header that was none is known by a wider row among them.
const MOST_HELD: usize = 40;

/// Characters of a line. A longer row might not fit into a passage and would be split without its key.
const LONGEST_LINE: usize = 400;
/// A longer first cell is not a key.
const LONGEST_KEY: usize = 120;
const LONGEST_CODE: usize = 3;
/// In columns.
const MOST_IN_KEY: usize = 3;

impl Table {
    /// Returns a table whose columns have these names.
    pub fn with_header(header: Vec<String>) -> Self {
        let header = header.iter().map(|name| crate::clean::prose(name)).collect();
        Self { header: Some(header), ..Self::default() }
    }

    /// Returns a table that may hold several, below one another.
    pub fn of_sheet() -> Self {
        Self { is_sheet: true, ..Self::default() }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        let cells: Vec<String> = cells.iter().map(|cell| crate::clean::prose(cell)).collect();
        let filled = cells.iter().filter(|cell| !cell.is_empty()).count();
        if filled == 0 {
            self.after_blank = true;
            return;
        }
        let after_blank = std::mem::take(&mut self.after_blank);
        let width = self.header.as_ref().map_or(0, Vec::len);
        let is_other = filled > width || (after_blank && filled * 2 <= width);
        if self.is_sheet && width > 0 && is_other {
            self.begin_again(filled > width);
        }
        if self.is_sheet
            && self.header.as_ref().is_some_and(|header| !header.is_empty())
            && self.held.len() < MOST_HELD
        {
            return self.held.push(cells);
        }
        if self.header.is_some() {
            self.write_held();
            return self.line(&cells);
        }
        match self.first.take() {
            // A single cell above the table is its caption.
            None if filled == 1 && self.text.len() < 1000 => self.line(&cells),
            None => self.first = Some(cells),
            Some(first) if names_columns(&first, &cells) => {
                self.header = Some(first);
                match self.is_sheet {
                    true => self.held.push(cells),
                    false => self.line(&cells),
                }
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
        self.take_text()
    }

    /// Returns the text so far and goes on with the same columns.
    pub fn take_text(&mut self) -> String {
        if let Some(first) = self.first.take() {
            self.line(&first);
        }
        self.write_held();
        std::mem::take(&mut self.text)
    }

    fn write_held(&mut self) {
        for row in std::mem::take(&mut self.held) {
            self.line(&row);
        }
    }

    /// Ends a table of a sheet. If a row is wider than its header, that was none: its rows are names and values.
    fn begin_again(&mut self, header_was_none: bool) {
        if !header_was_none || self.held.is_empty() {
            self.write_held();
            self.header = None;
            return;
        }
        let header = self.header.take().unwrap_or_default();
        for row in std::iter::once(header).chain(std::mem::take(&mut self.held)) {
            let filled: Vec<&str> = row.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
            match filled[..] {
                [name, value] if name.len() + value.len() < LONGEST_LINE => {
                    self.text.push_str(&part(name, value))
                }
                _ => {
                    self.line(&row);
                    continue;
                }
            }
            self.text.push('\n');
        }
    }

    fn line(&mut self, cells: &[String]) {
        let header = self.header.as_deref().unwrap_or_default();
        let separator = if header.is_empty() { " | " } else { "; " };
        let name = |column: usize| header.get(column).map_or("", String::as_str);
        let filled = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
        let named: Vec<(&str, &str)> = filled.map(|(column, cell)| (name(column), cell.as_str())).collect();
        let length: usize = named.iter().map(|(name, cell)| name.len() + cell.len() + 4).sum();
        if length <= LONGEST_LINE {
            let parts: Vec<String> = named.iter().map(|(name, cell)| part(name, cell)).collect();
            self.text.push_str(&parts.join(separator));
            self.text.push('\n');
            return;
        }
        for line in split(cells, &named, separator) {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }
}

fn part(name: &str, cell: &str) -> String {
    match name {
        "" => cell.to_owned(),
        _ if name.ends_with(':') => format!("{name} {cell}"),
        _ => format!("{name}: {cell}"),
    }
}

/// Splits a row into several lines, each with the cells that name the row.
fn split(cells: &[String], named: &[(&str, &str)], separator: &str) -> Vec<String> {
    let key = key(cells, named, separator);
    let room = LONGEST_LINE.saturating_sub(key.len()).max(LONGEST_KEY);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let end = |line: &mut String, lines: &mut Vec<String>| {
        if !line.is_empty() {
            let rest = std::mem::take(line);
            lines.push(if key.is_empty() { rest } else { format!("{key}{separator}{rest}") });
        }
    };
    let of_key = if key.is_empty() { 0 } else { key_columns(cells, named) };
    for (name, cell) in &named[of_key..] {
        for piece in pieces(cell, room.saturating_sub(name.len()).max(LONGEST_KEY / 2)) {
            let part = part(name, piece);
            if !line.is_empty() && line.len() + part.len() > room {
                end(&mut line, &mut lines);
            }
            if !line.is_empty() {
                line.push_str(separator);
            }
            line.push_str(&part);
        }
    }
    end(&mut line, &mut lines);
    lines
}

/// Returns the cells that name the row, as text. Empty if the first cell is empty or too long.
fn key(cells: &[String], named: &[(&str, &str)], separator: &str) -> String {
    let key = &named[..key_columns(cells, named)];
    let key = key.iter().map(|(name, cell)| part(name, cell)).collect::<Vec<_>>().join(separator);
    if key.len() <= LONGEST_KEY { key } else { String::new() }
}

/// The first cell names its row. If it is a number or a short code, so do the next ones up to a name: "52; Te; Tellurium".
fn key_columns(cells: &[String], named: &[(&str, &str)]) -> usize {
    if cells.first().is_none_or(String::is_empty) {
        return 0;
    }
    let is_name = |(_, cell): &(&str, &str)| cell.contains(char::is_alphabetic) && cell.len() > LONGEST_CODE;
    let fits = |cells: &[(&str, &str)]| {
        cells.iter().map(|(name, cell)| name.len() + cell.len() + 4).sum::<usize>() <= LONGEST_KEY
    };
    let most = named.len().saturating_sub(1).min(MOST_IN_KEY);
    let to_name = named[..most].iter().position(is_name).map(|at| at + 1);
    let is_number = !cells[0].contains(char::is_alphabetic);
    let columns = to_name.unwrap_or(if is_number { 2 } else { 1 }).min(most);
    if columns > 1 && fits(&named[..columns]) { columns } else { 1 }
}

/// Splits a cell between sentences, or between words if a sentence is too long.
fn pieces(cell: &str, most: usize) -> Vec<&str> {
    if cell.len() <= most {
        return vec![cell];
    }
    let mut pieces = Vec::new();
    let mut open: Option<std::ops::Range<usize>> = None;
    for sentence in sentences(cell) {
        match &mut open {
            Some(piece) if sentence.end - piece.start <= most => piece.end = sentence.end,
            _ => pieces.extend(open.replace(sentence)),
        }
    }
    pieces.extend(open);
    pieces.into_iter().flat_map(|piece| between_words(&cell[piece], most)).collect()
}

fn between_words(mut text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > most {
        let end = text.floor_char_boundary(most);
        let end = text[..end].rfind(' ').filter(|space| *space > 0).unwrap_or(end);
        pieces.push(text[..end].trim());
        text = text[end..].trim_start();
    }
    pieces.push(text);
    pieces
}

/// Returns whether the first row names the columns: short cells with letters, all filled (except the first) and all
/// different. Years name columns beside other names. A first cell that ends in a colon names its row instead.
fn names_columns(first: &[String], next: &[String]) -> bool {
    let width = first.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
    let names = &first[..width];
    let is_name = |cell: &String| {
        let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
        let words = cell.split_whitespace().count();
        // "No. of pcs." is a name.
        let is_sentence = words > 3 && cell.ends_with(['.', '!']);
        cell.chars().count() <= 60
            && letters > 0
            && !is_sentence
            && !cell.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_distinct = |(at, cell): (usize, &String)| !names[..at].contains(cell);
    let years = names.iter().filter(|cell| is_year(cell)).count();
    let starts_with_name = names.first().is_some_and(|name| name.is_empty() || is_name(name));
    (2..=256).contains(&width)
        && next.len() <= first.len()
        && !names[0].ends_with(':')
        && (years == 0 || (starts_with_name && years > 1))
        && names.iter().skip(usize::from(names[0].is_empty())).all(|cell| is_name(cell) || is_year(cell))
        && names.iter().enumerate().all(is_distinct)
}

fn is_year(cell: &str) -> bool {
    cell.len() == 4 && cell.parse::<u16>().is_ok_and(|year| (1800..2200).contains(&year))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rows: &[&str]) -> Vec<String> {
        let mut table = Table::default();
        for row in rows {
            table.row(row.split('|').map(str::to_owned).collect());
        }
        table.into_text().lines().map(str::to_owned).collect()
    }

    fn check(rows: &[&str], expected: &[&str]) {
        assert_eq!(lines(rows), expected);
    }

    #[test]
    fn rows_carry_the_names_of_their_columns() {
        check(&["Name|Speed", "P-204|3000", "|12"], &["Name: P-204; Speed: 3000", "Speed: 12"]);
        check(&["|Name|Speed", "0|P-204|3000"], &["0; Name: P-204; Speed: 3000"]);
        check(&["Pumps of 2024", "Name|Speed", "P-204|3000"], &["Pumps of 2024", "Name: P-204; Speed: 3000"]);
        check(&["Pump|2023|2024", "P-204|11|12"], &["Pump: P-204; 2023: 11; 2024: 12"]);
    }

    #[test]
    fn a_first_row_of_values_names_nothing() {
        check(&["1|2", "3|4"], &["1 | 2", "3 | 4"]);
        check(&["2023|2024", "3|4"], &["2023 | 2024", "3 | 4"]);
        check(&["Speed:|3000", "Oil:|12"], &["Speed: | 3000", "Oil: | 12"]);
        check(&["F1|Show the help screen.", "F2|Save."], &["F1 | Show the help screen.", "F2 | Save."]);
        check(&["No. of pcs.|Part", "A|Seal"], &["No. of pcs.: A; Part: Seal"]);
        check(&["only|row"], &["only | row"]);
    }

    #[test]
    fn a_sheet_may_hold_pairs_and_several_tables() {
        let mut table = Table::of_sheet();
        let pairs =
            ["Maker|Berg", "Place|Leeds", "Parts", "Name|Mass|Unit|Note", "seal|2|kg|old", "shaft|9|kg|"];
        for row in pairs.iter().chain(&["", "Maker|Oakes", "Place|Bath"]).chain(&pairs[2..]) {
            table.row(row.split('|').map(str::to_owned).collect());
        }
        let parts = ["Parts", "Name: seal; Mass: 2; Unit: kg; Note: old", "Name: shaft; Mass: 9; Unit: kg"];
        let expected =
            [&["Maker: Berg", "Place: Leeds"][..], &parts, &["Maker: Oakes", "Place: Bath"], &parts].concat();
        assert_eq!(table.into_text().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_line_of_a_wide_row_has_its_key() {
        let names: Vec<String> = (0..60).map(|column| format!("column {column}")).collect();
        let values: Vec<String> = (0..60).map(|column| format!("value {column}")).collect();
        let found = lines(&[&format!("Name|{}", names.join("|")), &format!("P-204|{}", values.join("|"))]);
        assert!(found.len() > 2 && found.iter().all(|line| line.len() <= LONGEST_LINE + 2), "{found:?}");
        assert!(found.iter().all(|line| line.starts_with("Name: P-204; column ")), "{found:?}");
        assert!(
            (0..60).all(|at| found.iter().any(|line| line.contains(&format!("column {at}: value {at}"))))
        );

        let found =
            lines(&[&format!("id|Name|{}", names.join("|")), &format!("7|P-204|{}", values.join("|"))]);
        assert!(found.iter().all(|line| line.starts_with("id: 7; Name: P-204; column ")), "{found:?}");

        let found = lines(&[
            &format!("number|symbol|name|{}", names.join("|")),
            &format!("52|Te|Tellurium|{}", values.join("|")),
        ]);
        let key = "number: 52; symbol: Te; name: Tellurium; column ";
        assert!(found.iter().all(|line| line.starts_with(key)), "{found:?}");
    }

    #[test]
    fn a_long_cell_is_split_between_sentences_and_each_part_is_named() {
        let text = "The pump turns at a constant speed whatever the load. ".repeat(20);
        let found = lines(&["Name|Notes", &format!("P-204|{text}")]);
        assert!(found.len() > 2, "{found:?}");
        let is_whole =
            |line: &String| line.starts_with("Name: P-204; Notes: The pump") && line.ends_with("load.");
        assert!(found.iter().all(is_whole), "{found:?}");
    }
}
