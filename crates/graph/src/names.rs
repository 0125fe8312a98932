//! Names: runs of capitalised words, codes, and titles in quotation marks; and the forms of a name.

use std::ops::Range;

use crate::key::key;
use crate::lexicon::WordClasses;
use crate::parsed_text::{Line, ParsedText, TextPart};
use crate::phrases::MAX_PHRASE_WORDS;
use crate::text::{Gap, Shape, Word};
use crate::units::{is_measure, is_unit, is_unit_of_number};

/// Longer runs are lists or headings, not names.
const LONGEST_NAME: usize = 10;

/// Returns the ranges of the names in a line, from left to right, without overlaps.
pub fn names(line: &Line<'_>, parsed: &ParsedText<'_>) -> Vec<Range<usize>> {
    let scan =
        Scan { words: &line.words, parsed, part: line.part, capitalizes_nouns: line.capitalizes_nouns() };
    let mut names = Vec::new();
    let mut at = 0;
    while at < line.words.len() {
        let end = scan.quotation(at).or_else(|| scan.cell(at)).or_else(|| scan.name(at));
        let name = end.map_or(at..at, |end| scan.trimmed(at..end));
        if !name.is_empty() && scan.is_specific(&name) {
            names.push(name);
        }
        at = end.unwrap_or(at + 1);
    }
    names
}

/// As in "Alexander the Great".
const EPITHETS: [&str; 16] = [
    "bald",
    "black",
    "bold",
    "confessor",
    "conqueror",
    "elder",
    "fair",
    "good",
    "great",
    "lion",
    "magnificent",
    "pious",
    "terrible",
    "white",
    "wise",
    "younger",
];

struct Scan<'s, 'a> {
    words: &'s [Word<'a>],
    parsed: &'s ParsedText<'a>,
    part: TextPart,
    capitalizes_nouns: bool,
}

impl Scan<'_, '_> {
    /// Returns the end of the quotation that starts here, if it looks like a title.
    fn quotation(&self, at: usize) -> Option<usize> {
        if self.words[at].gap != Gap::Quote || !self.words[at].is_capitalized() {
            return None;
        }
        let inside = self.words[at + 1..].iter().take(LONGEST_NAME);
        let length = 1 + inside.clone().position(|word| word.gap != Gap::Space)?;
        let end = at + length;
        let closes = self.words[end].gap == Gap::Quote;
        (closes && (length < 7 || self.words[end - 1].is_capitalized())).then_some(end)
    }

    /// Returns the end of the cell that starts here, if a few words that begin with a capital fill it: "Escherichia coli".
    fn cell(&self, at: usize) -> Option<usize> {
        if self.words[at].gap != Gap::Cell || self.words[at].shape != Shape::Capital {
            return None;
        }
        let rest = &self.words[at + 1..];
        let length = 1 + rest.iter().take_while(|word| word.gap == Gap::Space).count();
        let is_filled = rest.get(length - 1).is_none_or(|next| matches!(next.gap, Gap::Cell | Gap::Sentence));
        let is_plain = |word: &Word<'_>| matches!(word.shape, Shape::Capital | Shape::Lower) && !word.is_stop;
        let cell = &self.words[at..at + length];
        ((2..=MAX_PHRASE_WORDS).contains(&length) && is_filled && cell.iter().all(is_plain))
            .then_some(at + length)
    }

    /// Returns the end of the name that starts here.
    fn name(&self, at: usize) -> Option<usize> {
        if self.parsed.is_program(&self.words[at]) {
            return Some(at + 1);
        }
        if !self.starts(at) {
            return None;
        }
        let mut end = at + 1;
        while end < self.words.len() && end - at < LONGEST_NAME {
            match self.step(at, end) {
                0 => break,
                step => end += step,
            }
        }
        Some(end)
    }

    fn starts(&self, at: usize) -> bool {
        let word = &self.words[at];
        if self.is_unit(at) {
            return false;
        }
        if word.shape == Shape::Code {
            return !word.is_stop;
        }
        if !word.is_capitalized() || word.classes.any(WordClasses::HONORIFIC.or(WordClasses::DATE)) {
            return false;
        }
        let next = self.words.get(at + 1).filter(|next| next.gap == Gap::Space);
        let leads_on = next.is_some_and(|next| next.is_capitalized() && !next.is_stop);
        if word.is_stop {
            // "The Straw Hat" inside a sentence.
            return leads_on
                && word.gap == Gap::Space
                && word.shape == Shape::Capital
                && self.part == TextPart::Body;
        }
        if word.shape == Shape::Upper || word.shape == Shape::Initial {
            return word.shape == Shape::Upper || leads_on;
        }
        if self.part == TextPart::Body && !word.starts_sentence() || self.parsed.occurs_capitalized(word) {
            return true;
        }
        if self.parsed.occurs_in_lower_case(word)
            || word.classes.any(WordClasses::WEAK.or(WordClasses::PLAIN))
        {
            return false;
        }
        let is_known =
            word.classes.any(WordClasses::GIVEN_NAME.or(WordClasses::COUNTRY).or(WordClasses::RANK));
        let stands_alone = self.part == TextPart::Title && self.words.len() == 1;
        leads_on || is_known || word.possessive || stands_alone
    }

