//! What one document names, gathered over its lines: every sighting of a name or phrase goes to its thing.

use std::collections::HashMap;
use std::ops::Range;

use crate::key::key;
use crate::kind::{Kind, Votes, definition, votes};
use crate::lexicon::Marks;
use crate::names::{forms, is_numeral, names};
use crate::phrases::phrases;
use crate::reading::{Line, Place, Reading};
use crate::text::{Gap, Shape, Word};

const MOST_LABELS: usize = 16;

#[derive(Default)]
pub struct Thing {
    pub key: String,
    /// Keys by which others may call it.
    pub others: Vec<String>,
    /// As written, each with how often.
    pub labels: Vec<(String, u32)>,
    pub votes: Votes,
    pub is_name: bool,
    pub words: usize,
    pub sightings: Vec<Sighting>,
    merged_into: Option<usize>,
}

#[derive(Clone, Copy)]
pub struct Sighting {
    pub passage: u32,
    pub place: Place,
    pub sentence: u32,
    pub defines: bool,
    /// Part of a longer name or phrase here.
    pub nested: bool,
}

#[derive(Default)]
pub struct Things {
    pub all: Vec<Thing>,
    places: HashMap<String, usize>,
}

impl Things {
    pub fn of(reading: &Reading<'_>) -> Things {
        let mut things = Things::default();
        for line in &reading.lines {
            if line.place == Place::Title {
                things.see_title(line, reading);
            }
            let names = names(line, reading);
            names.iter().for_each(|name| things.see_name(line, name));
            things.see_phrases(line, phrases(line, reading, &names));
        }
        things
    }

    /// The thing of that key, or the one that it was merged into.
    pub fn find(&self, key: &str) -> Option<usize> {
        self.places.get(key).map(|&index| self.root(index))
    }

    fn root(&self, mut index: usize) -> usize {
        while let Some(into) = self.all[index].merged_into {
            index = into;
        }
        index
    }

    /// From now on what was seen as `from` counts as seen as `into`.
    pub fn merge(&mut self, into: usize, from: usize) {
        let (into, from) = (self.root(into), self.root(from));
        if into == from {
            return;
        }
        let mut other = std::mem::take(&mut self.all[from]);
        self.all[from].merged_into = Some(into);
        let thing = &mut self.all[into];
        thing.votes.merge(&other.votes);
        thing.sightings.append(&mut other.sightings);
        thing.others.append(&mut other.others);
    }

    /// The title as a whole, less what it says in brackets.
    fn see_title(&mut self, line: &Line<'_>, reading: &Reading<'_>) {
        let end = line.words.iter().position(|word| word.gap == Gap::Open).unwrap_or(line.words.len());
        let content = line.words[..end].iter().filter(|word| !reading.is_stop(word));
        let large = content.clone().filter(|word| word.shape != Shape::Lower).count();
        let is_name = large * 2 > content.count();
        if end == 0 || end > 9 || end > 3 && !is_name {
            return;
        }
        let comma =
            line.words[..end].iter().skip(1).position(|word| word.gap == Gap::Comma).map(|index| index + 1);
        self.see_name(line, &(0..end));
        let whole = forms(&line.words[..end]).key;
        let Some(thing) = self.find(&whole).map(|index| &mut self.all[index]) else { return };
        thing.is_name = is_name || end == 1;
        if let Some(comma) = comma {
            let head = forms(&line.words[..comma]);
            thing.others.extend(std::iter::once(head.key).chain(head.others));
        }
    }

    fn see_name(&mut self, line: &Line<'_>, name: &Range<usize>) {
        let words = &line.words[name.clone()];
        let forms = forms(words);
        let votes = votes(&line.words, name);
        let defines = words[0].starts_sentence() && definition(&line.words[name.end..]).is_some();
        let sighting = sighting(line, name, defines);
        let thing = self.thing(forms.key);
        thing.is_name = true;
        thing.words = words.len();
        thing.votes.merge(&votes);
        thing.others.extend(forms.others);
        thing.see(label(words), sighting);
        if let Some(tail) = tail(words) {
            self.see_nested(line, name.start + tail.start..name.start + tail.end);
        }
    }

    fn see_nested(&mut self, line: &Line<'_>, name: Range<usize>) {
        let words = &line.words[name.clone()];
        let sighting = Sighting { nested: true, ..sighting(line, &name, false) };
        let thing = self.thing(forms(words).key);
        thing.is_name = true;
        thing.words = words.len();
        thing.votes.merge(&votes(&line.words, &name));
        thing.see(label(words), sighting);
    }

    fn see_phrases(&mut self, line: &Line<'_>, phrases: Vec<Range<usize>>) {
        for (index, phrase) in phrases.iter().enumerate() {
            // A longer phrase around this one is at most four starts of four phrases away.
            let near = &phrases[index.saturating_sub(16)..(index + 4).min(phrases.len())];
            let covers = |other: &Range<usize>| other.start <= phrase.start && other.end >= phrase.end;
            let nested = near.iter().any(|other| other != phrase && covers(other));
            let words = &line.words[phrase.clone()];
            let starts = words[0].starts_sentence()
                || phrase.start > 0 && line.words[phrase.start - 1].starts_sentence();
            let defines = starts && definition(&line.words[phrase.end..]).is_some();
            let thing = self.thing(key(words.iter().map(|word| word.text)));
            thing.words = words.len();
            if !thing.is_name {
                thing.votes.merge(&Votes::one(Kind::Concept, 1.0));
            }
            let label = label(words);
            let label = if words[0].shape == Shape::Capital { label.to_lowercase() } else { label };
            thing.see(label, Sighting { nested, ..sighting(line, phrase, defines) });
        }
    }

    fn thing(&mut self, key: String) -> &mut Thing {
        let next = self.all.len();
        let index = *self.places.entry(key.clone()).or_insert(next);
        if index == next {
            self.all.push(Thing { key, ..Thing::default() });
        }
        &mut self.all[index]
    }
}

impl Thing {
    fn see(&mut self, label: String, sighting: Sighting) {
        self.sightings.push(sighting);
        match self.labels.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => self.labels.push((label, 1)),
        }
        self.labels.truncate(MOST_LABELS);
    }
}

fn sighting(line: &Line<'_>, range: &Range<usize>, defines: bool) -> Sighting {
    let sentence = line.words[range.start].sentence;
    Sighting {
        passage: line.passage,
        place: line.place,
        sentence,
        defines: defines || line.place != Place::Body,
        nested: false,
    }
}

/// The name after "of": "Elmham" in "Bishop of Elmham".
fn tail(words: &[Word<'_>]) -> Option<Range<usize>> {
    let of = words.iter().rposition(|word| word.lower == "of")?;
    let start = of + 1 + words[of + 1..].iter().position(|word| word.lower != "the")?;
    let is_name = words[start].is_capitalized() && !is_numeral(&words[start]);
    let says = !words[start].marks.any(Marks::WEAK.or(Marks::PLAIN));
    (of > 0 && is_name && says).then_some(start..words.len())
}

/// As it stands in the text, with single spaces.
fn label(words: &[Word<'_>]) -> String {
    let mut label = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            label.push_str(if word.gap == Gap::Comma { ", " } else { " " });
        }
        label.push_str(word.text);
        if word.shape == Shape::Initial && !is_numeral(word) {
            label.push('.');
        }
        if word.possessive && index + 1 < words.len() {
            label.push_str("'s");
        }
    }
    label
}
