//! Finds the parts of the sources that have to do with a question.
//!
//! By words first: a part is scored by the words that it shares with the question, rare ones more, and a little by its
//! context. The best are then judged by the reranker.

use super::question::Asked;
use super::sentence::Sentence;
use super::source::Source;
use super::units::{Form, Unit, is_drawing, is_title, units};
use std::collections::HashSet;
use words::{Term, stem_set};

/// The weight of a word of the question that only the headings or the parts beside it have.
const BESIDE: f32 = 0.5;
/// The bonus for what the question asks for, such as a number.
const ASKED_FOR: f32 = 0.25;
/// How much less a part counts for each rank of its source.
const PER_PLACE: f32 = 0.03;
/// Words of a question, bytes of a source and parts of it that are read: a caller may send megabytes of each.
const MOST_ASKED: usize = 64;
const MOST_BYTES: usize = 64 << 10;
const MOST_PARTS: usize = 400;
const MOST_JUDGED: usize = 64;
/// How many headings above a part are judged with it.
const HEADINGS: usize = 2;

/// Returns the parts that are judged: the best by their words, in the order of the sources.
pub fn candidates(asked: &Asked, sources: &[Source]) -> Vec<Sentence> {
    let mut found = by_words(asked, sources);
    if found.len() > MOST_JUDGED {
        found.sort_by(|one, other| other.score.total_cmp(&one.score));
        found.truncate(MOST_JUDGED);
    }
    found
}

/// Returns each part below the headings that it needs to be understood.
pub fn in_context(sources: &[Source], sentences: &[Sentence]) -> Vec<String> {
    let text = |sentence: &Sentence| {
        let source = &sources[sentence.source];
        let above = &source.headings[source.headings.len().saturating_sub(HEADINGS)..];
        let above = if above.is_empty() { source.title.clone() } else { above.join(" > ") };
        format!("{above}: {} {}", sentence.leads(sources).join(" "), sentence.text(sources))
    };
    sentences.iter().map(text).collect()
}

/// Returns the largest share of the question's words that one part has, rare words counting more.
pub fn largest_share(question: &str, sources: &[Source]) -> f32 {
    by_words(&Asked::new(question), sources).iter().map(|sentence| sentence.relevance).fold(0.0, f32::max)
}

/// Scores all parts of all sources by words, in their order, each once.
fn by_words(asked: &Asked, sources: &[Source]) -> Vec<Sentence> {
    let terms = asked_terms(asked, sources);
    let parts: Vec<Vec<Unit>> = sources.iter().map(|source| parts(asked, &source.text)).collect();
    let words: Vec<Vec<HashSet<String>>> = sources
        .iter()
        .zip(&parts)
        .map(|(source, parts)| {
            let language = source.language();
            parts.iter().map(|unit| stem_set(&source.text[unit.range.clone()], language)).collect()
        })
        .collect();
    let weights = weights(&terms, &words);
    let total: f32 = weights.iter().sum::<f32>().max(f32::EPSILON);
    let is_new = |stem: &String| !terms.iter().any(|term| term.stems().contains(stem));
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (place, (source, parts)) in sources.iter().zip(parts).enumerate() {
        let language = source.language();
        let above = stem_set(&format!("{} {}", source.title, source.headings.join(" ")), language);
        for (index, unit) in parts.into_iter().enumerate() {
            let text = &source.text[unit.range.clone()];
            // The same document may be there twice.
            if !seen.insert(text) {
                continue;
            }
            let own = &words[place][index];
            let near = |term: &Term| {
                let around = index.saturating_sub(1)..(index + 2).min(words[place].len());
                words[place][around].iter().any(|words| term.is_in(words))
            };
            let part = |term: &Term| {
                let beside = if term.is_in(&above) || near(term) { BESIDE } else { 0.0 };
                if term.is_in(own) { 1.0 } else { beside }
            };
            let weighed = terms.iter().zip(&weights).map(|(term, weight)| weight * part(term));
            let relevance = weighed.sum::<f32>() / total;
            let fits = if asked.finds_wanted(text) { ASKED_FOR } else { 0.0 };
            let leads: Vec<&str> = unit.leads.iter().map(|lead| &source.text[lead.clone()]).collect();
            if own.iter().any(is_new) || stem_set(&leads.join(" "), language).iter().any(is_new) {
                let score = relevance + fits - place as f32 * PER_PLACE;
                found.push(Sentence { score, relevance, ..Sentence::new(place, unit) });
            }
        }
    }
    found
}

