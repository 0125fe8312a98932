//! Recognises what stands in a text but belongs to programs: identifiers, addresses, paths, options, and references to
//! manual pages.

use crate::lexicon::{WordClasses, classes};

/// Returns the section of the manual that follows a name ("rsync(1)"), or 0 after the name of a function ("main()").
pub fn manual_section(after: &str) -> Option<char> {
    let inside = after.strip_prefix('(')?;
    let digit = inside.chars().next().filter(char::is_ascii_digit);
    let rest = &inside[digit.map_or(0, char::len_utf8)..];
    rest.starts_with(')').then_some(digit.unwrap_or('0'))
}

/// Returns the end of the address, path, option or variable that begins after `end` and has the word at `from`.
pub fn address(line: &str, end: usize, from: usize) -> Option<usize> {
    let before = &line[end..from];
    let start = match before.rfind(char::is_whitespace) {
        Some(blank) => end + blank + before[blank..].chars().next().map_or(1, char::len_utf8),
        None if end == 0 => 0,
        // It is the rest of what a word began.
        None => return None,
    };
    let length = line[from..].find(char::is_whitespace).unwrap_or(line.len() - from);
    let token = line[start..from + length].trim_end_matches(|c: char| !c.is_alphanumeric() && c != '/');
    let signs = token.trim_start_matches(|c: char| !c.is_alphanumeric() && !"/~.-$@".contains(c));
    let is_found = token.starts_with('{') || is_address(signs);
    (from < start + token.len() && is_found).then_some(start + token.len())
}

/// Recognises "https://a.b/c", "anna@berg.com", "/etc/hosts", "usr/share/doc", "--verbose", "-v", "$HOME" and "CC=gcc".
fn is_address(token: &str) -> bool {
    let mut chars = token.chars();
    let (first, second) = (chars.next(), chars.next());
    let is_option = first == Some('-') && second.is_some_and(|c| c == '-' || c.is_lowercase());
    let is_variable = first == Some('$') && second.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '{');
    let is_path = ["/", "~/", "./", "../"].iter().any(|start| token.starts_with(start));
    let is_assigned =
        token.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty());
    let is_mail = token.split_once('@').is_some_and(|(_, host)| host.contains(['.', '/']));
    // "@param" and "{string}" in comments.
    let is_tag = first == Some('@') && second.is_some_and(char::is_lowercase);
    is_option
        || is_tag
        || is_variable
        || is_path
        || is_assigned
        || is_mail
        || token.contains("://")
        || token.starts_with(char::is_lowercase) && token.matches('/').count() > 1
        || token.contains('\\')
}

/// Recognises "max_age", "DEB_", "innerWidth" and "console.log", but not "Dundee_City", "iPhone" and "Node.js".
pub fn is_identifier(text: &str) -> bool {
    let begins_small = text.starts_with(char::is_lowercase);
    if text.contains('_') {
        return begins_small || !text.split('_').filter(|part| !part.is_empty()).all(is_part_of_name);
    }
    let is_dotted = text.split('.').skip(1).any(|part| part.starts_with(char::is_lowercase));
    let small = text.chars().take_while(|c| c.is_lowercase()).count();
    let mut rest = text.chars().skip(small);
    let is_camel = small > 1
        && rest.next().is_some_and(char::is_uppercase)
        && rest.next().is_some_and(char::is_lowercase);
    begins_small && (is_dotted || is_camel)
}

/// Returns whether it is a word as in "Perth_and_Kinross".
fn is_part_of_name(part: &str) -> bool {
    let is_capital = part.starts_with(char::is_uppercase) && part.chars().skip(1).all(char::is_lowercase);
    is_capital || classes(part).any(WordClasses::ENGLISH.or(WordClasses::JOINS))
}
