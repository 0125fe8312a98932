//! Search over all entries. Each is compared with the question, which takes a millisecond or two for ten thousand entries
//! and needs no index.
//!
//! A word of the question matches a word with the same stem, one that begins with it, or one that differs by a letter, in
//! this order of worth.

mod lexicon;

pub use lexicon::{Lexicon, Terms};

use kit::escape_html;
use lexicon::Term;
use std::borrow::Cow;
use std::fmt::Write;
use words::{Language, for_each_stem, is_within_one_edit, tokens};

const MOST_WORDS: usize = 12;
const SHORTEST_PREFIX: usize = 2;
const SHORTEST_MISSPELT: usize = 4;
/// A short stem is a letter away from too many others.
const SHORTEST_MISSPELT_STEM: usize = 5;
const PREFIX_WORTH: f32 = 0.6;
const MISSPELT_WORTH: f32 = 0.4;
/// The constant k1 of BM25: how soon more of the same word adds nothing to the score.
const SATURATION: f32 = 1.5;
const SNIPPET: usize = 160;

/// The fields that are searched, each with its weight.
const FIELDS: [(&str, f32); 14] = [
    ("title", 3.0),
    ("name", 3.0),
    ("slug", 1.5),
    ("tags", 2.0),
    ("category", 2.0),
    ("lead", 1.5),
    ("owner", 1.5),
    ("assignee", 1.5),
    ("status", 1.0),
    ("projectId", 1.0),
    ("author", 1.0),
    ("members", 1.0),
    ("description", 1.0),
    ("body", 1.0),
];

/// A word of the question; its `word` is as it was typed, in lower case.
struct Word(Term);

impl Word {
    fn alike(&self, other: &Term) -> f32 {
        let own = &self.0;
        let begins = (own.word.len() >= SHORTEST_PREFIX && other.word.starts_with(&*own.word))
            || (own.stem.len() >= SHORTEST_MISSPELT && other.stem.starts_with(&*own.stem));
        if own.stem == other.stem {
            1.0
        } else if begins {
            PREFIX_WORTH
        } else if is_misspelt((&own.word, own.letters), (&other.word, other.letters), SHORTEST_MISSPELT)
            || is_misspelt(
                (&own.stem, own.stem_letters),
                (&other.stem, other.stem_letters),
                SHORTEST_MISSPELT_STEM,
            )
        {
            MISSPELT_WORTH
        } else {
            0.0
        }
    }
}

/// Each text comes with its letters.
fn is_misspelt(own: (&str, u32), other: (&str, u32), shortest: usize) -> bool {
    (own.1 ^ other.1).count_ones() <= 2
        && own.0.chars().count() >= shortest
        && is_within_one_edit(own.0, other.0)
}

pub struct Question {
    words: Vec<Word>,
}

impl Question {
    pub fn new(text: &str) -> Self {
        let mut words: Vec<Word> = Vec::new();
        for (_, typed) in tokens(&text.to_lowercase()) {
            for_each_stem(typed, Language::English, |stem| {
                if words.len() < MOST_WORDS && words.iter().all(|word| &*word.0.stem != stem) {
                    words.push(Word(Term::new(stem, typed)));
                }
            });
        }
        Self { words }
    }

