//! Names: runs of capitalised words, codes, and what stands in quotation marks; and the forms of a name.

use std::ops::Range;

use crate::key::key;
use crate::lexicon::Marks;
use crate::reading::{Line, Place, Reading};
use crate::text::{Gap, Shape, Word};

/// Longer runs are lists or headings, not names.
const LONGEST_NAME: usize = 10;

/// Where names stand in a line, from left to right, none over another.
pub fn names(line: &Line<'_>, reading: &Reading<'_>) -> Vec<Range<usize>> {
    let scan = Scan { words: &line.words, reading, place: line.place };
    let mut names = Vec::new();
    let mut at = 0;
    while at < line.words.len() {
        let end = scan.quotation(at).or_else(|| scan.name(at));
        let name = end.map_or(at..at, |end| scan.trimmed(at..end));
        if !name.is_empty() && scan.is_telling(&name) {
            names.push(name);
        }
        at = end.unwrap_or(at + 1);
    }
    names
}

struct Scan<'s, 'a> {
    words: &'s [Word<'a>],
    reading: &'s Reading<'a>,
    place: Place,
}

impl Scan<'_, '_> {
    /// The end of what stands in quotation marks from here, where it looks like a title.
    fn quotation(&self, at: usize) -> Option<usize> {
        if self.words[at].gap != Gap::Quote || !self.words[at].is_capitalized() {
            return None;
        }
        let inside = self.words[at + 1..].iter().take(LONGEST_NAME);
        let length = 1 + inside.clone().position(|word| word.gap != Gap::Space)?;
        let end = at + length;
        let closes = self.words[end].gap == Gap::Quote;
        (closes && (length == 1 || self.words[end - 1].is_capitalized())).then_some(end)
    }

    /// The end of the name that starts here.
    fn name(&self, at: usize) -> Option<usize> {
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
        if word.shape == Shape::Code {
            return true;
        }
        if !word.is_capitalized() || word.marks.any(Marks::HONORIFIC.or(Marks::DATE)) {
            return false;
        }
        let next = self.words.get(at + 1).filter(|next| next.gap == Gap::Space);
        let leads_on = next.is_some_and(|next| next.is_capitalized() && !self.reading.is_stop(next));
        if self.reading.is_stop(word) {
            // "The Straw Hat" inside a sentence.
            return leads_on
                && word.gap == Gap::Space
                && word.shape == Shape::Capital
                && self.place == Place::Body;
        }
        if word.shape == Shape::Upper || word.shape == Shape::Initial {
            return word.shape == Shape::Upper || leads_on;
        }
        if self.place == Place::Body && !word.starts_sentence() || self.reading.is_large(word) {
            return true;
        }
        if self.reading.is_small(word) || word.marks.any(Marks::WEAK.or(Marks::PLAIN)) {
            return false;
        }
        let is_known = word.marks.any(Marks::GIVEN_NAME.or(Marks::COUNTRY).or(Marks::RANK));
        leads_on || is_known || word.possessive || self.place == Place::Title
    }

    /// How many words more belong to the name from `at` to `end`.
    fn step(&self, at: usize, end: usize) -> usize {
        let word = &self.words[end];
        if word.gap != Gap::Space {
            return 0;
        }
        if word.is_capitalized() || word.shape == Shape::Code {
            let small_heading = self.place != Place::Body && self.reading.is_small(word);
            return usize::from(!small_heading && !word.marks.any(Marks::HONORIFIC));
        }
        if word.shape == Shape::Number && word.text.len() <= 2 {
            return 1;
        }
        let joins = |word: &Word<'_>| word.marks.any(Marks::JOINS) && word.shape == Shape::Lower;
        let names =
            |word: &Word<'_>| word.is_capitalized() && !self.reading.is_stop(word) && word.gap == Gap::Space;
        let after = |offset: usize| self.words.get(end + offset);
        let is_and = word.text == "&" || word.lower == "and" && self.is_office(at..end, after(1));
        if is_and {
            return if after(1).is_some_and(names) { 2 } else { 0 };
        }
        if !joins(word) {
            return 0;
        }
        let second_joins = after(1).is_some_and(|next| joins(next) || next.lower == "the");
        match (after(1), after(2)) {
            (Some(next), _) if names(next) => 2,
            (_, Some(next)) if second_joins && names(next) => 3,
            _ => 0,
        }
    }

