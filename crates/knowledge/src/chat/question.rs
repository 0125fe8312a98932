//! What a question asks for: the names and numbers that an answer has to be about, and the kind of thing that it has to have.

use super::follow_up::last_part;
use super::source::Source;
use super::wanted::{self, ENDS_THING, Wanted};
use words::{Language, Term, stem_set, stems, terms, tokens};

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
    /// The property in "what is the boiling point of tungsten", as stems.
    pub property: Vec<String>,
    /// The thing in "which amendment", as a stem.
    which: Option<String>,
    /// Whether it asks how something is done.
    pub wants_steps: bool,
    /// Whether it asks for all of several things.
    pub wants_all: bool,
    pub is_english: bool,
    language: Option<Language>,
}

impl Asked {
    pub fn new(question: &str) -> Self {
        let language = Language::of(question);
        let is_english = language.is_none_or(|language| language == Language::English);
        let (names, numbers) = names(question, is_english);
        let lower = wanted::in_blanks(last_part(question));
        Self {
            text: question.to_owned(),
            names,
            numbers,
            counted: counted(&lower),
            wanted: Wanted::of(&lower),
            property: property(&lower),
            which: which(&lower),
            wants_steps: wanted::wants_steps(&lower),
            wants_all: wanted::wants_all(&lower),
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
        self.numbers.iter().filter(|number| !has_number(&text, number)).count()
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

    /// Returns the title or heading above a text that names the thing which the question asks for, if the text does not.
    pub fn heading_asked_for<'a>(
        &self,
        source: &'a Source,
        titles: &[&'a str],
        text: &str,
    ) -> Option<&'a str> {
        let which =
            self.which.as_ref().filter(|which| !stem_set(text, Language::English).contains(*which))?;
        let headings = source.headings.iter().map(String::as_str).chain(titles.iter().copied());
        headings.rev().find(|heading| stem_set(heading, Language::English).contains(which))
    }

    /// Returns whether a text has a word that seems to be a name and is none of the question's.
    fn has_other_name(&self, text: &str) -> bool {
        let mut starts = true;
        text.split_whitespace().any(|word| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let is_name = !starts && word.starts_with(char::is_uppercase) && !self.names.contains(&bare);
            starts = word.ends_with(['.', '!', '?', ':']);
            is_name
        })
    }

    /// Returns whether a text has a thing of the kind that is asked for.
    pub fn finds_wanted(&self, text: &str) -> bool {
        match self.wanted {
            Wanted::Person => self.has_other_name(text),
            // "One" and "every" seldom say how many there are.
            Wanted::Number if !self.counted.is_empty() => Wanted::has_number(&self.without_own(text)),
            kind => kind.is_in(&self.without_own(text)),
        }
    }

    /// Returns a text without the question's names and numbers: "A320" does not say how many.
    fn without_own(&self, text: &str) -> String {
        let is_own = |word: &&str| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            self.names.contains(&bare) || self.numbers.contains(&bare)
        };
        text.split_whitespace().filter(|word| !is_own(word)).collect::<Vec<&str>>().join(" ")
    }
}

const EXACT_NAME: f32 = 1.5;
/// Numbers in words that say how often or how many, and that an answer repeats.
#[rustfmt::skip]
const SPELLED: &[&str] = &[
    "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty", "hundred",
];

