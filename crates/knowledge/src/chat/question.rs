//! What a question asks for: the names that an answer has to be about, and the kind of thing that it has to have.

use super::source::Source;
use words::{Language, Term, stem_set, stems, terms, tokens};

/// What a question asks for, by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Number,
    Date,
    Price,
    Person,
    Reason,
    Anything,
}

/// A question, as it is compared with texts.
pub struct Asked {
    pub text: String,
    /// Names of things: "Spotify", "A320-232", "DebConf 19". In lower case.
    names: Vec<String>,
    /// Other numbers of the question.
    numbers: Vec<String>,
    /// What is to be counted, as stems.
    counted: Vec<String>,
    pub wanted: Wanted,
    /// Whether it asks how something is done, or for all of several things.
    pub wants_list: bool,
    pub is_english: bool,
    language: Option<Language>,
}

impl Asked {
    pub fn new(question: &str) -> Self {
        let language = Language::of(question);
        let is_english = language.is_none_or(|language| language == Language::English);
        let (names, numbers) = names(question, is_english);
        let lower = format!(" {} ", question.to_lowercase());
        Self {
            text: question.to_owned(),
            names,
            numbers,
            counted: counted(&lower),
            wanted: Wanted::of(&lower),
            wants_list: has(&lower, LISTS),
            is_english,
            language,
        }
    }

    /// Returns the words of a part of it, to be compared with texts in these languages.
    pub fn terms(&self, part: &str, languages: &[Language]) -> Vec<Term> {
        terms(part, self.language, languages)
    }

    /// Weighs the question's names that neither a text nor what stands above it has. One with a number ("P-377") has no
    /// other spelling.
    pub fn missing_names(&self, source: &Source, text: &str) -> f32 {
        let above = [source.filename(), &source.title, &source.headings.join(" ")].join(" ");
        let text = format!("{above} {text}").to_lowercase();
        let missing = self.names.iter().filter(|name| !mentions(&text, name));
        missing.map(|name| if name.contains(|c: char| c.is_ascii_digit()) { EXACT_NAME } else { 1.0 }).sum()
    }

    /// Counts the question's numbers that a text does not have.
    pub fn missing_numbers(&self, text: &str) -> usize {
        let text = text.to_lowercase();
        self.numbers.iter().filter(|number| !has_word(&text, number)).count()
    }

    /// Returns whether a passage has what the question wants counted: "how many cores".
    pub fn counts(&self, source: &Source) -> bool {
        self.counted.is_empty() || {
            let words = stem_set(
                &format!("{} {} {}", source.title, source.headings.join(" "), source.text),
                Language::English,
            );
            self.counted.iter().any(|stem| words.contains(stem))
        }
    }

    /// Returns whether a text has a thing of the kind that is asked for.
    pub fn finds_wanted(&self, text: &str) -> bool {
        let lower = format!(" {} ", text.to_lowercase());
        let has_digit = || text.contains(|c: char| c.is_ascii_digit());
        match self.wanted {
            Wanted::Anything => true,
            Wanted::Number => has_digit() || has(&lower, NUMBER_WORDS),
            Wanted::Date => has_digit() || has(&lower, TIMES),
            Wanted::Price => text.contains(['€', '$', '£', '¥']) || has(&lower, PRICES),
            Wanted::Person => text.split_whitespace().any(|word| word.starts_with(char::is_uppercase)),
            Wanted::Reason => has(&lower, REASONS),
        }
    }
}

impl Wanted {
    fn of(lower: &str) -> Self {
        if has(lower, ASKS_PRICE) {
            Self::Price
        } else if has(lower, ASKS_NUMBER) {
            Self::Number
        } else if has(lower, ASKS_DATE) {
            Self::Date
        } else if has(lower, &[" who ", " whose ", " wer ", " wessen "]) {
            Self::Person
        } else if has(lower, &[" why ", " warum ", " wieso ", " weshalb "]) {
            Self::Reason
        } else {
            Self::Anything
        }
    }
}