    /// Recognises "75 kW", "104 mmHg", "45Nm" and "Torque (Nm)".
    fn is_unit(&self, at: usize) -> bool {
        let word = &self.words[at];
        let before = at.checked_sub(1).map(|before| &self.words[before]);
        let is_after_number = before.is_some_and(|before| before.shape == Shape::Number);
        let is_short_code = word.shape == Shape::Code && word.text.len() <= 5;
        is_unit(word.text)
            || is_measure(word.text)
            || (is_after_number && (is_short_code || is_unit_of_number(word.text)))
    }

    /// Returns how many further words belong to the name from `at` to `end`.
    fn step(&self, at: usize, end: usize) -> usize {
        let word = &self.words[end];
        if word.gap != Gap::Space || self.is_unit(end) || self.ends_at_noun(end) {
            return 0;
        }
        if word.is_capitalized() || word.shape == Shape::Code {
            let small_heading = self.part != TextPart::Body && self.parsed.occurs_in_lower_case(word);
            return usize::from(!small_heading && !word.classes.any(WordClasses::HONORIFIC));
        }
        // "Apollo 11", "ISO 10816".
        let digits = if self.words[end - 1].shape == Shape::Upper { 5 } else { 2 };
        if word.shape == Shape::Number && word.text.len() <= digits {
            return 1;
        }
        self.step_over(at, end)
    }

    /// "Firma Nordwerk" and "Hafen von Brevik" are two entities in a language that capitalises all nouns. "Deutsche" of
    /// "Deutsche Bahn" has the ending of an adjective.
    fn ends_at_noun(&self, end: usize) -> bool {
        let (last, next) = (&self.words[end - 1], &self.words[end]);
        let is_adjective = ["e", "en", "er", "es"].iter().any(|ending| last.lower.ends_with(ending));
        let joins_on = next.is_capitalized() && is_adjective;
        self.capitalizes_nouns && (self.parsed.is_noun(next) || self.parsed.is_noun(last) && !joins_on)
    }

    /// Returns how many words from the lower-case one at `end` belong to the name: "of Elmham", "of the Hydaspes", "&
    /// Sons".
    fn step_over(&self, at: usize, end: usize) -> usize {
        let (word, next) = (&self.words[end], self.words.get(end + 1));
        let joins = |word: &Word<'_>| word.classes.any(WordClasses::JOINS) && word.shape == Shape::Lower;
        let names = |word: &Word<'_>| word.is_capitalized() && !word.is_stop && word.gap == Gap::Space;
        let is_followed = next.is_some_and(names);
        let joins_one = match word.lower.as_str() {
            "&" => true,
            "and" => self.is_office(at..end, next),
            "the" => next.is_some_and(|next| EPITHETS.contains(&next.lower.as_str())),
            "of" => !self.is_person(at..end) && !self.is_common(end - 1),
            _ => joins(word),
        };
        let joins_two =
            joins_one && joins(word) && next.is_some_and(|next| joins(next) || next.lower == "the");
        match joins_one {
            true if is_followed => 2,
            true if joins_two && self.words.get(end + 2).is_some_and(names) => 3,
            _ => 0,
        }
    }

    /// "Anna Berg of Berg Pumps" is two names; "Catherine of Aragon" and "King Lothair II of Lotharingia" are one.
    fn is_person(&self, name: Range<usize>) -> bool {
        let words = &self.words[name.clone()];
        let is_plain = |word: &Word<'_>| word.shape == Shape::Capital && !word.classes.any(WordClasses::RANK);
        let before = name.start.checked_sub(1).map(|before| self.words[before].classes).unwrap_or_default();
        let is_known = words[0].classes.any(WordClasses::GIVEN_NAME) || before.any(WordClasses::HONORIFIC);
        words.len() > 1 && is_known && words.iter().all(is_plain)
    }

    /// "the License of the Program", if the document also writes "license" in lower case.
    fn is_common(&self, head: usize) -> bool {
        let word = &self.words[head];
        let general =
            WordClasses::ORGANIZATION.or(WordClasses::PLACE).or(WordClasses::EVENT).or(WordClasses::RANK);
        self.parsed.occurs_in_lower_case(word) && !word.classes.any(general)
    }

