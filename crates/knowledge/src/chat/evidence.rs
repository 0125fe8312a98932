//! Which sentences of the sources bear on a question.
//!
//! A sentence counts by the words that it shares with the question, rare ones more, and a little by what stands
//! around it: its passage, its headings. Questions for a number, a time or a name favour sentences that have one.

use super::agents::Agent;
use super::lens::Lens;
use super::source::Source;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// How much a word of the question counts that only the headings have, or only the neighbours.
const IN_HEADINGS: f32 = 0.5;
const NEARBY: f32 = 0.5;
/// For what the question asks for, such as a number.
const ASKED_FOR: f32 = 0.25;
/// A sentence that adds fewer words to the question does not answer it.
const LEAST_NEWS: usize = 2;
const SAYS_NOTHING: f32 = 0.5;
/// How much less each place in the search counts.
const PER_PLACE: f32 = 0.03;

/// Fewer words are a title, not a sentence.
const SHORTEST: usize = 4;
/// A shorter line was not broken for want of room.
const FULL_LINE: usize = 50;
/// What the best sentence has at least to do with a question that the documents answer.
const RELEVANT: f32 = 0.65;
/// What the second best may be worth where the best stands out.
const OUTSTANDING: f32 = 0.85;
const MOST_READ: usize = 12;
/// How much meaning counts beside words.
const MEANING: f32 = 1.5;

/// A sentence of a source, and how much it says about the question: 0 to about 1.
#[derive(Clone, Debug)]
pub struct Sentence {
    pub source: usize,
    /// Within the source's text.
    pub range: Range<usize>,
    pub score: f32,
    /// How much it has to do with the question, by words and meaning alone.
    relevance: f32,
}

impl Sentence {
    #[cfg(test)]
    pub fn of(source: usize, range: Range<usize>) -> Self {
        Self { source, range, score: 1.0, relevance: 1.0 }
    }

    pub fn text<'a>(&self, sources: &'a [Source]) -> &'a str {
        sources.get(self.source).and_then(|source| source.text.get(self.range.clone())).unwrap_or_default()
    }

    /// In one line, without a list's mark; a title is set off from what it stands above.
    pub fn plain(&self, sources: &[Source]) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
        let text = self.text(sources).trim_start_matches(['-', '*', '•', ' ']);
        match text.split_once('\n') {
            Some((title, rest)) if is_title(title) => format!("{}: {}", title.trim(), one_line(rest)),
            _ => one_line(text),
        }
    }
}

/// The best by their words, in order: the encoder reads no more.
pub fn promising(question: &str, sources: &[Source], lens: &Lens) -> Vec<Sentence> {
    let mut sentences = sentences(question, sources, lens);
    let mut scores: Vec<f32> = sentences.iter().map(|sentence| sentence.score).collect();
    scores.sort_by(|one, other| other.total_cmp(one));
    let bar = scores.get(MOST_READ).copied().unwrap_or(f32::MIN);
    sentences.retain(|sentence| sentence.score > bar);
    sentences
}

/// The sources with the best sentences, best first, and the sentences that are theirs.
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

/// The largest part of the question's words that one sentence has, rare ones counting more.
pub fn largest_share(question: &str, sources: &[Source]) -> f32 {
    let sentences = sentences(question, sources, &Lens::of(Agent::RagChat));
    sentences.iter().map(|sentence| sentence.relevance).fold(0.0, f32::max)
}

/// Whether any of them has to do with the question.
pub fn bears_on_question(sentences: &[Sentence]) -> bool {
    sentences.iter().any(|sentence| sentence.relevance >= RELEVANT)
}

/// The first of some ranked sentences, where it is clearly the best.
pub fn outstanding<'a, 'b>(ranked: &'a [&'b Sentence]) -> Option<&'a [&'b Sentence]> {
    let first = ranked.first()?;
    let second = ranked.get(1).map_or(f32::MIN, |second| second.score);
    (second < first.score * OUTSTANDING).then(|| &ranked[..1])
}

/// What the encoder reads of each sentence.
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
        sentence.relevance += MEANING * nearness;
        sentence.score += MEANING * nearness;
    }
}

