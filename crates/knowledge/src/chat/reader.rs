//! Answers with the documents' own words, for a model that is too small to write: the search finds passages, the reader says
//! where they answer, and `reading` makes parts of it.

use super::allowance::Allowance;
use super::answer_style::AnswerStyle;
use super::quoted::Quoted;
use super::source::Source;
use super::{Ask, ChatFailure, Chats, follow_up};
use crate::records::Scope;
use inference::reader::Reading;
use reading::{Part, Passage, Request};
use words::Language;

/// How many passages of the search are read: of 56 questions of strangers, 46 have their fact in the first five.
pub const POOL: usize = 12;
/// A longer source that the caller gives is read in pieces, in bytes: about as long as the passages of a search.
const MAX_PIECE_BYTES: usize = 1200;

/// What stands above a passage is read with it.
const MAX_ABOVE_BYTES: usize = 240;

const NOT_SAID: &str = "The documents do not say.";

/// A passage as it is read.
struct Piece {
    source: usize,
    above: String,
    text: String,
    /// Its place in the order of the search; pieces that the caller gives have none.
    place: usize,
}

impl Chats {
    /// Answers from the sources that the caller gives, or from what a search finds.
    pub(super) async fn quote(
        &self,
        scope: &Scope,
        ask: Ask,
        request: Request,
        given: Option<Vec<Source>>,
        allowance: &mut Allowance,
    ) -> Result<Quoted, ChatFailure> {
        let query = allowance.question(&ask.query).to_owned();
        let history = allowance.history(&ask.history).to_owned();
        let ask = &Ask { query, history, ..ask };
        match request {
            Request::Summary if given.is_none() => {
                let question = self.completed(ask, allowance);
                return self.summarise(scope, ask, &question, allowance.unread).await;
            }
            Request::Writing if given.is_none() => return Ok(Self::needs_writer()),
            _ => {}
        }
        let is_given = given.is_some();
        let (question, mut sources) = match given {
            Some(given) => (self.completed(ask, allowance), given),
            None => self.find_followed(scope, ask, POOL, allowance).await?,
        };
        if sources.is_empty() {
            return Ok(Quoted::nothing_found(allowance.unread));
        }
        let pieces = pieces(&sources, is_given);
        let readings = self.read(&question, &pieces, allowance).await?;
        let passages: Vec<Passage<'_>> = pieces.iter().map(Piece::passage).collect();
        let style = AnswerStyle::of(ask.agent);
        // Sources that the caller gives are used whatever the question is.
        let parts = match is_given {
            true => Some(reading::nearest(&question, &passages, &readings, style.shown)),
            false => reading::answer(&question, &passages, &readings, style.shown),
        };
        let Some(parts) = parts.filter(|parts| !parts.is_empty()) else {
            return Ok(Quoted::refused(NOT_SAID, sources, allowance.unread));
        };
        let mut parts: Vec<(usize, Part)> =
            parts.into_iter().map(|part| (pieces[part.passage].source, part)).collect();
        if !is_given {
            sources = quoted_first(sources, &mut parts, ask.top_k.max(1));
        }
        let connections = self.connections(scope, ask, &sources).await?;
        let mut text = style.lay_out(&parts, &connections);
        if let Some(other) = other_language(&question, &sources) {
            text = format!("The documents are in {other}.\n{text}");
        }
        Ok(Quoted { text, sources })
    }

    /// Finds passages for a question, and for the one that it may continue; returns it with that.
    pub(super) async fn find_followed(
        &self,
        scope: &Scope,
        ask: &Ask,
        limit: usize,
        allowance: &Allowance,
    ) -> Result<(String, Vec<Source>), ChatFailure> {
        let completed = self.completed(ask, allowance);
        let mut sources = self.find(scope, &completed, ask, limit).await?;
        if completed != ask.query {
            // What it continues may be something else: half of the passages are those of the question alone.
            sources.truncate(limit / 2);
            for source in self.find(scope, &ask.query, ask, limit / 2).await? {
                if !sources.iter().any(|known| known.is_same(&source)) {
                    sources.push(source);
                }
            }
        }
        Ok((completed, sources))
    }

    pub(super) fn completed(&self, ask: &Ask, allowance: &Allowance) -> String {
        allowance
            .completed(follow_up::complete(&ask.query, &ask.history).unwrap_or_else(|| ask.query.clone()))
    }

    /// Reads pieces with a question; of too many, the first.
    async fn read(
        &self,
        question: &str,
        pieces: &[Piece],
        allowance: &mut Allowance,
    ) -> Result<Vec<Reading>, ChatFailure> {
        let texts = pieces.iter().map(|piece| piece.passage().whole()).collect();
        let readings = allowance.read(&self.search, question, texts).await?;
        if readings.len() < pieces.len() {
            allowance.notice("Only a part of the sources was read: they are too long.".to_owned());
        }
        Ok(readings)
    }

