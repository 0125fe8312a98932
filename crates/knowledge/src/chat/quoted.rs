//! An answer in the documents' own words, with what it is from.

use super::NOTHING_FOUND;
use super::source::Source;
use std::collections::HashSet;

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

    /// Says that the documents do not answer, and what they have instead.
    pub fn refused(says: &str, mut nearest: Vec<Source>) -> Self {
        if nearest.is_empty() {
            return Self::said(NOTHING_FOUND);
        }
        let mut named = HashSet::new();
        nearest.retain(|source| named.insert(source.above().join(" > ")));
        nearest.truncate(MOST_NEAREST);
        let line =
            |(index, source): (usize, &Source)| format!("{}. {}", index + 1, source.above().join(" > "));
        let lines: Vec<String> = nearest.iter().enumerate().map(line).collect();
        Self { text: format!("{says} {NEAREST}\n{}", lines.join("\n")), sources: nearest }
    }
}
