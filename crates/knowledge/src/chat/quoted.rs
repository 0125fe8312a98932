//! An answer in the documents' own words, with what it is from.

use super::allowance::Unread;
use super::source::Source;
use std::collections::HashSet;

const NOTHING_FOUND: &str =
    "I found nothing about this in the documents. Try other words, or add a document that covers it.";
const MOST_NEAREST: usize = 3;
const NEAREST: &str = "What comes nearest:";

/// An answer in the documents' own words.
#[derive(Default)]
pub struct Quoted {
    pub text: String,
    pub sources: Vec<Source>,
}

impl Quoted {
    /// An answer without sources.
    pub fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Says that nothing was found, and if some documents are not read yet, that instead of other advice.
    pub fn nothing_found(unread: Option<Unread>) -> Self {
        Self::said(unread.map_or_else(|| NOTHING_FOUND.to_owned(), Unread::nothing_found))
    }

    /// Says that the documents do not answer, or that some are not read yet, and what they have instead.
    pub fn refused(says: &str, mut nearest: Vec<Source>, unread: Option<Unread>) -> Self {
        if nearest.is_empty() {
            return Self::nothing_found(unread);
        }
        let says = unread.map_or_else(|| says.to_owned(), Unread::nothing_found);
        let mut named = HashSet::new();
        nearest.retain(|source| named.insert(source.above().join(" > ")));
        nearest.truncate(MOST_NEAREST);
        let line =
            |(index, source): (usize, &Source)| format!("{}. {}", index + 1, source.above().join(" > "));
        let lines: Vec<String> = nearest.iter().enumerate().map(line).collect();
        Self { text: format!("{says} {NEAREST}\n{}", lines.join("\n")), sources: nearest }
    }
}