    /// "Ministry of Trade and Industry", "Harmon and Sons".
    fn is_office(&self, name: Range<usize>, next: Option<&Word<'_>>) -> bool {
        let words = &self.words[name];
        let has_of = words.iter().any(|word| word.lower == "of");
        let is_organization = |word: &Word<'_>| word.classes.any(WordClasses::ORGANIZATION);
        has_of && words.iter().any(is_organization)
            || next.is_some_and(|next| ["sons", "company", "co"].contains(&next.lower.as_str()))
    }

    /// Returns the name without articles and connecting words at its ends.
    fn trimmed(&self, mut name: Range<usize>) -> Range<usize> {
        let is_year = |word: Option<&Word<'_>>| word.is_some_and(|word| word.shape == Shape::Number);
        let ends_badly = |end: usize| {
            let word = &self.words[end - 1];
            let is_month = word.classes.any(WordClasses::DATE) && is_year(self.words.get(end));
            let is_open = word.is_article()
                || word.classes.any(WordClasses::JOINS)
                || ["and", "&"].contains(&word.lower.as_str());
            is_open || is_month
        };
        if name.len() > 1 && self.words[name.start].gap == Gap::Quote {
            return name;
        }
        while !name.is_empty() && ends_badly(name.end) {
            name.end -= 1;
        }
        while !name.is_empty() && self.words[name.start].is_article() {
            name.start += 1;
        }
        name
    }

    /// Returns whether it can be a name: a single general word such as "President", "University" or "American" is
    /// not.
    fn is_specific(&self, name: &Range<usize>) -> bool {
        let words = &self.words[name.clone()];
        let general = WordClasses::WEAK
            .or(WordClasses::PLAIN)
            .or(WordClasses::RANK)
            .or(WordClasses::DEMONYM)
            .or(WordClasses::ORGANIZATION);
        let general = general
            .or(WordClasses::PLACE)
            .or(WordClasses::EVENT)
            .or(WordClasses::DATE)
            .or(WordClasses::HONORIFIC);
        let is_general = |word: &Word<'_>| word.classes.any(general) && word.shape == Shape::Capital;
        let is_quoted = words.first().is_some_and(|word| word.gap == Gap::Quote);
        let has_letters = !words.iter().all(is_numeral)
            && words.iter().any(|word| {
                word.text.chars().filter(|c| c.is_alphabetic()).count() > 1 || word.shape == Shape::Code
            });
        has_letters && (is_quoted || words.len() > 1 || !words.iter().all(is_general))
    }
}

/// The key of a name, and those of its other forms: without rank, without initials, the part before "of".
pub struct Forms {
    pub key: String,
    pub others: Vec<String>,
}

pub fn forms(words: &[Word<'_>]) -> Forms {
    let own = |words: &[&Word<'_>]| key(words.iter().map(|word| word.text));
    let all: Vec<&Word<'_>> = words.iter().skip_while(|word| word.is_article()).collect();
    let mut forms = Forms { key: own(&all), others: Vec::new() };
    let is_generic = WordClasses::ORGANIZATION.or(WordClasses::PLACE).or(WordClasses::EVENT);
    let is_titled =
        !all.iter().take_while(|word| word.lower != "of").any(|word| word.classes.any(is_generic));
    // "Persian King Darius III": the words before the last rank are dropped with it.
    let leads = all.iter().take_while(|word| is_rank(word) || word.classes.any(WordClasses::DEMONYM)).count();
    let ranks = all[..leads].iter().rposition(|word| is_rank(word)).map_or(0, |last| last + 1);
    let bare: Vec<&Word<'_>> = all[if is_titled { ranks } else { 0 }..].to_vec();
    forms.add(own(&bare));
    if let Some(of) = bare.iter().position(|word| word.lower == "of") {
        let head: Vec<&Word<'_>> = bare[..of].iter().copied().filter(|word| !is_rank(word)).collect();
        let is_firm = head.len() > 1 && head[head.len() - 1].classes.any(WordClasses::ORGANIZATION);
        if (is_titled || is_firm) && !head.is_empty() {
            forms.add(own(&head));
            forms.add(own(&head.iter().chain(&bare[of..]).copied().collect::<Vec<_>>()));
        }
    }
    let spelled: Vec<&Word<'_>> =
        bare.iter().copied().filter(|word| word.shape != Shape::Initial || is_numeral(word)).collect();
    if spelled.len() >= 2 {
        forms.add(own(&spelled));
    }
    forms
}

impl Forms {
    fn add(&mut self, form: String) {
        if !form.is_empty() && form != self.key && !self.others.contains(&form) {
            self.others.push(form);
        }
    }
}

fn is_rank(word: &Word<'_>) -> bool {
    word.classes.any(WordClasses::RANK.or(WordClasses::HONORIFIC)) && word.is_capitalized()
}

/// Recognises "II" and "V" as in "Lothair II" and "Marianus V".
pub fn is_numeral(word: &Word<'_>) -> bool {
    word.text.bytes().all(|b| matches!(b, b'I' | b'V' | b'X'))
}