    /// Returns the positions and scores of the entries that match, the best first; of two with the same score, the one that
    /// comes first.
    pub fn rank<'a>(&self, lexicon: &Lexicon, entries: impl Iterator<Item = &'a Terms>) -> Vec<(usize, f32)> {
        let alike = |word: &Word| lexicon.terms().iter().map(|term| word.alike(term)).collect();
        let alike: Vec<Vec<f32>> = self.words.iter().map(alike).collect();
        let worths: Vec<Vec<f32>> =
            entries.map(|terms| alike.iter().map(|alike| terms.worth(alike)).collect()).collect();
        let rarity: Vec<f32> = (0..self.words.len())
            .map(|word| {
                let having = worths.iter().filter(|worth| worth[word] > 0.0).count() as f32;
                (1.0 + (worths.len() as f32 - having + 0.5) / (having + 0.5)).ln()
            })
            .collect();
        let mut ranked: Vec<(usize, f32)> = worths
            .iter()
            .enumerate()
            .filter_map(|(place, worth)| {
                let met =
                    worth.iter().filter(|worth| **worth > 0.0).count() as f32 / worth.len().max(1) as f32;
                let sum: f32 = worth
                    .iter()
                    .zip(&rarity)
                    .map(|(worth, rarity)| rarity * worth / (worth + SATURATION))
                    .sum();
                (sum > 0.0).then_some((place, sum * met * met))
            })
            .collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        ranked
    }

    /// Returns the part of an entry around its first match, as HTML: matches are marked, everything else is escaped.
    pub fn snippet(&self, texts: &[(&'static str, Cow<str>)]) -> String {
        let names = ["body", "description"].into_iter().chain(FIELDS.map(|(name, _)| name));
        let texts = names.filter_map(|name| texts.iter().find(|(own, _)| *own == name));
        let texts: Vec<&str> = texts.map(|(_, text)| &**text).collect();
        let found = texts.iter().find_map(|text| self.first_match(text).map(|place| (text, place)));
        match found {
            Some((text, place)) => self.marked(excerpt(text, place)),
            None => escape_html(excerpt(texts.iter().find(|text| !text.is_empty()).unwrap_or(&""), 0)),
        }
    }

    fn first_match(&self, text: &str) -> Option<usize> {
        tokens(text).find(|(_, word)| self.matches(word)).map(|(place, _)| place)
    }

    fn marked(&self, text: &str) -> String {
        let (mut html, mut done) = (String::new(), 0);
        for (place, word) in tokens(text).filter(|(_, word)| self.matches(word)) {
            let _ = write!(html, "{}<mark>{}</mark>", escape_html(&text[done..place]), escape_html(word));
            done = place + word.len();
        }
        html.push_str(&escape_html(&text[done..]));
        html
    }

    fn matches(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let mut matches = false;
        for_each_stem(&word, Language::English, |stem| {
            let term = Term::new(stem, &word);
            matches |= self.words.iter().any(|own| own.alike(&term) > 0.0);
        });
        matches
    }
}

/// About [`SNIPPET`] bytes around a place, cut between words.
fn excerpt(text: &str, place: usize) -> &str {
    let mut begin = place.saturating_sub(SNIPPET / 3);
    while !text.is_char_boundary(begin) {
        begin -= 1;
    }
    if begin > 0 {
        begin += text[begin..place].find(char::is_whitespace).map_or(place - begin, |space| space + 1);
        // Not every space is one byte.
        while !text.is_char_boundary(begin) {
            begin += 1;
        }
    }
    let mut end = (begin + SNIPPET).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end < text.len() {
        end = text[begin..end].rfind(char::is_whitespace).map_or(end, |space| begin + space);
    }
    &text[begin..end.max(begin)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>(title: &'a str, body: &'a str) -> Vec<(&'static str, Cow<'a, str>)> {
        vec![("title", title.into()), ("body", body.into())]
    }

    fn rank(question: &str) -> Vec<usize> {
        let entries = [
            entry("Holiday rota", "Who is away in August, and who stands in."),
            entry("New printers", "The announcement about the printers on the third floor."),
            entry("Fire drill", "A drill is announced for Monday. Printers stay on."),
        ];
        let mut lexicon = Lexicon::default();
        let terms: Vec<Terms> = entries.iter().map(|entry| lexicon.read(entry)).collect();
        Question::new(question).rank(&lexicon, terms.iter()).into_iter().map(|(place, _)| place).collect()
    }

    #[test]
    fn titles_count_more_and_all_words_more_than_some() {
        assert_eq!(rank("printers"), [1, 2]);
        assert_eq!(rank("printers monday"), [2, 1]);
        assert_eq!(rank("elephants"), [] as [usize; 0]);
        assert_eq!(rank("the"), [] as [usize; 0]);
    }

    #[test]
    fn a_missing_letter_an_inflection_and_a_beginning_are_forgiven() {
        assert_eq!(rank("prnters"), [1, 2]);
        assert_eq!(rank("printing"), [1, 2]);
        assert_eq!(rank("holi"), [0]);
        assert_eq!(rank("holyday"), [0]);
        assert_eq!(rank("holdiay"), [0]);
        assert_eq!(rank("announcemnt"), [1]);
        assert_eq!(rank("flor"), [1]);
        assert_eq!(rank("augst"), [0]);
    }

    #[test]
    fn a_snippet_marks_what_was_found_and_is_safe_to_show() {
        let question = Question::new("printer");
        let value = entry("x", "<script>alert(1)</script> Two printers & a fax.");
        assert_eq!(
            question.snippet(&value),
            "&lt;script&gt;alert(1)&lt;/script&gt; Two <mark>printers</mark> &amp; a fax."
        );
        let long = format!("{}printer {}", "wörd ".repeat(100), "wörd ".repeat(100));
        let snippet = question.snippet(&entry("x", &long));
        assert!(snippet.contains("<mark>printer</mark>") && snippet.len() < SNIPPET + 60, "{snippet}");
        for space in ["\u{3000}", "\u{a0}"] {
            let body = format!("{}{space}printer {}", "あ".repeat(30), "word ".repeat(100));
            let snippet = question.snippet(&entry("x", &body));
            assert!(snippet.starts_with("<mark>printer</mark>"), "{snippet}");
        }
    }
}
