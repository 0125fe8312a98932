//! Headings of plain texts: numbered, underlined, or written in capitals between blank lines.

/// Longer lines are sentences.
const LONGEST: usize = 80;

/// Finds headings in the order of the text: those with a single number count on from one.
#[derive(Default)]
pub(super) struct Headings {
    last: u16,
}

impl Headings {
    /// Returns level and title, if a paragraph is a heading or begins with an underlined one.
    pub fn heading<'t>(&mut self, paragraph: &[&'t str], next: Option<&[&str]>) -> Option<(u8, &'t str)> {
        let (level, title) = heading(paragraph, next)?;
        if let Some(number) = single_number(title) {
            if number > 1 && number != self.last + 1 {
                return None;
            }
            self.last = number;
        }
        Some((level, title))
    }
}

fn single_number(title: &str) -> Option<u16> {
    title.split_once(char::is_whitespace)?.0.trim_end_matches('.').parse().ok()
}

fn heading<'t>(paragraph: &[&'t str], next: Option<&[&str]>) -> Option<(u8, &'t str)> {
    match paragraph {
        [title, line, ..] if underlines(&[title], line) => {
            Some((if line.trim().starts_with('=') { 1 } else { 2 }, title.trim()))
        }
        [line] => single(line.trim(), next),
        _ => None,
    }
}

/// Returns how many lines of a paragraph its heading takes.
pub(super) fn lines_of(paragraph: &[&str]) -> usize {
    paragraph.len().min(2)
}

/// Returns whether a line underlines the only line before it.
pub(super) fn underlines(before: &[&str], line: &str) -> bool {
    let [title] = before else { return false };
    let (title, line) = (title.trim(), line.trim());
    let is_line = |sign: char| line.len() >= 3 && line.chars().all(|c| c == sign);
    let is_near = line.chars().count().abs_diff(title.chars().count()) <= 3;
    let is_title = title.chars().count() <= LONGEST && title.contains(char::is_alphabetic);
    is_title && is_near && ['=', '-', '~', '^'].into_iter().any(is_line)
}

fn single<'t>(line: &'t str, next: Option<&[&str]>) -> Option<(u8, &'t str)> {
    // A heading stands above a text.
    let next = next?.first()?.trim();
    if line.chars().count() > LONGEST
        || !line.contains(char::is_alphabetic)
        || line.contains('\t')
        || line.contains("   ")
    {
        return None;
    }
    if let Some(depth) = number_depth(line) {
        let is_item = depth == 1 && is_numbered_item(next);
        return (!is_item).then_some((depth + 1, line));
    }
    let named = ["Chapter", "CHAPTER", "Appendix", "APPENDIX", "Kapitel", "Part", "Article"];
    let (name, number) = line.split_once(char::is_whitespace).unwrap_or_default();
    let is_numbered = number.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
    if named.contains(&name) && is_numbered && !line.ends_with(['.', ',', ';', ':']) {
        return Some((1, line));
    }
    is_in_capitals(line).then_some((1, line))
}

/// Returns whether a line begins with "2." or the like, as the next item of a list does.
fn is_numbered_item(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| number.parse::<u16>().is_ok())
}

/// Returns the depth of a numbered title: "1.4.9. Recording the shell" has depth 3.
fn number_depth(line: &str) -> Option<u8> {
    let (number, title) = line.split_once(char::is_whitespace)?;
    let parts: Vec<&str> = number.trim_end_matches('.').split('.').collect();
    let is_number =
        parts.len() <= 5 && parts.iter().all(|part| part.len() <= 3 && part.parse::<u16>().is_ok());
    // A bare number may count things: "3 pumps".
    let is_marked = number.ends_with('.') || parts.len() > 1;
    let title = title.trim();
    let words = title.split_whitespace().count();
    let ends_well = !title.ends_with(['.', ',', ';', ':', '!']) || (title.ends_with('.') && words <= 4);
    let is_title = title.starts_with(|c: char| c.is_uppercase() || c == '"' || c == '“');
    (is_number && is_marked && is_title && ends_well && words <= 12).then_some(parts.len() as u8)
}

fn is_in_capitals(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    let signs = line.chars().filter(|c| !c.is_alphanumeric() && *c != ' ').count();
    letters >= 5
        && line.len() <= 60
        && !line.contains(char::is_lowercase)
        && line.contains(char::is_uppercase)
        && signs * 5 <= letters
        && !line.ends_with([',', ';', ':', '!'])
}
