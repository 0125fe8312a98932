//! Answers with the documents' own words, for a model that is too small to write.
//!
//! The reranker judges twice: the passages that the search has found, then the parts of the best of them. The best part
//! is the answer if it is about what the question names and has what the question asks for; else the documents do not
//! say. Without a reranker, and in languages that it does not know, shared words decide.

use super::agents::Agent;
use super::allowance::Allowance;
use super::answer_style::AnswerStyle;
use super::columns::{asked_columns, lacks_property};
use super::evidence;
use super::question::Asked;
use super::quoted::Quoted;
use super::sentence::Sentence;
use super::source::Source;
use super::units::Form;
use super::wanted::{Wanted, instructs};
use super::{Ask, ChatFailure, Chats, beside, critique, follow_up, summary};
use crate::records::Scope;
use std::collections::HashSet;
use store::StoreError;
use words::{Language, stem_set};

/// How many passages are searched for.
pub const POOL: usize = 16;
/// How many of them have their parts judged.
const READ: usize = 8;
/// What a passage's score adds to those of its parts.
const PASSAGE: f32 = 0.4;
/// What an instruction has more if the question asks how something is done.
const INSTRUCTS: f32 = 1.5;
/// A share of words, as a score of the reranker.
const ENOUGH_WORDS: f32 = 0.5;
const WORDS: f32 = 12.0;
/// What is taken from a part for each name of the question that it lacks, and if it has nothing of the asked kind.
const LACKS_NAME: f32 = 1.5;
const LACKS_WANTED: f32 = 2.0;
const LACKS_NUMBER: f32 = 2.0;
/// The same for the decision whether the documents answer at all, where the whole passage counts.
const NAME_NOT_THERE: f32 = 12.0;
const NUMBER_NOT_THERE: f32 = 10.0;
const WANTED_NOT_THERE: f32 = 9.0;
/// A question is no answer.
const QUESTION: f32 = 4.0;
/// A list that nothing introduces seldom is the answer.
const BARE_LIST: f32 = 2.0;
/// What was said in the answer before.
const REPEATED: f32 = 4.0;
const REPEATED_SHARE: f32 = 0.7;
/// The reranker has read few tables and little code: it scores them lower.
const ROW: f32 = 3.0;
/// In bytes.
const LONGEST_ROW: usize = 400;
const CODE: f32 = 1.5;
const COUNTED_NOT_THERE: f32 = 8.0;
const PROPERTY_NOT_THERE: f32 = 8.0;
/// What a question that continues a conversation is about is known: it need not be as sure.
const CONTINUES: f32 = 3.0;

/// Chosen on the questions of `bench/answers`: a lower one answers more of them, and refuses fewer that the documents do
/// not answer.
const LEAST_CONFIDENCE: f32 = -5.0;

const NOT_SAID: &str = "The documents do not say.";
const NOT_SAID_OF: &str = "The documents do not say:";

/// What was read for a question.
struct Reading {
    /// The best first.
    sources: Vec<Source>,
    /// The best first.
    sentences: Vec<Sentence>,
    /// How sure it is that the documents answer.
    confidence: f32,
}

