//! The critic's answer: what the documents say, what they say with a reservation, where they contradict each other, and
//! what of the question they leave out.

use super::question::Asked;
use super::sentence::Sentence;
use super::source::Source;
use super::units::Form;
use super::wanted::Wanted;
use std::collections::HashSet;
use words::stem_set;

/// How many of the best parts are compared with each other.
const COMPARED: usize = 12;
/// The share of words that two statements about the same thing have in common.
const SAME: f32 = 0.5;
#[rustfmt::skip]
pub const RESERVED: [&str; 14] = [
    "but", "however", "may", "might", "could", "unless", "except", "although", "unclear", "probably", "usually",
    "should", "expected", "about",
];

/// Words of a question that no source has to have.
#[rustfmt::skip]
const ASKING: [&str; 16] = [
    "known", "know", "say", "says", "said", "tell", "mention", "mentioned", "happen", "happens", "mean", "means",
    "explain", "describe", "document", "documents",
];

/// Returns the pairs of sentences that say the same of different numbers, as indices.
pub fn contradictions(sources: &[Source], sentences: &[Sentence]) -> Vec<(usize, usize)> {
    let said: Vec<Option<(HashSet<String>, HashSet<String>)>> =
        sentences.iter().take(COMPARED).map(|sentence| statement(sources, sentence)).collect();
    let mut pairs = Vec::new();
    for (one, (words, numbers)) in said.iter().enumerate().filter_map(|(at, said)| Some((at, said.as_ref()?)))
    {
        for (other, said) in said.iter().enumerate().skip(one + 1) {
            let Some((other_words, other_numbers)) = said else { continue };
            let common = words.intersection(other_words).count() as f32;
            let all = words.union(other_words).count() as f32;
            if common >= SAME * all && numbers.is_disjoint(other_numbers) {
                pairs.push((one, other));
            }
        }
    }
    pairs
}

/// Lays out the answer to a question that was read in all of `sources`.
pub fn write(asked: &Asked, sources: &[Source], sentences: &[Sentence]) -> String {
    let cited = |at: usize| sentences[at].cited(sources);
    let pairs = contradictions(sources, sentences);
    let is_contradicted = |at: usize| pairs.iter().any(|(one, other)| *one == at || *other == at);
    let others = (0..sentences.len()).filter(|at| !is_contradicted(*at));
    let (reserved, plain): (Vec<usize>, Vec<usize>) =
        others.partition(|at| is_reserved(&sentences[*at].plain(sources)));
    let list = |parts: Vec<usize>| parts.into_iter().map(cited).collect();
    let groups: [(&str, Vec<String>); 4] = [
        ("The documents say:", list(plain)),
        ("With a reservation:", list(reserved)),
        (
            "Contradictory:",
            pairs.iter().map(|(one, other)| format!("{} But: {}", cited(*one), cited(*other))).collect(),
        ),
        ("Missing:", missing(asked, sources, sentences)),
    ];
    let shown = groups.into_iter().filter(|(_, parts)| !parts.is_empty());
    let shown = shown.map(|(heading, parts)| format!("{heading}\n- {}", parts.join("\n- ")));
    shown.collect::<Vec<String>>().join("\n")
}

/// Returns the words and the numbers of a sentence that has a number.
fn statement(sources: &[Source], sentence: &Sentence) -> Option<(HashSet<String>, HashSet<String>)> {
    matches!(sentence.unit.form, Form::Sentence | Form::Titled).then_some(())?;
    let all = stem_set(sentence.text(sources), sources[sentence.source].language());
    let is_number = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
    let (numbers, words): (HashSet<String>, HashSet<String>) = all.into_iter().partition(is_number);
    (!numbers.is_empty() && !words.is_empty()).then_some((words, numbers))
}

fn is_reserved(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| RESERVED.contains(&word))
}

/// Returns what of the question no source has.
fn missing(asked: &Asked, sources: &[Source], sentences: &[Sentence]) -> Vec<String> {
    let text = |source: &Source| format!("{} {}", source.above().join(" "), source.text);
    let known: HashSet<String> =
        sources.iter().flat_map(|source| stem_set(&text(source), source.language())).collect();
    let languages = Source::languages(sources);
    let is_new = |word: &&str| asked.terms(word, &languages).iter().any(|term| !term.is_in(&known));
    let words = asked.text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    let words =
        words.map(|word| word.trim_matches(['.', '-'])).filter(is_new).filter(|word| !ASKING.contains(word));
    let mut missing: Vec<String> = words.map(|word| format!("No source mentions “{word}”.")).collect();
    let kind = match asked.wanted {
        Wanted::Number => "No number is given.",
        Wanted::Date => "No date is given.",
        Wanted::Price => "No price is given.",
        Wanted::Person => "No person is named.",
        Wanted::Reason => "No reason is given.",
        Wanted::Anything => return missing,
    };
    if !sentences.iter().any(|sentence| asked.finds_wanted(&sentence.plain(sources))) {
        missing.push(kind.to_owned());
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::super::units::units;
    use super::*;

    #[test]
    fn it_names_what_is_contradictory_reserved_and_missing() {
        let texts = [
            "The seal of the pump is replaced every 4000 hours.",
            "The seal of the pump is replaced every 2000 hours.",
            "The pump may be painted blue.",
            "The pump stands in Bergen.",
        ];
        let sources = Source::of_texts(texts);
        let sentence = |source| Sentence::new(source, units(texts[source]).remove(0));
        let sentences: Vec<Sentence> = (0..4).map(sentence).collect();
        assert_eq!(
            write(&Asked::new("What does the seal of the pump cost in Oslo?"), &sources, &sentences),
            "The documents say:\n- The pump stands in Bergen. [4]\n\
            With a reservation:\n- The pump may be painted blue. [3]\n\
            Contradictory:\n- The seal of the pump is replaced every 4000 hours. [1] But: \
            The seal of the pump is replaced every 2000 hours. [2]\n\
            Missing:\n- No source mentions “cost”.\n- No source mentions “Oslo”.\n- No price is given."
        );
    }
}
