//! A sentence of a source, as it is scored and quoted.

use super::citations::uncited;
use super::source::Source;
use super::units::is_title;
use std::ops::Range;

#[derive(Clone, Debug)]
pub struct Sentence {
    /// The index of its source.
    pub source: usize,
    /// Within the source's text.
    pub range: Range<usize>,
    /// How much it says about the question: 0 to about 1.
    pub score: f32,
    /// How much it has to do with the question, by words and meaning only.
    pub relevance: f32,
}

impl Sentence {
    #[cfg(test)]
    pub fn of(source: usize, range: Range<usize>) -> Self {
        Self { source, range, score: 1.0, relevance: 1.0 }
    }

    pub fn add_relevance(&mut self, relevance: f32) {
        self.relevance += relevance;
        self.score += relevance;
    }

    pub fn text<'a>(&self, sources: &'a [Source]) -> &'a str {
        sources.get(self.source).and_then(|source| source.text.get(self.range.clone())).unwrap_or_default()
    }

    /// Returns it in one line, without the mark of a list; a title is separated by a colon.
    pub fn plain(&self, sources: &[Source]) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
        let text = self.text(sources).trim_start_matches(['-', '*', '•', ' ']);
        match text.split_once('\n') {
            Some((title, rest)) if is_title(title) => format!("{}: {}", title.trim(), one_line(rest)),
            _ => one_line(text),
        }
    }

    /// Returns it with its citation, and without citations in the document's own text.
    pub fn cited(&self, sources: &[Source]) -> String {
        format!("{} [{}]", uncited(&self.plain(sources)), self.source + 1)
    }
}
