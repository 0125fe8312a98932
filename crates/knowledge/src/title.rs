//! Titles that are cut.

/// Returns a title of at most so many characters, cut after a word.
pub fn cut(title: &str, most: usize) -> String {
    let title = title.trim();
    let Some((end, _)) = title.char_indices().nth(most) else { return title.to_owned() };
    let room = title.char_indices().nth(most.saturating_sub(1)).map_or(0, |(room, _)| room);
    let head = match title[..end].rfind(char::is_whitespace) {
        // A word of half the title, or a script without blanks, is cut itself.
        Some(blank) if blank >= room / 2 => &title[..blank.min(room)],
        _ => &title[..room],
    };
    format!(
        "{}…",
        head.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '-' | '–'))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_ends_with_a_word() {
        let check = |title: &str, expected: &str| assert_eq!(cut(title, 20), expected);
        check(" The pump and its se ", "The pump and its se");
        check("The pump and its oil", "The pump and its oil");
        check("The pump and its seals", "The pump and its…");
        check("The pump and its one x", "The pump and its…");
        check("The pump, and the old, blue seal", "The pump, and the…");
        check("The pump and seals: why", "The pump and seals…");
    }

    #[test]
    fn a_word_that_is_too_long_is_cut_itself() {
        assert_eq!(cut(&"ä".repeat(200), 20), format!("{}…", "ä".repeat(19)));
        assert_eq!(cut(&format!("The {}", "ä".repeat(200)), 20), format!("The {}…", "ä".repeat(15)));
        assert_eq!(cut("水泵的密封圈每年更换一次", 6), "水泵的密封…");
        assert_eq!(cut("", 5), "");
    }
}
