//! A line that begins with a dot: the name of a request or macro, and its arguments.

use super::escapes::{Strings, plain};

pub(super) struct Request<'t> {
    pub name: &'t str,
    pub rest: &'t str,
}

impl<'t> Request<'t> {
    pub fn parse(line: &'t str) -> Option<Self> {
        let rest = line.strip_prefix(['.', '\''])?.trim_start_matches([' ', '\t']);
        if rest.starts_with("\\\"") {
            return Some(Self { name: "", rest: "" });
        }
        let end = rest.find([' ', '\t']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        Some(Self { name, rest: rest.trim_start() })
    }
}

/// Returns the arguments without their quotes and escapes. In quotes, two marks stand for one.
pub(super) fn arguments(rest: &str, strings: &Strings) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut rest = rest.trim_start();
    while !rest.is_empty() && !rest.starts_with("\\\"") {
        let (argument, after) = match rest.strip_prefix('"') {
            Some(quoted) => in_quotes(quoted),
            None => rest.split_at(bare_end(rest)),
        };
        arguments.push(plain(&argument.replace("\"\"", "\""), strings));
        rest = after.trim_start();
    }
    arguments
}

fn in_quotes(text: &str) -> (&str, &str) {
    let mut from = 0;
    while let Some(at) = text[from..].find('"').map(|at| from + at) {
        if !text[at + 1..].starts_with('"') {
            return (&text[..at], &text[at + 1..]);
        }
        from = at + 2;
    }
    (text, "")
}

/// Returns where an argument without quotes ends. An escaped space does not end it.
fn bare_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\\' => escaped = !escaped,
            ' ' | '\t' if !escaped => return at,
            _ => escaped = false,
        }
    }
    text.len()
}
