//! Finds the sentences of the sources that have to do with a question.
//!
//! A sentence is scored by the words that it shares with the question, rare ones more, and a little by its context: the
//! sentences beside it, its headings. Questions for a number, a time or a name favour sentences that have one.

use super::agents::Agent;
use super::answer_style::AnswerStyle;
use super::sentence::Sentence;
use super::source::Source;
use super::units::{is_drawing, units};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use words::stem_set;

/// The weight of a word of the question that only the headings or the sentences beside it have.
const BESIDE: f32 = 0.5;
/// The bonus for what the question asks for, such as a number.
const ASKED_FOR: f32 = 0.25;
/// A sentence with fewer words that the question does not have cannot answer it.
const LEAST_NEWS: usize = 1;
const SAYS_NOTHING: f32 = 0.5;
/// How much less a sentence counts for each rank of its source in the search.
const PER_PLACE: f32 = 0.03;
const MOST_PLACES: usize = 10;
/// Words of a question, bytes of a source and parts of it that are read: a caller may send megabytes of each.
const MOST_ASKED: usize = 64;
const MOST_BYTES: usize = 64 << 10;
const MOST_PARTS: usize = 400;

/// The lowest relevance of the best sentence if the documents answer the question.
const RELEVANT: f32 = 0.65;
/// The best sentence is clearly the best if the second has less than this share of its score.
const OUTSTANDING: f32 = 0.85;
const MOST_READ: usize = 16;
/// The weight of meaning compared with words.
const MEANING: f32 = 1.5;
const NEAR_BY_WORDS: f32 = 0.5;

/// Returns the best sentences by their words; only these are embedded.
pub fn promising(question: &str, sources: &[Source], style: &AnswerStyle) -> Vec<Sentence> {
    let mut sentences = sentences(question, sources, style);
    sentences.sort_by(|one, other| other.score.total_cmp(&one.score));
    sentences.truncate(MOST_READ);
    sentences
}

/// Returns the sources with the best sentences, the best first, and their sentences.
pub fn best_sources(
    sources: Vec<Source>,
    sentences: Vec<Sentence>,
    most: usize,
) -> (Vec<Source>, Vec<Sentence>) {
    let best = |place: usize| {
        let own = sentences.iter().filter(|sentence| sentence.source == place);
        own.map(|sentence| sentence.score).fold(f32::MIN, f32::max)
    };
    let mut order: Vec<usize> = (0..sources.len()).collect();
    if sources.len() > most {
        order.sort_by(|one, other| best(*other).total_cmp(&best(*one)));
        order.truncate(most);
    }
    let theirs = sentences.into_iter().filter_map(|sentence| {
        let source = order.iter().position(|place| *place == sentence.source)?;
        Some(Sentence { source, ..sentence })
    });
    let theirs = theirs.collect();
    (order.iter().map(|place| sources[*place].clone()).collect(), theirs)
}

/// Returns the largest share of the question's words that one sentence has, rare words counting more.
pub fn largest_share(question: &str, sources: &[Source]) -> f32 {
    let sentences = sentences(question, sources, &AnswerStyle::of(Agent::RagChat));
    sentences.iter().map(|sentence| sentence.relevance).fold(0.0, f32::max)
}

/// Returns whether any sentence has to do with the question.
pub fn bears_on_question(sentences: &[Sentence]) -> bool {
    sentences.iter().any(|sentence| sentence.relevance >= RELEVANT)
}

/// Returns the first of some ranked sentences, if it is clearly the best.
pub fn outstanding<'a, 'b>(ranked: &'a [&'b Sentence]) -> Option<&'a [&'b Sentence]> {
    let first = ranked.first()?;
    let second = ranked.get(1).map_or(f32::MIN, |second| second.score);
    (second < first.score * OUTSTANDING).then(|| &ranked[..1])
}

/// Returns the text of each sentence that is embedded.
pub fn embedded(sources: &[Source], sentences: &[Sentence]) -> Vec<String> {
    let text = |sentence: &Sentence| {
        let source = &sources[sentence.source];
        let above = source.headings.last().unwrap_or(&source.title);
        format!("{above}: {}", &source.text[sentence.range.clone()])
    };
    sentences.iter().map(text).collect()
}

/// Adds how near each sentence is to the question in meaning. Vectors have length 1.
pub fn weigh(sentences: &mut [Sentence], question: &[f32], vectors: &[Vec<f32>]) {
    for (sentence, vector) in sentences.iter_mut().zip(vectors) {
        let nearness: f32 = question.iter().zip(vector).map(|(one, other)| one * other).sum();
        sentence.add_relevance(MEANING * nearness);
    }
}

/// Estimates meaning by shared words, for want of an encoder.
pub fn weigh_by_words(sentences: &mut [Sentence]) {
    for sentence in sentences {
        sentence.add_relevance(MEANING * NEAR_BY_WORDS * sentence.relevance);
    }
}