/// All sentences of all sources, in their order, each once.
fn sentences(question: &str, sources: &[Source], lens: &Lens) -> Vec<Sentence> {
    let asked: Vec<String> = stems(question).into_iter().collect();
    let ranges: Vec<Vec<Range<usize>>> = sources.iter().map(|source| units(&source.text)).collect();
    let words: Vec<Vec<HashSet<String>>> = sources
        .iter()
        .zip(&ranges)
        .map(|(source, ranges)| ranges.iter().map(|range| stems(&source.text[range.clone()])).collect())
        .collect();
    let weights = weights(&asked, &words);
    let total: f32 = weights.values().sum::<f32>().max(f32::EPSILON);
    let wanted = Wanted::of(question);
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (place, source) in sources.iter().enumerate() {
        let above = stems(&format!("{} {}", source.title, source.headings.join(" ")));
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
            let shared: f32 = asked
                .iter()
                .map(|word| match () {
                    () if own.contains(word) => weights[word],
                    () if above.contains(word) => weights[word] * IN_HEADINGS,
                    () if near(word) => weights[word] * NEARBY,
                    () => 0.0,
                })
                .sum();
            let text = &source.text[range.clone()];
            let fits = if wanted.is_in(text) { ASKED_FOR } else { 0.0 };
            let news = own.iter().filter(|word| !asked.contains(word)).count();
            let empty = if news < LEAST_NEWS { SAYS_NOTHING } else { 0.0 };
            let relevance = shared / total;
            let score = relevance + lens.bonus(text) + fits - empty - place as f32 * PER_PLACE;
            found.push(Sentence { source: place, range: range.clone(), score, relevance });
        }
    }
    found
}

/// Rare words say more: those of few sentences weigh more.
fn weights<'a>(asked: &'a [String], words: &[Vec<HashSet<String>>]) -> HashMap<&'a String, f32> {
    let all = words.iter().map(Vec::len).sum::<usize>() as f32;
    let weight = |word: &String| {
        let having = words.iter().flatten().filter(|words| words.contains(word)).count() as f32;
        (1.0 + all / (having + 0.5)).ln()
    };
    asked.iter().map(|word| (word, weight(word))).collect()
}

/// A text in parts that can be read alone: the sentences of its paragraphs, the rows of its tables and lists. What is
/// too short to say something goes with what follows it, and a sentence about "it" with the one before.
fn units(text: &str) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut after_title = false;
    for block in blocks(text) {
        for range in extract::sentences(&text[block.clone()]) {
            let range = block.start + range.start..block.start + range.end;
            match units.last_mut() {
                Some(last) if after_title || leans_back(&text[range.clone()]) && last.end > block.start => {
                    last.end = range.end;
                }
                _ => units.push(range.clone()),
            }
            after_title = is_title(&text[range]);
        }
    }
    units
}

/// Lines that belong together: a paragraph may be broken into lines, a table's row or a list's entry is one line.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let line = line.trim_end();
        match blocks.last_mut() {
            Some(last) if open && goes_on(line) => last.end = range.end,
            _ => blocks.push(range),
        }
        open = is_broken(line);
    }
    blocks
}

/// Whether a line was broken because it was full.
fn is_broken(line: &str) -> bool {
    line.chars().count() >= FULL_LINE && !line.ends_with(['.', ':', '!', '?', ';', '|']) && !has_columns(line)
}

/// Whether a line can be the rest of the one before.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    let is_labelled = line.split(' ').take(2).any(|word| word.ends_with(':'));
    line.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '(' | '"' | '`'))
        && !is_labelled
        && !has_columns(line)
}

fn has_columns(line: &str) -> bool {
    line.trim_start().contains("   ")
}

fn is_title(text: &str) -> bool {
    text.split_whitespace().count() < SHORTEST && !text.trim_end().ends_with(['.', ':', ';', ','])
}

/// Whether a sentence says what it is about only in the one before.
fn leans_back(sentence: &str) -> bool {
    let first = sentence.split_whitespace().next().unwrap_or_default();
    ["It", "They", "He", "She", "This", "These", "Its", "Their"].contains(&first)
}

pub fn stems(text: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    retrieval::stems(text, |stem| {
        found.insert(stem.to_owned());
    });
    found
}

/// What kind of thing a question asks for, by its first words.
enum Wanted {
    Number,
    Name,
    Anything,
}

impl Wanted {
    fn of(question: &str) -> Self {
        let question = question.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| question.contains(word));
        if has(&[
            "how many",
            "how much",
            "how long",
            "how often",
            "how large",
            "how big",
            "when",
            "what year",
            "port",
        ]) {
            Self::Number
        } else if has(&["who ", "whose ", "where ", "which company", "which city"]) {
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
