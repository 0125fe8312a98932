//! Lines of CSV (RFC 4180), with no cell that a spreadsheet would take for a formula. Pure.

/// Returns a line.
pub fn row(cells: impl Iterator<Item = String>) -> String {
    let mut line = cells.map(|text| cell(&text)).collect::<Vec<String>>().join(",");
    line.push_str("\r\n");
    line
}

/// Quotes a cell. A spreadsheet runs what begins like a formula: an apostrophe makes it text.
fn cell(text: &str) -> String {
    let dangerous = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let text = if dangerous { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\r', '\n', ';', '\t']) || text.starts_with('\'') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_quoted_and_no_formula() {
        for (text, shown) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "\"'=1+1\""),
            ("+4930123456", "\"'+4930123456\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("=HYPERLINK(\"http://evil\")", "\"'=HYPERLINK(\"\"http://evil\"\")\""),
        ] {
            assert_eq!(cell(text), shown);
        }
    }
}