/// Scores all sentences of all sources, in their order, each once.
fn sentences(question: &str, sources: &[Source], style: &AnswerStyle) -> Vec<Sentence> {
    let asked: Vec<String> = stem_set(question).into_iter().take(MOST_ASKED).collect();
    let ranges: Vec<Vec<Range<usize>>> = sources.iter().map(|source| parts(&source.text)).collect();
    let words: Vec<Vec<HashSet<String>>> = sources
        .iter()
        .zip(&ranges)
        .map(|(source, ranges)| ranges.iter().map(|range| stem_set(&source.text[range.clone()])).collect())
        .collect();
    let weights = weights(&asked, &words);
    let total: f32 = weights.values().sum::<f32>().max(f32::EPSILON);
    let wanted = Wanted::of(question);
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (place, source) in sources.iter().enumerate() {
        let above = stem_set(&format!("{} {}", source.title, source.headings.join(" ")));
        for (index, range) in ranges[place].iter().enumerate() {
            // The same document may be there twice.
            if !seen.insert(&source.text[range.clone()]) {
                continue;
            }
            let own = &words[place][index];
            let near = |word: &String| {
                let around = index.saturating_sub(1)..(index + 2).min(words[place].len());
                words[place][around].iter().any(|words| words.contains(word))
            };
            let part = |word: &String| {
                let beside = if above.contains(word) || near(word) { BESIDE } else { 0.0 };
                if own.contains(word) { 1.0 } else { beside }
            };
            let shared: f32 = asked.iter().map(|word| weights[word] * part(word)).sum();
            let text = &source.text[range.clone()];
            let fits = if wanted.is_in(text) { ASKED_FOR } else { 0.0 };
            let news = own.iter().filter(|word| !asked.contains(word)).count();
            let empty = if news < LEAST_NEWS || is_drawing(text) { SAYS_NOTHING } else { 0.0 };
            let relevance = shared / total;
            let score =
                relevance + style.bonus(text) + fits - empty - place.min(MOST_PLACES) as f32 * PER_PLACE;
            found.push(Sentence { source: place, range: range.clone(), score, relevance });
        }
    }
    found
}

fn parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = units(&text[..text.floor_char_boundary(MOST_BYTES)]);
    parts.truncate(MOST_PARTS);
    parts
}

/// Weighs the words of the question: those that few sentences have weigh more.
fn weights<'a>(asked: &'a [String], words: &[Vec<HashSet<String>>]) -> HashMap<&'a String, f32> {
    let all = words.iter().map(Vec::len).sum::<usize>() as f32;
    let weight = |word: &String| {
        let having = words.iter().flatten().filter(|words| words.contains(word)).count() as f32;
        (1.0 + all / (having + 0.5)).ln()
    };
    asked.iter().map(|word| (word, weight(word))).collect()
}

/// What kind of thing a question asks for, by its first words.
enum Wanted {
    Number,
    Name,
    Anything,
}

impl Wanted {
    fn of(question: &str) -> Self {
        let question = format!("{} ", question.to_lowercase());
        let has = |words: &[&str]| words.iter().any(|word| question.contains(word));
        if has(&[
            "how many ",
            "how much ",
            "how long ",
            "how often ",
            "how large ",
            "how big ",
            "when ",
            "what year ",
        ]) {
            Self::Number
        } else if has(&["who ", "whose ", "where ", "which company ", "which city "]) {
            Self::Name
        } else {
            Self::Anything
        }
    }

    fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Number => text.contains(|c: char| c.is_ascii_digit()),
            Self::Name => text.split(' ').skip(1).any(|word| word.starts_with(char::is_uppercase)),
            Self::Anything => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> Vec<Source> {
        Source::of_texts(texts.iter().copied())
    }

    fn best(question: &str, texts: &[&str]) -> String {
        let sources = sources(texts);
        promising(question, &sources, &AnswerStyle::of(Agent::RagChat))[0].plain(&sources)
    }

    #[test]
    fn the_sentence_with_the_questions_words_comes_first() {
        let texts = ["Bees fly. The seal is replaced every year.", "The pump is blue. Seals are grey."];
        assert_eq!(best("How often is the seal replaced?", &texts), "The seal is replaced every year.");
        assert_eq!(best("Which colour has the pump?", &texts), "The pump is blue.");
    }

    #[test]
    fn a_question_for_a_number_or_a_name_prefers_a_sentence_with_one() {
        let texts = [
            "The pump was checked with care.",
            "The pump was checked in 2021.",
            "Then Ada Lopez checked the pump.",
        ];
        assert_eq!(best("When was the pump checked?", &texts), texts[1]);
        assert_eq!(best("Who checked the pump?", &texts), texts[2]);
    }

    #[test]
    fn what_only_repeats_the_question_answers_nothing() {
        let texts =
            ["The shaft seal of the pump.", "The shaft seal keeps glycol from the bearing of a motor."];
        assert_eq!(best("What does the shaft seal of the pump do?", &texts), texts[1]);
    }

    #[test]
    fn without_a_word_in_common_some_are_read_all_the_same_and_none_twice() {
        let texts: Vec<String> = (0..40).map(|n| format!("Number{n} is a word of its own here.")).collect();
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        texts.extend(texts.clone());
        let sources = sources(&texts);
        let found = promising("Pourquoi ?", &sources, &AnswerStyle::of(Agent::RagChat));
        assert_eq!(found.len(), MOST_READ);
        let distinct: HashSet<&str> = found.iter().map(|sentence| sentence.text(&sources)).collect();
        assert_eq!(distinct.len(), MOST_READ);
    }

    #[test]
    fn the_best_sources_are_kept_and_their_sentences_follow_them() {
        let all = sources(&[
            "Bees fly south now.",
            "The seal is replaced every year.",
            "The seal is grey and new.",
        ]);
        let found = promising("How often is the seal replaced?", &all, &AnswerStyle::of(Agent::RagChat));
        let (kept, theirs) = best_sources(all, found, 2);
        assert_eq!(kept[0].text, "The seal is replaced every year.");
        assert_eq!(kept[1].text, "The seal is grey and new.");
        assert_eq!(theirs[0].text(&kept), kept[0].text);
        assert_eq!(theirs.len(), 2);
    }
}
