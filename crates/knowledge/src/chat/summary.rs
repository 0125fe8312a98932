//! Summarises a document: its first sentences, and what its sections begin with.

use super::allowance::Unread;
use super::quoted::Quoted;
use super::sentence::Sentence;
use super::source::Source;
use super::units::{Form, Unit, units};
use super::{Ask, ChatFailure, Chats};
use crate::records::Scope;
use words::stem_set;

#[rustfmt::skip]
const ASKING: [&str; 18] = [
    "summarise", "summarize", "sum up", "summary of", "give me an overview", "overview of", "tl;dr", "tldr",
    "what is this document about", "what is the document about", "what is this about", "what does this document say",
    "what is in this document", "fasse ", "zusammenfassung", "worum geht es", "wovon handelt", "resume of",
];
/// How many sections are told of.
const MOST_POINTS: usize = 7;
/// In bytes.
const LONGEST_POINT: usize = 320;
const LEAST_WORDS: usize = 6;
/// How many passages of a search say which document is meant.
const PASSAGES: usize = 8;
/// What a title adds for each word that it shares with the question.
const TITLE: f64 = 0.5;

/// Returns whether a question asks for a summary.
pub fn is_wanted(question: &str) -> bool {
    let lower = question.to_lowercase();
    let is_about = lower.starts_with("what is ") && lower.trim_end_matches(['?', ' ']).ends_with(" about");
    is_about || ASKING.iter().any(|asking| lower.starts_with(asking) || lower.contains(&format!(" {asking}")))
}

impl Chats {
    /// Summarises the document that is given by its id, or that the question is about.
    pub(super) async fn summarise(
        &self,
        scope: &Scope,
        ask: &Ask,
        question: &str,
        unread: Option<Unread>,
    ) -> Result<Quoted, ChatFailure> {
        let document = match ask.document_ids.as_slice() {
            [one] => Some(one.clone()),
            _ => self.meant(scope, ask, question).await?,
        };
        let Some(document) = document else { return Ok(Quoted::nothing_found(unread)) };
        let passages = self.search.passages(scope, &document).await?;
        let quoted = along_headings(passages.into_iter().map(Source::found).collect());
        Ok(quoted.unwrap_or_else(|| Quoted::nothing_found(unread)))
    }

    /// Finds the document that a question is about.
    async fn meant(&self, scope: &Scope, ask: &Ask, question: &str) -> Result<Option<String>, ChatFailure> {
        let found = self.find(scope, question, ask, PASSAGES).await?;
        let mut documents: Vec<(f64, String)> = Vec::new();
        for source in &found {
            let Some(id) = source.document_id() else { continue };
            match documents.iter_mut().find(|(_, known)| known == id) {
                Some((score, _)) => *score += source.score,
                None => {
                    let language = source.language();
                    let asked = stem_set(question, language);
                    let title = stem_set(&source.title, language).intersection(&asked).count() as f64;
                    documents.push((source.score + TITLE * title, id.to_owned()));
                }
            }
        }
        let best = documents.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
        Ok(best.map(|(_, id)| id))
    }
}

/// Returns the first sentence of each section, or of some of them, evenly chosen; none if no section has one.
fn along_headings(passages: Vec<Source>) -> Option<Quoted> {
    let mut sections: Vec<&Source> = Vec::new();
    for passage in &passages {
        let is_new = sections.last().is_none_or(|last| last.headings != passage.headings);
        if is_new || passage.headings.is_empty() {
            sections.push(passage);
        }
    }
    let points: Vec<(&Source, Sentence)> =
        sections.into_iter().filter_map(|section| Some((section, first_sentence(section)?))).collect();
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    let mut quoted = Quoted::default();
    for (source, sentence) in points.into_iter().step_by(step) {
        let heading = source.headings.last().filter(|heading| **heading != source.title);
        let sentence = Sentence { source: quoted.sources.len(), ..sentence };
        quoted.sources.push(source.clone());
        let text = sentence.cited(&quoted.sources);
        quoted.text += &match heading {
            Some(heading) => format!("- **{heading}**: {text}\n"),
            None => format!("- {text}\n"),
        };
    }
    let text = format!("{}:\n{}", quoted.sources.first()?.title, quoted.text.trim_end());
    Some(Quoted { text, ..quoted })
}

/// Returns the first sentence that can stand for a section.
fn first_sentence(section: &Source) -> Option<Sentence> {
    let is_full = |text: &str| text.split_whitespace().count() >= LEAST_WORDS && text.len() <= LONGEST_POINT;
    let mut units = units(&section.text);
    units.retain(|unit| {
        matches!(unit.form, Form::Sentence | Form::Titled) && is_full(&section.text[unit.range.clone()])
    });
    // What has no end may be a heading.
    let ends =
        |unit: &Unit| section.text[unit.range.clone()].ends_with(['.', '!', '。', '！', '"', '”', ')']);
    let unit = units.iter().find(|unit| ends(unit)).or(units.first())?;
    Some(Sentence::new(0, unit.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_for_a_summary_is_one() {
        assert!(is_wanted("Summarise the pump manual."));
        assert!(is_wanted("Please give me an overview of this."));
        assert!(is_wanted("What is the pump manual about?"));
        assert!(!is_wanted("What is a pump?"));
        assert!(!is_wanted("What does the manual say about seals?"));
    }

    #[test]
    fn sections_are_told_by_their_first_sentences() {
        let mut sources = Source::of_texts([
            "This manual is about the pump and its seals. More.",
            "Seals are replaced every year by a mechanic.",
        ]);
        sources[0].title = "Pump".to_owned();
        sources[1].headings = vec!["Seals".to_owned()];
        let quoted = along_headings(sources).unwrap();
        let expected = "Pump:\n- This manual is about the pump and its seals. [1]\n- **Seals**: Seals are replaced \
                        every year by a mechanic. [2]";
        assert_eq!(quoted.text, expected);
    }
}
