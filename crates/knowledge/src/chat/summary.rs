//! Shows what a document is about: the first sentence of each of its sections.

use super::allowance::Unread;
use super::answer_style::cited;
use super::quoted::Quoted;
use super::source::Source;
use super::{Ask, ChatFailure, Chats};
use crate::records::Scope;
use reading::{Form, Part};
use words::stem_set;

/// How many sections are told of.
const MAX_POINTS: usize = 7;
const MAX_POINT_BYTES: usize = 320;
/// How many passages of a search say which document is meant.
const PASSAGES: usize = 8;
/// What a title adds for each word that it shares with the question.
const TITLE: f64 = 0.5;

impl Chats {
    /// Summarises the document that is given by its id, or that the question is about.
    pub(super) async fn summarise(
        &self,
        scope: &Scope,
        ask: &Ask,
        question: &str,
        unread: Option<Unread>,
    ) -> Result<Quoted, ChatFailure> {
        let quoted = along_headings(self.passages_meant(scope, ask, question).await?);
        Ok(quoted.unwrap_or_else(|| Quoted::nothing_found(unread)))
    }

    /// Returns all passages of the document that is given by its id, or that the question is about.
    pub(super) async fn passages_meant(
        &self,
        scope: &Scope,
        ask: &Ask,
        question: &str,
    ) -> Result<Vec<Source>, ChatFailure> {
        let document = match ask.document_ids.as_slice() {
            [one] => Some(one.clone()),
            _ => self.meant(scope, ask, question).await?,
        };
        let Some(document) = document else { return Ok(Vec::new()) };
        let passages = self.search.passages(scope, &document).await?;
        Ok(passages.into_iter().map(Source::found).collect())
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
    let points: Vec<(&Source, &str)> =
        sections.into_iter().filter_map(|section| Some((section, first_sentence(section)?))).collect();
    let step = points.len().div_ceil(MAX_POINTS).max(1);
    let mut quoted = Quoted::default();
    for (source, sentence) in points.into_iter().step_by(step) {
        quoted.sources.push(source.clone());
        let text = sentence.split_whitespace().collect::<Vec<&str>>().join(" ");
        let text = cited(&Part { passage: 0, text, form: Form::Prose }, quoted.sources.len());
        quoted.text += &match source.headings.last().filter(|heading| **heading != source.title) {
            Some(heading) => format!("- **{heading}**: {text}\n"),
            None => format!("- {text}\n"),
        };
    }
    let text = format!("{}:\n{}", quoted.sources.first()?.title, quoted.text.trim_end());
    Some(Quoted { text, ..quoted })
}

fn first_sentence(section: &Source) -> Option<&str> {
    section.text.get(reading::first_sentence(&section.text, MAX_POINT_BYTES)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_told_by_their_first_sentences() {
        let mut sources = Source::of_texts([
            "This manual is about the pump and its seals.\n\nMore.",
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