    /// Orders sources by how well they go with a question, the best first, with how well.
    pub(super) async fn judge(
        &self,
        question: &str,
        sources: Vec<Source>,
        allowance: &mut Allowance,
    ) -> Result<Vec<(f32, Source)>, ChatFailure> {
        let texts = sources.iter().map(|source| format!("{}\n{}", above(source), source.text)).collect();
        let readings = allowance.read(&self.search, question, texts).await?;
        let relevance = readings.iter().map(|reading| reading.relevance);
        // Without a reader they stay as the search has them; what did not fit is not preferred to what was read.
        let unread = if readings.is_empty() { 0.0 } else { f32::MIN };
        let relevance = relevance.chain(std::iter::repeat(unread));
        let mut judged: Vec<(f32, Source)> = relevance.zip(sources).collect();
        judged.sort_by(|one, other| other.0.total_cmp(&one.0));
        Ok(judged)
    }
}

impl Piece {
    fn passage(&self) -> Passage<'_> {
        Passage { above: &self.above, text: &self.text, place: self.place }
    }
}

/// Splits sources into pieces that can be read at once: the first of each source, then the second of each, and so on.
fn pieces(sources: &[Source], is_given: bool) -> Vec<Piece> {
    let of_source = |(source, own): (usize, &Source)| {
        let above = above(own);
        let place = if is_given { 0 } else { source };
        let piece = move |text: &str| Piece { source, above: above.clone(), text: text.to_owned(), place };
        split(&own.text).into_iter().map(piece).enumerate().collect::<Vec<(usize, Piece)>>()
    };
    let mut pieces: Vec<(usize, Piece)> = sources.iter().enumerate().flat_map(of_source).collect();
    pieces.sort_by_key(|(number, piece)| (*number, piece.source));
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

/// Returns what stands above a source, without its outermost headings if it is long.
fn above(source: &Source) -> String {
    let mut above = source.above().join(" > ");
    above.split_off(above.ceil_char_boundary(above.len().saturating_sub(MAX_ABOVE_BYTES)))
}

/// Splits a long text between lines, sentences or words.
fn split(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    // The passages of a search have at most 256 tokens, and may have a few bytes more than a piece.
    while text.len() > MAX_PIECE_BYTES * 3 / 2 {
        let most = &text[..text.floor_char_boundary(MAX_PIECE_BYTES)];
        let end_at = |end: &&str| Some(most.rfind(end)? + end.len()).filter(|at| *at > MAX_PIECE_BYTES / 2);
        let at = ["\n\n", "\n", ". ", " "].iter().find_map(end_at);
        let (piece, rest) = text.split_at(at.unwrap_or(most.len()));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// Puts the sources that are quoted first, and keeps so many; the parts then have their new numbers.
fn quoted_first(sources: Vec<Source>, parts: &mut [(usize, Part)], most: usize) -> Vec<Source> {
    let mut order: Vec<usize> = Vec::new();
    for source in parts.iter().map(|(source, _)| *source).chain(0..sources.len()) {
        if !order.contains(&source) {
            order.push(source);
        }
    }
    for (source, _) in parts.iter_mut() {
        *source = order.iter().position(|old| old == source).unwrap_or_default();
    }
    let quoted = parts.iter().map(|(source, _)| source + 1).max().unwrap_or_default();
    order.truncate(most.max(quoted));
    order.into_iter().map(|source| sources[source].clone()).collect()
}

/// Returns the language of the sources if it is not that of the question.
fn other_language(question: &str, sources: &[Source]) -> Option<&'static str> {
    let asked = Language::of(question)?;
    let found = sources.first().and_then(|source| Language::surely_of(&source.text));
    found.filter(|found| *found != asked).map(Language::name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reading::Form;

    #[test]
    fn a_long_source_is_read_in_pieces() {
        let text = "The pump is blue. ".repeat(300);
        let pieces = split(&text);
        assert_eq!(pieces.concat(), text);
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_PIECE_BYTES * 3 / 2));
        assert!(pieces[0].ends_with("blue. "), "{}", pieces[0]);
        let wide = "ä".repeat(3000);
        assert_eq!(split(&wide).concat(), wide);
    }

    #[test]
    fn what_is_quoted_comes_first() {
        let part = |source| (source, Part { passage: 0, text: String::new(), form: Form::Prose });
        let mut parts = [part(2), part(0)];
        let sources = quoted_first(Source::of_texts(["a", "b", "c", "d"]), &mut parts, 3);
        let texts: Vec<&str> = sources.iter().map(|source| source.text.as_str()).collect();
        assert_eq!(texts, ["c", "a", "b"]);
        assert_eq!(parts.map(|(source, _)| source), [0, 1]);
    }
}