impl Chats {
    /// Answers from the sources that the caller gives, or from what a search finds.
    pub(super) async fn quote(
        &self,
        scope: &Scope,
        ask: Ask,
        given: Option<Vec<Source>>,
        allowance: &mut Allowance,
    ) -> Result<Quoted, ChatFailure> {
        let query = allowance.question(&ask.query).to_owned();
        let history = allowance.history(&ask.history).to_owned();
        let ask = &Ask { query, history, ..ask };
        let question = allowance.completed(follow_up::complete(&ask.query, &ask.history));
        if given.is_none() && summary::is_wanted(&ask.query) {
            return self.summarise(scope, ask, &question, allowance.unread).await;
        }
        let style = AnswerStyle::of(ask.agent);
        let parts = follow_up::parts(&question);
        let mut quoted: Vec<(Source, Sentence)> = Vec::new();
        let mut found: Vec<Source> = Vec::new();
        let mut says_nothing = None;
        let mut unanswered: Vec<&str> = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let sources = match &given {
                Some(given) => given.clone(),
                None => self.find(scope, part, ask, POOL).await?,
            };
            if sources.is_empty() {
                unanswered.push(part);
                continue;
            }
            let tokens = allowance.tokens() / (parts.len() - index);
            let mut reading = self.read(ask, part, sources, allowance, tokens).await?;
            // Sources that the caller gives are used whatever the question is.
            if given.is_some() || reading.confidence > LEAST_CONFIDENCE {
                let most = if parts.len() > 1 { 1 } else { usize::MAX };
                let chosen = style.choose(&reading.sources, &reading.sentences);
                let mut chosen: Vec<Sentence> = chosen.into_iter().take(most).cloned().collect();
                let asked = Asked::new(part);
                if chosen.is_empty() {
                    unanswered.push(part);
                }
                if style.is_plain() && parts.len() == 1 {
                    self.extend(scope, ask, &asked, &mut reading.sources, &mut chosen, allowance).await?;
                    beside::complete(&asked, &reading.sources, &mut chosen);
                }
                if ask.agent == Agent::Critic {
                    let pairs = critique::contradictions(&reading.sources, &reading.sentences);
                    let both = pairs.iter().flat_map(|(one, other)| [*one, *other]);
                    chosen.extend(both.map(|at| reading.sentences[at].clone()));
                }
                let with_source = |chosen: Sentence| {
                    let source = &reading.sources[chosen.source];
                    (source.clone(), as_shown(&asked, source, &chosen))
                };
                quoted.extend(chosen.into_iter().map(with_source));
                says_nothing = quoted.is_empty().then(|| style.without()).flatten();
            } else {
                unanswered.push(part);
            }
            add_new(&mut found, reading.sources);
        }
        if quoted.is_empty() {
            return Ok(Quoted::refused(says_nothing.unwrap_or(NOT_SAID), found, allowance.unread));
        }
        let (sources, sentences) = number(quoted, given.unwrap_or_default(), found, ask.top_k.max(1));
        let connections = self.connections(scope, ask, &sources).await?;
        let mut text = match ask.agent {
            Agent::Critic => critique::write(&Asked::new(&question), &sources, &sentences),
            _ => style.lay_out(&sources, &sentences.iter().collect::<Vec<_>>(), &connections),
        };
        if !unanswered.is_empty() {
            let last = unanswered.iter().map(|part| follow_up::last_part(part));
            text = format!("{text}\n{NOT_SAID_OF} {}", last.collect::<Vec<_>>().join(" "));
        }
        if let Some(other) = other_language(&question, &sources) {
            text = format!("The documents are in {other}.\n{text}");
        }
        Ok(Quoted { text, sources })
    }

    /// Judges passages and their parts, each with half of the tokens.
    async fn read(
        &self,
        ask: &Ask,
        topic: &str,
        sources: Vec<Source>,
        allowance: &mut Allowance,
        tokens: usize,
    ) -> Result<Reading, ChatFailure> {
        let asked = Asked::new(topic);
        let passages = self.judge(&asked, sources, allowance, tokens / 2).await?;
        let (scores, sources): (Vec<f32>, Vec<Source>) = passages.into_iter().take(READ).unzip();
        let texts = sources.clone();
        let (asked, mut sentences) = tokio::task::spawn_blocking(move || {
            let found = evidence::candidates(&asked, &texts);
            (asked, found)
        })
        .await
        .map_err(|_| StoreError::Stopping)?;
        let texts = evidence::in_context(&sources, &sentences);
        let judged = match asked.is_english {
            true => self.score_parts(ask, topic, texts, allowance, tokens / 2).await?,
            false => None,
        };
        if let Some(scores) = &judged {
            // Those of the last sources, if they do not all fit.
            sentences.truncate(scores.len());
        }
        // A question that continues a conversation asks for more than the one before it.
        let said = follow_up::last_answer(&ask.history).filter(|_| continues(ask, topic)).map(Said::new);
        let style = AnswerStyle::of(ask.agent);
        for (index, sentence) in sentences.iter_mut().enumerate() {
            sentence.relevance = match &judged {
                Some(scores) => scores[index],
                None => by_words(sentence.relevance),
            };
            let text = format!("{} {}", sentence.leads(&sources).join(" "), sentence.text(&sources));
            let missing = asked.missing_names(&sources[sentence.source], &text);
            let has_wanted = asked.finds_wanted(&sentence.plain(&sources))
                && !lacks_property(&asked, &sources[sentence.source], &sentence.unit.range);
            let lacks = if has_wanted { 0.0 } else { LACKS_WANTED }
                + LACKS_NUMBER * asked.missing_numbers(&text) as f32;
            sentence.score = sentence.relevance
                + PASSAGE * scores[sentence.source]
                + style.bonus(&text)
                + if asked.wants_steps && instructs(sentence.text(&sources)) { INSTRUCTS } else { 0.0 }
                - LACKS_NAME * missing
                - lacks
                - if sentence.is_question(&sources) { QUESTION } else { 0.0 }
                - if sentence.unit.form == Form::List && sentence.unit.leads.is_empty() {
                    BARE_LIST
                } else {
                    0.0
                }
                - if said.as_ref().is_some_and(|said| said.repeats(&text)) { REPEATED } else { 0.0 };
        }
        sentences.sort_by(|one, other| other.score.total_cmp(&one.score));
        let confidence =
            sentences.first().map_or(f32::MIN, |best| confidence(&asked, best, &sources, &scores))
                + if said.is_some() { CONTINUES } else { 0.0 };
        tracing::debug!(confidence, question = topic, "judged");
        Ok(Reading { sources, sentences, confidence })
    }

    /// Scores parts by how well they answer a question, and how well the last of its questions alone.
    pub(super) async fn score_parts(
        &self,
        ask: &Ask,
        topic: &str,
        texts: Vec<String>,
        allowance: &mut Allowance,
        tokens: usize,
    ) -> Result<Option<Vec<f32>>, ChatFailure> {
        let alone = if continues(ask, topic) { &ask.query } else { follow_up::last_part(topic) };
        let questions = if alone == topic { vec![topic] } else { vec![topic, alone] };
        let all = texts.len();
        let scores = allowance.score(&self.search, &questions, texts, tokens).await?;
        if scores.as_ref().is_some_and(|scores| scores.len() < all) {
            allowance.notice("Only a part of the sources was read: they are too long.".to_owned());
        }
        Ok(scores)
    }

    /// Scores passages, the best first.
    pub(super) async fn judge(
        &self,
        asked: &Asked,
        sources: Vec<Source>,
        allowance: &mut Allowance,
        tokens: usize,
    ) -> Result<Vec<(f32, Source)>, ChatFailure> {
        let passages: Vec<String> = sources.iter().map(with_headings).collect();
        let scores = match asked.is_english {
            true => allowance.score(&self.search, &[&asked.text], passages, tokens).await?,
            false => None,
        };
        if let Some(scores) = &scores {
            allowance.note_sources(scores.len(), sources.len());
        }
        // The search's order, as if it were one of scores.
        let scores = scores.unwrap_or_else(|| (0..sources.len()).map(|place| 4.0 - place as f32).collect());
        let mut judged: Vec<(f32, Source)> = scores.into_iter().zip(sources).collect();
        let first = judged.first().cloned();
        judged.sort_by(|one, other| other.0.total_cmp(&one.0));
        // The search's first passage is read in any case: it has the question's names.
        if let Some((_, first)) = first
            && let Some(place) = judged.iter().position(|(_, source)| source.is_same(&first))
            && place >= READ
        {
            let first = judged.remove(place);
            judged.insert(READ - 1, first);
        }
        Ok(judged)
    }
}

