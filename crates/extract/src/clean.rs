//! Cleans text: removes control and invisible characters, splits ligatures, orders white space.

/// Returns the text as one line with single spaces.
pub(crate) fn prose(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = true;
            continue;
        }
        if is_invisible(c) {
            continue;
        }
        if gap && !cleaned.is_empty() {
            cleaned.push(' ');
        }
        gap = false;
        push(&mut cleaned, c);
    }
    cleaned
}

/// Returns the lines without trailing white space and without blank lines around them; indentation is kept.
pub(crate) fn lines(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for line in text.lines() {
        for c in line.trim_end().chars().filter(|c| *c == '\t' || !is_invisible(*c)) {
            push(&mut cleaned, c);
        }
        cleaned.push('\n');
    }
    let first = cleaned.find(|c: char| !c.is_whitespace()).unwrap_or(cleaned.len());
    let start = cleaned[..first].rfind('\n').map_or(0, |newline| newline + 1);
    cleaned[start..].trim_end().to_owned()
}

/// Joins the lines of a paragraph, and words that were hyphenated at the end of a line.
pub(crate) fn unwrap<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for line in lines {
        let line = line.trim();
        let hyphenated = joined.strip_suffix(['-', '\u{2010}', '\u{ad}']).is_some_and(|before| {
            before.ends_with(char::is_lowercase) && line.starts_with(char::is_lowercase)
        });
        if hyphenated {
            joined.pop();
        } else if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(line);
    }
    joined
}

fn is_invisible(c: char) -> bool {
    c.is_control() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fffd}')
}

fn push(text: &mut String, c: char) {
    match c {
        '\u{a0}' => text.push(' '),
        // Symbol fonts have their bullets here.
        '\u{e000}'..='\u{f8ff}' => text.push('•'),
        '\u{fb00}' => text.push_str("ff"),
        '\u{fb01}' => text.push_str("fi"),
        '\u{fb02}' => text.push_str("fl"),
        '\u{fb03}' => text.push_str("ffi"),
        '\u{fb04}' => text.push_str("ffl"),
        '\u{fb05}' | '\u{fb06}' => text.push_str("st"),
        _ => text.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_one_line_without_what_cannot_be_seen() {
        assert_eq!(prose("  a\u{0}\tb \u{feff}\n e\u{fb03}cient co\u{ad}op\u{a0}x "), "a b efficient coop x");
    }

    #[test]
    fn lines_keep_their_indentation() {
        assert_eq!(lines("\n \n    a  \n\n\tb\u{7}\n\n"), "    a\n\n\tb");
    }

    #[test]
    fn hyphenated_words_are_made_whole_and_others_kept() {
        assert_eq!(
            unwrap(["the bound-", "ary of X-", "Ray and P-", "204 "]),
            "the boundary of X- Ray and P- 204"
        );
    }
}