/// The ways in which small numbers are written.
#[rustfmt::skip]
const WRITTEN: &[[&str; 3]] = &[
    ["3", "three", "third"], ["4", "four", "fourth"], ["5", "five", "fifth"], ["6", "six", "sixth"],
    ["7", "seven", "seventh"], ["8", "eight", "eighth"], ["9", "nine", "ninth"], ["10", "ten", "tenth"],
    ["11", "eleven", "eleventh"], ["12", "twelve", "twelfth"],
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

/// Returns the stems of the property of something that is asked for.
fn property(lower: &str) -> Vec<String> {
    let after = [" what is the ", " what was the ", " what are the "]
        .iter()
        .find_map(|start| lower.split_once(start));
    let of = after.and_then(|(_, after)| after.split_once(" of "));
    of.map_or_else(Vec::new, |(property, _)| stems(property, Language::English))
}

/// Returns the stem of the noun right after "which", or after "what" if that does not begin otherwise.
fn which(lower: &str) -> Option<String> {
    let after = [" which ", " what "].iter().find_map(|start| lower.split_once(start))?.1;
    let noun = after.split(' ').next().filter(|word| !ENDS_THING.contains(word))?;
    stems(noun, Language::English).into_iter().next()
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

/// Returns whether a text has a number, or another word for it. Digits are not looked for: many texts have a "10".
fn has_number(lower: &str, number: &str) -> bool {
    let words = WRITTEN.iter().find(|written| written.contains(&number));
    has_word(lower, number)
        || words.is_some_and(|[_, words @ ..]| words.iter().any(|word| has_word(lower, word)))
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
    fn a_number_may_be_written_in_several_ways() {
        let missing = |question: &str, text: &str| Asked::new(question).missing_numbers(text);
        assert_eq!(missing("Which interval spans four notes?", "It is the fourth."), 0);
        assert_eq!(missing("Which interval spans 4 notes?", "It has four notes."), 0);
        assert_eq!(missing("Which interval spans four notes?", "It has 4 notes."), 1);
        assert_eq!(missing("Which interval spans 40 notes?", "It has four notes."), 1);
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
        check("What does it cost?", "It is a low cost device.", false);
        check("What does it cost?", "It is free.", true);
        check("What does it cost?", "Type: `$ python main.py 3`", false);
        check("What does it cost?", "Year: 1970; Origin: Europe", false);
        check("What does it cost?", "It is sold for $ 20.", true);
        check("What does it cost?", "It is sold for 20 €.", true);
        check("Which TCP port does it use?", "It uses the port of the server.", false);
        check("What is the lowest temperature?", "It may be -40 degrees.", true);
        check("Which year was it printed?", "It was printed in London.", false);
        check("Which year was it printed?", "It was printed in 1865.", true);
        check("How many are there?", "There are three.", false);
        check("How many are there?", "2.3. Members", false);
        check("How many are there?", "2.3. Its 5 members", true);
        check("How many fit into an A320?", "The aircraft is an A320.", false);
        check("How many fit into an A320?", "The A320 has 180 seats.", true);
        check("How many are there?", "There are three of them.", true);
        check("How many judges are there?", "There is one supreme court.", false);
        check("How often is it checked?", "It is checked once a year.", true);
        check("Who drew Mount Eden?", "Mount Eden is a volcano. Its shape is known.", false);
        check("Who drew Mount Eden?", "It was drawn by Ross Ihaka.", true);
        check("How long is it in office? who was the first?", "It is in office for 2 years.", false);
    }

    #[test]
    fn several_things_are_asked_for() {
        let wants = |question: &str| {
            let asked = Asked::new(question);
            (asked.wants_steps, asked.wants_all)
        };
        assert_eq!(wants("Which audio plugins are recommended?"), (false, true));
        assert_eq!(wants("Which formats does it read?"), (false, true));
        assert_eq!(wants("Which plugin is recommended?"), (false, false));
        assert_eq!(wants("Which class does it have?"), (false, false));
        assert_eq!(wants("How do I install it?"), (true, false));
    }

    #[test]
    fn the_heading_is_the_answer_to_which() {
        let mut source = Source::of_texts(["The ban is lifted."]).remove(0);
        source.headings = vec!["Amendments".to_owned(), "Amendment XXI".to_owned(), "Section 1".to_owned()];
        let heading = |question: &str| {
            Asked::new(question).heading_asked_for(&source, &[], &source.text).map(str::to_owned)
        };
        assert_eq!(heading("Which amendment lifted the ban?").as_deref(), Some("Amendment XXI"));
        assert_eq!(heading("What ban was lifted?"), None);
        assert_eq!(heading("When was the amendment made?"), None);
    }
}
