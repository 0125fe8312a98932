//! What may stand in a field: lines, links, icons, slugs. Pure.

use base::web::{is_link, is_local_path};
use serde_json::{Value, json};

pub const LONGEST_LINE: usize = 500;
pub const LONGEST_TEXT: usize = 200_000;
pub const MOST_LINES: usize = 100;
const LONGEST_ID: usize = 64;
/// Of an icon.
pub const LONGEST_NAME: usize = 64;
pub const LONGEST_SLUG: usize = 100;
/// The year 9999.
pub const LATEST: i64 = 253_402_300_799_999;

pub fn is_line(text: &str) -> bool {
    text.chars().count() <= LONGEST_LINE && !text.contains(char::is_control)
}

pub fn lines(value: &Value) -> Option<Value> {
    let lines = value.as_array().filter(|lines| lines.len() <= MOST_LINES)?;
    let lines: Option<Vec<&str>> =
        lines.iter().map(|line| line.as_str().map(str::trim).filter(|line| is_line(line))).collect();
    lines.map(|lines| json!(lines))
}

/// Returns whether a text is a link to the web or to this installation. Every user may click on it, so it has no other
/// scheme.
pub fn is_address(text: &str) -> bool {
    is_line(text) && !text.contains([' ', '\\', '"', '<', '>']) && (is_link(text) || is_local_path(text))
}

/// A name has no sign that makes an address or markup of it.
pub fn is_icon(text: &str) -> bool {
    let is_name = text.chars().count() <= LONGEST_NAME
        && !text.contains(|sign: char| sign.is_control() || r#":/\<>"'&"#.contains(sign));
    is_name || (text.starts_with("https://") && is_address(text))
}

pub fn is_slug(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_SLUG).contains(&text.len()) && text.bytes().all(allowed)
}

pub fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(allowed)
}

/// `Opening hours!` is `opening-hours`. Empty where nothing is left of it.
pub fn slug_of(title: &str) -> String {
    let words = title.to_lowercase();
    let words = words.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<&str>>().join("-");
    slug.chars().take(LONGEST_SLUG).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_web_or_to_this_installation() {
        for good in ["https://example.org/x?y#z", "http://127.0.0.1:8081/", "/core/", "http://[::1]/"] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "javascript:alert(1)",
            "//evil.example",
            "/\\evil.example",
            "https://",
            "ftp://x",
            "data:text/html,x",
            "http://a b",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn an_icon_is_a_name_or_comes_over_https() {
        for good in ["", "wrench", "arrow-right_2", "\u{1f527}", "https://cdn.example/a.svg"] {
            assert!(is_icon(good), "{good}");
        }
        for bad in [
            "http://cdn.example/a.svg",
            "//cdn.example/a.svg",
            "/a.svg",
            "data:image/svg+xml,<svg/>",
            "javascript:alert(1)",
            "\"><script>",
            "https://",
            "a\nb",
            &"x".repeat(65),
        ] {
            assert!(!is_icon(bad), "{bad}");
        }
    }
}