    /// "Ministry of Trade and Industry", "Harmon and Sons".
    fn is_office(&self, name: Range<usize>, next: Option<&Word<'_>>) -> bool {
        let words = &self.words[name];
        let has_of = words.iter().any(|word| word.lower == "of");
        let is_organization = |word: &Word<'_>| word.marks.any(Marks::ORGANIZATION);
        has_of && words.iter().any(is_organization)
            || next.is_some_and(|next| ["sons", "company", "co"].contains(&next.lower.as_str()))
    }

    /// Without articles and general words at its edges.
    fn trimmed(&self, mut name: Range<usize>) -> Range<usize> {
        let is_edge = |word: &Word<'_>| {
            let is_numeral = matches!(word.shape, Shape::Upper | Shape::Initial);
            !is_numeral && (self.reading.is_stop(word) || word.marks.any(Marks::DATE)) || word.text == "&"
        };
        if name.len() > 1 && self.words[name.start].gap == Gap::Quote {
            return name;
        }
        while !name.is_empty() && is_edge(&self.words[name.end - 1]) {
            name.end -= 1;
        }
        while !name.is_empty() && is_edge(&self.words[name.start]) {
            name.start += 1;
        }
        name
    }

    /// A lone word must say something: neither "President" nor "the University" nor "American" is a name.
    fn is_telling(&self, name: &Range<usize>) -> bool {
        let words = &self.words[name.clone()];
        let general = Marks::WEAK.or(Marks::PLAIN).or(Marks::RANK).or(Marks::DEMONYM).or(Marks::ORGANIZATION);
        let general = general.or(Marks::PLACE).or(Marks::EVENT).or(Marks::DATE).or(Marks::HONORIFIC);
        let is_general = |word: &Word<'_>| word.marks.any(general) && word.shape == Shape::Capital;
        let is_quoted = words.first().is_some_and(|word| word.gap == Gap::Quote);
        let has_letters = words.iter().any(|word| {
            word.text.chars().filter(|c| c.is_alphabetic()).count() > 1 || word.shape == Shape::Code
        });
        has_letters && (is_quoted || words.len() > 1 || !words.iter().all(is_general))
    }
}

/// The key of a name and those of its other forms: without rank, without initials, the part before "of".
pub struct Forms {
    pub key: String,
    pub others: Vec<String>,
}

pub fn forms(words: &[Word<'_>]) -> Forms {
    let own = |words: &[&Word<'_>]| key(words.iter().map(|word| word.text));
    let all: Vec<&Word<'_>> = words.iter().skip_while(|word| word.marks.any(Marks::ARTICLE)).collect();
    let mut forms = Forms { key: own(&all), others: Vec::new() };
    let is_generic = Marks::ORGANIZATION.or(Marks::PLACE).or(Marks::EVENT);
    let is_titled = !all.iter().any(|word| word.marks.any(is_generic));
    let bare: Vec<&Word<'_>> = all.iter().copied().skip_while(|word| is_titled && is_rank(word)).collect();
    forms.add(own(&bare));
    if let Some(of) = bare.iter().position(|word| word.lower == "of") {
        let head: Vec<&Word<'_>> = bare[..of].iter().copied().filter(|word| !is_rank(word)).collect();
        if is_titled && !head.is_empty() {
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
    word.marks.any(Marks::RANK.or(Marks::HONORIFIC)) && word.is_capitalized()
}

/// "II" and "V" as in "Lothair II" and "Marianus V".
pub fn is_numeral(word: &Word<'_>) -> bool {
    word.text.bytes().all(|b| matches!(b, b'I' | b'V' | b'X'))
}