#[rustfmt::skip]
const ASKS_PRICE: &[&str] = &[
    " cost ", " cost?", " costs ", " price ", " price?", " paid ", " paid?", " salary", " kostet", " preis ",
];
#[rustfmt::skip]
const ASKS_NUMBER: &[&str] = &[
    " how many ", " how much ", " how long ", " how often ", " how large ", " how big ", " how far ", " how fast ",
    " how tall ", " how high ", " how old ", " how heavy ", " how likely ", " wie viel", " wie lange ", " wie oft ",
    " wie groß ", " wie hoch ", " what percentage ", " prozent ",
];
#[rustfmt::skip]
const ASKS_DATE: &[&str] = &[
    " what year ", " which year ", " what date ", " which date ", " which day ", " what day ", " which month ",
    " what month ", " wann ", " in welchem jahr",
];
#[rustfmt::skip]
const LISTS: &[&str] = &[
    " how do ", " how can ", " how to ", " how does one ", " steps ", " ways ", " what are ", " which are ", " wie kann ", " wie ",
];
#[rustfmt::skip]
const NUMBER_WORDS: &[&str] = &[
    " one ", " two ", " three ", " four ", " five ", " six ", " seven ", " eight ", " nine ", " ten ", " twelve ",
    " hundred", " thousand", " million", " half ", " once ", " twice ", " always ", " never ", " none ", " no ",
    " every ", " daily", " weekly", " monthly", " zwei ", " drei ", " vier ", " zehn ",
];
#[rustfmt::skip]
const TIMES: &[&str] = &[
    "january", "february", "march", "april", " may ", "june", "july", "august", "september", "october", "november",
    "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", " today", " after ",
    " before ", " until ", " once ", " when ", " during ", " as soon ",
];
#[rustfmt::skip]
const PRICES: &[&str] = &[
    " cost", " price", " euro", " dollar", " usd", " eur ", " pound", " paid", " pay", " free", " salary", " fee",
    " cheap", " expensive", "kostet", "preis", "kostenlos",
];
#[rustfmt::skip]
const REASONS: &[&str] = &[
    "because", " since ", " due to ", " so that ", " in order to ", " therefore", " reason", " thus", " hence", " as ",
    " to ", " for ", " otherwise", " avoid", " prevent", " weil ", " damit ", " denn ", " cause", " if ", " would ",
];
const EXACT_NAME: f32 = 1.5;

/// Numbers in words that say how often or how many, and that an answer repeats.
#[rustfmt::skip]
const SPELLED: &[&str] = &[
    "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty", "hundred",
];

/// Returns the stems of what "how many" asks for. People are called many things.
fn counted(lower: &str) -> Vec<String> {
    let Some((_, after)) = lower.split_once(" how many ") else { return Vec::new() };
    let things: Vec<&str> = after.split(' ').take_while(|word| !ENDS_THING.contains(word)).take(2).collect();
    if things.iter().any(|thing| ["people", "persons", "times"].contains(thing)) {
        return Vec::new();
    }
    stems(&things.join(" "), Language::English)
}

