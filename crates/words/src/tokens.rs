//! The runs of letters and digits in a text.

/// Returns each run of letters and digits with its byte offset.
pub fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split(|letter: char| !letter.is_alphanumeric()).filter_map(move |token| {
        let offset = start;
        let end = offset + token.len();
        start = end + text[end..].chars().next().map_or(0, char::len_utf8);
        (!token.is_empty()).then_some((offset, token))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_with_its_byte_offset() {
        let found: Vec<(usize, &str)> = tokens("Zwölf P-204,\u{a0}東京!").collect();
        assert_eq!(found, [(0, "Zwölf"), (7, "P"), (9, "204"), (15, "東京")]);
        assert_eq!(tokens(" - ").count(), 0);
    }
}