/// Returns the parts of a text that can be an answer.
fn parts(asked: &Asked, text: &str) -> Vec<Unit> {
    let text = &text[..text.floor_char_boundary(MOST_BYTES)];
    let mut parts = units(text);
    parts.retain(|unit| {
        let own = &text[unit.range.clone()];
        let is_asked =
            unit.form != Form::List || asked.wants_all || asked.wants_steps && !explains_terms(own);
        is_asked && !is_drawing(own) && !(unit.form == Form::Sentence && is_title(own))
    });
    parts.truncate(MOST_PARTS);
    parts
}

/// Returns whether most entries of a list explain a term or an option: "-e: Extract the picture.". They are no steps.
fn explains_terms(list: &str) -> bool {
    let entries: Vec<&str> = list.lines().filter(|line| !line.trim().is_empty()).collect();
    let explains =
        |entry: &&&str| entry.split_once(": ").is_some_and(|(term, _)| term.split_whitespace().count() <= 4);
    entries.iter().filter(explains).count() * 2 > entries.len()
}

/// Returns the words of the question, each once.
fn asked_terms(asked: &Asked, sources: &[Source]) -> Vec<Term> {
    let mut seen = HashSet::new();
    let mut terms = asked.terms(&asked.text, &Source::languages(sources));
    terms.retain(|term| seen.insert(term.clone()));
    terms.truncate(MOST_ASKED);
    terms
}

/// Weighs the words of the question: those that few parts have weigh more.
fn weights(terms: &[Term], words: &[Vec<HashSet<String>>]) -> Vec<f32> {
    let all = words.iter().map(Vec::len).sum::<usize>() as f32;
    let weight = |term: &Term| {
        let having = words.iter().flatten().filter(|words| term.is_in(words)).count() as f32;
        (1.0 + all / (having + 0.5)).ln()
    };
    terms.iter().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(question: &str, texts: &[&str]) -> String {
        let sources = Source::of_texts(texts.iter().copied());
        let found = by_words(&Asked::new(question), &sources);
        found.iter().max_by(|one, other| one.score.total_cmp(&other.score)).unwrap().plain(&sources)
    }

    #[test]
    fn the_part_with_the_questions_words_comes_first() {
        let texts = ["Bees fly. The seal is replaced every year.", "The pump is blue. Seals are grey."];
        assert_eq!(best("How often is the seal replaced?", &texts), "The seal is replaced every year.");
        assert_eq!(best("Which colour has the pump?", &texts), "The pump is blue.");
    }

    #[test]
    fn other_forms_of_the_questions_words_are_known_in_its_language() {
        let texts = [
            "Die Pumpe ist blau und steht im Keller.",
            "Der Ofen ist rot. Er wird in den Häusern am Fluss gebaut.",
            "水泵的密封圈每年更换一次。电机每月检查。",
        ];
        assert_eq!(best("Welche Farbe haben die Pumpen?", &texts), texts[0]);
        assert_eq!(best("Haus", &texts), "Er wird in den Häusern am Fluss gebaut.");
        assert_eq!(best("电机多久检查？", &texts), "电机每月检查。");
    }

    #[test]
    fn a_question_for_a_number_prefers_a_part_with_one() {
        let texts = ["The pump was checked with care.", "The pump was checked in 2021."];
        assert_eq!(best("Which year was the pump checked?", &texts), texts[1]);
    }

    #[test]
    fn a_list_of_options_is_no_list_of_steps() {
        let options = "Options:\n- e: Extract the picture.\n- v: Print more.\n- z: Set the time.";
        let steps = "Do this:\n- Open the file.\n- Choose the picture.\n- Press Extract.";
        let is_whole = |question: &str, text: &str| {
            parts(&Asked::new(question), text).iter().any(|unit| unit.form == Form::List)
        };
        let how = "How do I extract the picture?";
        assert!(is_whole(how, steps) && !is_whole(how, options));
        assert!(is_whole("What are the options?", options) && !is_whole("Which option is it?", steps));
    }

    #[test]
    fn what_only_repeats_the_question_answers_nothing() {
        let texts =
            ["The shaft seal of the pump.", "The shaft seal keeps glycol from the bearing of a motor."];
        assert_eq!(best("What does the shaft seal of the pump do?", &texts), texts[1]);
    }

    #[test]
    fn without_a_word_in_common_some_are_judged_all_the_same_and_none_twice() {
        let text = |n: usize| format!("Number{n} is a word of its own here. Letter{n} is one as well.");
        let texts: Vec<String> = (0..MOST_JUDGED * 2 / 3).map(text).collect();
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        texts.extend(texts.clone());
        let sources = Source::of_texts(texts);
        let found = candidates(&Asked::new("Pourquoi ?"), &sources);
        assert_eq!(found.len(), MOST_JUDGED);
        let distinct: HashSet<&str> = found.iter().map(|sentence| sentence.text(&sources)).collect();
        assert_eq!(distinct.len(), MOST_JUDGED);
    }
}