/// Words before which the thing that is counted has been said.
#[rustfmt::skip]
const ENDS_THING: &[&str] = &[
    "of", "does", "do", "did", "is", "are", "was", "were", "can", "may", "must", "should", "has", "have", "had", "in",
    "per", "will", "at", "on", "for", "to", "there",
];

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Returns the names and the other numbers in a question, in lower case.
fn names(question: &str, is_english: bool) -> (Vec<String>, Vec<String>) {
    let (mut names, mut numbers): (Vec<String>, Vec<String>) = Default::default();
    let mut starts = true;
    let mut after_name = false;
    for word in question.split_whitespace() {
        let ends = word.ends_with(['.', '?', '!', ':']);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '$'));
        let bare = bare.trim_end_matches("'s").trim_end_matches("’s");
        // "+221"
        let bare = bare
            .strip_prefix('+')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or(bare);
        let lower = bare.to_lowercase();
        let digits = bare.chars().filter(char::is_ascii_digit).count();
        let is_number = digits > 0 && bare.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
        let capitals = bare.chars().filter(|c| c.is_uppercase()).count();
        let is_mixed = capitals > 1 || bare.chars().skip(1).any(char::is_uppercase) || digits > 0;
        let is_capital = bare.starts_with(char::is_uppercase) && !starts && is_english && bare.len() > 1;
        if is_number && after_name {
            names.push(lower);
        } else if is_number || SPELLED.contains(&lower.as_str()) {
            numbers.push(lower);
        } else if !bare.is_empty() && (is_mixed || is_capital) {
            names.push(lower);
            after_name = true;
            starts = ends;
            continue;
        }
        after_name = false;
        starts = ends;
    }
    (names, numbers)
}

/// Returns whether a text has a name: as words that start so, or each of its pieces.
fn mentions(lower: &str, name: &str) -> bool {
    let singular = name.strip_suffix('s').filter(|short| short.len() > 3).unwrap_or(name);
    has_start(lower, singular)
        || name.contains(['-', '/', '_']) && name.split(['-', '/', '_']).all(|piece| has_start(lower, piece))
}

/// Returns whether a word of the text starts with this. A number must be whole.
fn has_start(lower: &str, start: &str) -> bool {
    let is_number = start.ends_with(|c: char| c.is_ascii_digit());
    lower.match_indices(start).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + start.len()..].chars().next();
        let inside = |c: char| c.is_alphanumeric();
        // "debconf19" has both "debconf" and "19".
        let starts = before.is_none_or(|c| !inside(c) || is_number && !c.is_ascii_digit() && c != '.');
        starts && !(is_number && after.is_some_and(|c| c.is_ascii_digit()))
    })
}

fn has_word(lower: &str, word: &str) -> bool {
    tokens(lower).any(|(_, token)| token == word) || lower.contains(word) && word.contains(['.', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(question: &str, text: &str) -> f32 {
        let source = &Source::of_texts([text])[0];
        Asked::new(question).missing_names(source, text)
    }

    #[test]
    fn a_text_about_another_thing_lacks_the_name() {
        assert_eq!(missing("How many nodes does Spotify run?", "Apple runs 75,000 nodes."), 1.0);
        assert_eq!(missing("How many nodes does Apple run?", "Apple runs 75,000 nodes."), 0.0);
        assert_eq!(missing("How many came to DebConf 19?", "Debconf9 had 200 people."), EXACT_NAME);
        assert_eq!(missing("How many came to DebConf 9?", "Debconf9 had 200 people."), 0.0);
        assert_eq!(missing("When was NUT 1.0.0 released?", "NUT 2.0.0 came in 2004."), EXACT_NAME);
        assert_eq!(missing("What is Alice's cat called?", "Alice has a cat."), 0.0);
        assert_eq!(missing("And the A320-232?", "A320-231: V2500"), EXACT_NAME);
    }

    #[test]
    fn the_first_word_of_a_sentence_is_no_name() {
        assert_eq!(missing("Rehearse it. How?", "Test it."), 0.0);
        assert_eq!(missing("Wie groß ist der Wald in der Stadt?", "Klein."), 0.0);
    }

    #[test]
    fn the_kind_of_the_answer_is_asked_for() {
        let check = |question: &str, text: &str, expected| {
            assert_eq!(Asked::new(question).finds_wanted(text), expected, "{question} {text}");
        };
        check("What does it cost?", "It has 16 ports.", false);
        check("What does it cost?", "It costs 20 euros.", true);
        check("Which year was it printed?", "It was printed in London.", false);
        check("Which year was it printed?", "It was printed in 1865.", true);
        check("How many are there?", "There are three.", false);
        check("How many are there?", "There are three of them.", true);
    }
}