/// Returns whether a question is completed from the conversation.
fn continues(ask: &Ask, topic: &str) -> bool {
    topic != ask.query && follow_up::last_answer(&ask.history).is_some()
}

/// Says how sure it is that the best part answers the question.
fn confidence(asked: &Asked, best: &Sentence, sources: &[Source], scores: &[f32]) -> f32 {
    let source = &sources[best.source];
    let judged = best.relevance.max((best.relevance + scores[best.source]) / 2.0);
    let form = match best.unit.form {
        Form::Sentence | Form::Titled => 0.0,
        // An entry of a list may be a sentence.
        Form::Entry if is_sentence(best.text(sources)) => 0.0,
        Form::Entry | Form::Record => ROW,
        Form::List | Form::Code => CODE,
    };
    let has_wanted = match asked.wanted {
        // A person may be called by a role, in small letters.
        Wanted::Person => true,
        _ => asked.finds_wanted(&best.plain(sources)),
    };
    let wanted = if has_wanted { 0.0 } else { WANTED_NOT_THERE };
    judged + form
        - NAME_NOT_THERE * asked.missing_names(source, &source.text)
        - NUMBER_NOT_THERE * asked.missing_numbers(&source.text) as f32
        - if asked.counts(source) { 0.0 } else { COUNTED_NOT_THERE }
        - if lacks_property(asked, source, &best.unit.range) { PROPERTY_NOT_THERE } else { 0.0 }
        - wanted
}

