//! A part of a source, as it is scored and quoted.

use super::citations::uncited;
use super::source::Source;
use super::units::{Form, Unit};
use std::ops::Range;

/// The most bytes between two sentences, of which one follows the other.
const BLANKS: usize = 3;

#[derive(Clone, Debug)]
pub struct Sentence {
    /// The index of its source.
    pub source: usize,
    /// Within the source's text.
    pub unit: Unit,
    /// How well it answers the question.
    pub score: f32,
    /// What the model alone says, or without one the share of the question's words.
    pub relevance: f32,
    /// The columns of a row that are shown, within the source's text; all if empty.
    pub columns: Vec<Range<usize>>,
    /// The heading above it, if that has what the question asks for.
    pub heading: Option<String>,
}

impl Sentence {
    pub fn new(source: usize, unit: Unit) -> Self {
        Self { source, unit, score: 0.0, relevance: 0.0, columns: Vec::new(), heading: None }
    }

    pub fn text<'a>(&self, sources: &'a [Source]) -> &'a str {
        let source = sources.get(self.source);
        source.and_then(|source| source.text.get(self.unit.range.clone())).unwrap_or_default()
    }

    pub fn leads<'a>(&self, sources: &'a [Source]) -> Vec<&'a str> {
        let Some(source) = sources.get(self.source) else { return Vec::new() };
        self.unit.leads.iter().filter_map(|lead| source.text.get(lead.clone())).collect()
    }

    pub fn is_question(&self, sources: &[Source]) -> bool {
        self.text(sources).ends_with('?')
    }

    /// Returns whether it is a sentence that comes right after another.
    pub fn follows(&self, other: &Self) -> bool {
        let is_prose = |one: &Self| matches!(one.unit.form, Form::Sentence | Form::Titled);
        let gap = self.unit.range.start.checked_sub(other.unit.range.end);
        self.source == other.source
            && is_prose(self)
            && is_prose(other)
            && gap.is_some_and(|gap| gap <= BLANKS)
    }

    /// Returns it as it is quoted: in one line, unless it is a list or code.
    pub fn plain(&self, sources: &[Source]) -> String {
        let lead = self.lead(sources);
        let text = self.text(sources);
        match self.unit.form {
            Form::Sentence | Form::Titled => join(&self.heading(), " ", &one_line(text)),
            Form::Entry | Form::Record if !self.columns.is_empty() => {
                let columns =
                    self.columns.iter().filter_map(|column| sources[self.source].text.get(column.clone()));
                join(&lead, " ", &columns.map(one_line).collect::<Vec<String>>().join("; "))
            }
            Form::Entry => join(&lead, " ", &one_line(text)),
            Form::Record => join(&lead, " ", &text.lines().map(str::trim).collect::<Vec<&str>>().join("; ")),
            Form::List => {
                let entries = text.lines().filter(|line| !line.trim().is_empty());
                let entries: Vec<String> = entries.map(entry).collect();
                join(&lead, "\n", &entries.join("\n"))
            }
            Form::Code if !text.contains('\n') => join(&lead, " ", &format!("`{}`", text.trim())),
            Form::Code if text.starts_with("```") => join(&lead, "\n", text.trim()),
            Form::Code => join(&lead, "\n", &format!("```\n{}\n```", text.trim_end())),
        }
    }

    /// Returns it with its citation, and without citations in the document's own text.
    pub fn cited(&self, sources: &[Source]) -> String {
        let plain = uncited(&self.plain(sources));
        let number = self.source + 1;
        match plain.split_once('\n') {
            // A number at the end of a list would seem to belong to its last entry alone.
            Some((lead, rest)) if !lead.starts_with(['-', '`']) => format!("{lead} [{number}]\n{rest}"),
            Some(_) => format!("{plain}\n[{number}]"),
            None => format!("{plain} [{number}]"),
        }
    }

    /// Returns what introduces it, in one line.
    fn lead(&self, sources: &[Source]) -> String {
        let leads = self.leads(sources);
        let leads: Vec<String> =
            leads.into_iter().map(|lead| one_line(lead.trim_start_matches(['#', '/']))).collect();
        let lead = leads.join(" ");
        join(&self.heading(), " ", &opened(lead.trim_end_matches(';')))
    }

    fn heading(&self) -> String {
        self.heading.as_deref().map(opened).unwrap_or_default()
    }
}

/// Returns an introduction with the colon that it may lack.
fn opened(lead: &str) -> String {
    let is_open = lead.is_empty() || lead.ends_with([':', '.', '!', '?']);
    if is_open { lead.to_owned() } else { format!("{lead}:") }
}

fn join(lead: &str, between: &str, text: &str) -> String {
    let parts: Vec<&str> = [lead, text].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(between)
}

/// Returns an entry of a list, with a mark if it has no number.
fn entry(line: &str) -> String {
    let text = one_line(line);
    if text.starts_with(|c: char| c.is_ascii_digit()) { text } else { format!("- {text}") }
}

/// Returns a text in one line, without the mark of a list.
fn one_line(text: &str) -> String {
    let is_mark = |word: &&str| matches!(*word, "-" | "*" | "•" | "–" | "|");
    text.split_whitespace().skip_while(is_mark).collect::<Vec<&str>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::units::units;
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let sources = Source::of_texts([text]);
        let sentence = |unit| Sentence::new(0, unit);
        units(text).into_iter().map(|unit| sentence(unit).cited(&sources)).collect()
    }

    #[test]
    fn each_form_is_quoted_with_what_introduces_it() {
        assert_eq!(shown("The pump is blue [7]."), ["The pump is blue. [1]"]);
        assert_eq!(shown("Test it with:\n\nupsmon -c fsd"), ["Test it with: `upsmon -c fsd` [1]"]);
        assert_eq!(
            shown("It has:\n- RAM\n- ROM"),
            ["It has: [1]\n- RAM\n- ROM", "It has: RAM [1]", "It has: ROM [1]"]
        );
        assert_eq!(shown("- -c, --cache-size: Set it."), ["-c, --cache-size: Set it. [1]"]);
        assert_eq!(shown("# delay\n\nmove = 0.1"), ["delay: `move = 0.1` [1]"]);
        assert_eq!(shown("Run:\n```sh\na\nb\n```"), ["Run: [1]\n```sh\na\nb\n```"]);
    }

    #[test]
    fn a_heading_and_the_columns_of_a_row_are_shown_if_they_are_asked_for() {
        let text = "a: 1; b: 2; c: 3";
        let sources = Source::of_texts([text]);
        let row = Sentence::new(0, units(text).remove(0));
        let row = Sentence { columns: vec![0..4, 12..16], heading: Some("Table 1".to_owned()), ..row };
        assert_eq!(row.cited(&sources), "Table 1: a: 1; c: 3 [1]");
    }
}