/// Returns a part as it is shown: of a wide row only what is asked for, and with the heading that is.
fn as_shown(asked: &Asked, source: &Source, chosen: &Sentence) -> Sentence {
    let range = &chosen.unit.range;
    let is_row = matches!(chosen.unit.form, Form::Entry | Form::Record);
    let columns = if is_row { asked_columns(asked, source, range) } else { Vec::new() };
    let above: Vec<&str> = match chosen.unit.form {
        Form::Titled => chosen.unit.leads.iter().map(|lead| &source.text[lead.clone()]).collect(),
        _ => Vec::new(),
    };
    let heading = asked.heading_asked_for(source, &above, &source.text[range.clone()]).map(str::to_owned);
    Sentence { columns, heading, ..chosen.clone() }
}

fn is_sentence(entry: &str) -> bool {
    entry.len() > LONGEST_ROW || entry.ends_with('.') && !(entry.contains(": ") && entry.contains("; "))
}

/// The words of an answer.
struct Said {
    language: Language,
    words: HashSet<String>,
}

impl Said {
    fn new(answer: &str) -> Self {
        let language = Language::of(answer).unwrap_or_default();
        Self { language, words: stem_set(answer, language) }
    }

    /// Returns whether it has most words of a text.
    fn repeats(&self, text: &str) -> bool {
        let words = stem_set(text, self.language);
        let known = words.intersection(&self.words).count();
        known as f32 >= REPEATED_SHARE * words.len() as f32
    }
}

fn by_words(share: f32) -> f32 {
    WORDS * (share - ENOUGH_WORDS)
}

/// Returns the sources and the sentences with their numbers: the given sources as they are, then those that are quoted,
/// then the others.
fn number(
    quoted: Vec<(Source, Sentence)>,
    given: Vec<Source>,
    others: Vec<Source>,
    most: usize,
) -> (Vec<Source>, Vec<Sentence>) {
    let mut sources = given;
    let mut sentences: Vec<Sentence> = Vec::new();
    for (source, sentence) in quoted {
        let known = sources.iter().position(|known| known.is_same(&source));
        let place = known.unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        });
        let is_said = sentences.iter().any(|said| said.source == place && said.unit.shows(&sentence.unit));
        if !is_said {
            sentences.push(Sentence { source: place, ..sentence });
        }
    }
    let quoted = sources.len();
    add_new(&mut sources, others);
    sources.truncate(most.max(quoted));
    (sources, sentences)
}

fn add_new(sources: &mut Vec<Source>, more: Vec<Source>) {
    for source in more {
        if !sources.iter().any(|known| known.is_same(&source)) {
            sources.push(source);
        }
    }
}

/// Returns the language of the sources if it is not that of the question.
fn other_language(question: &str, sources: &[Source]) -> Option<&'static str> {
    let asked = Language::of(question)?;
    let found = sources.first().and_then(|source| Language::surely_of(&source.text));
    found.filter(|found| *found != asked).map(Language::name)
}

/// Returns a passage below its title and headings.
fn with_headings(source: &Source) -> String {
    format!("{}\n{}", source.above().join(" > "), source.text)
}
