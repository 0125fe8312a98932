//! Collects the names and phrases of a document, with all occurrences of each.

use std::collections::HashMap;
use std::ops::Range;

use crate::key::key;
use crate::kind::{Kind, Votes, definition, votes};
use crate::lexicon::WordClasses;
use crate::names::{forms, is_numeral, names};
use crate::parsed_text::{Line, ParsedText, TextPart};
use crate::phrases::phrases;
use crate::text::{Gap, Shape, Word};

/// Endings of words that are mostly adjectives.
const ADJECTIVES: [&str; 11] = ["al", "ic", "ous", "ive", "ary", "able", "ible", "ist", "lar", "nar", "ian"];
/// Longer phrases that show a word to be a concept, even if it never stands alone.
const LEAST_AROUND: usize = 4;
/// Names with more forms or labels than this are noise.
const MOST_OTHERS: usize = 16;
const MOST_LABELS: usize = 16;

#[derive(Default)]
pub struct Entity {
    pub key: String,
    /// Keys of other forms of the name.
    pub others: Vec<String>,
    /// As written, each with its count.
    pub labels: Vec<(String, u32)>,
    pub votes: Votes,
    pub is_name: bool,
    /// Whether there is clear evidence for a person.
    pub is_person: bool,
    /// Whether it is also written in lower case.
    pub is_common: bool,
    pub words: usize,
    pub occurrences: Vec<Occurrence>,
    merged_into: Option<usize>,
}

#[derive(Clone, Copy)]
pub struct Occurrence {
    pub passage: u32,
    pub part: TextPart,
    pub sentence: u32,
    pub defines: bool,
    pub inside: Option<Inside>,
}

/// The longer name or phrase that an occurrence is part of.
#[derive(Clone, Copy)]
pub struct Inside {
    /// Index of the longer one in `Entities::all`.
    entity: usize,
    /// Whether these are its last two words: a "single-stage centrifugal pump" is a centrifugal pump.
    is_head: bool,
}

#[derive(Default)]
pub struct Entities {
    pub all: Vec<Entity>,
    indexes: HashMap<String, usize>,
    title: Option<usize>,
}

impl Entities {
    pub fn of(parsed: &ParsedText<'_>) -> Entities {
        let mut entities = Entities::default();
        for line in &parsed.lines {
            if line.part == TextPart::Title {
                entities.add_title(line, parsed);
            }
            let names = names(line, parsed);
            let phrases = phrases(line, parsed, &names);
            let seen = entities.add_phrases(line, &phrases);
            for name in &names {
                let longest = phrases.partition_point(|phrase| phrase.start <= name.start);
                let opened = longest.checked_sub(1).filter(|&index| phrases[index].start == name.start);
                let inside = opened.map(|index| Inside { entity: seen[index], is_head: false });
                entities.add_name(line, parsed, name, inside);
            }
            if line.part == TextPart::Body && line.passage == 0 {
                entities.add_subject(line, &names);
            }
        }
        entities
    }

    /// Returns the entity of a key, or the one that it was merged into.
    pub fn find(&self, key: &str) -> Option<usize> {
        self.indexes.get(key).map(|&index| self.root(index))
    }

    fn root(&self, mut index: usize) -> usize {
        while let Some(into) = self.all[index].merged_into {
            index = into;
        }
        index
    }

    /// Moves all occurrences of `from` to `into`.
    pub fn merge(&mut self, into: usize, from: usize) {
        let (into, from) = (self.root(into), self.root(from));
        if into == from {
            return;
        }
        let mut other = std::mem::take(&mut self.all[from]);
        self.all[from].merged_into = Some(into);
        let entity = &mut self.all[into];
        entity.votes.merge(&other.votes);
        entity.occurrences.append(&mut other.occurrences);
        entity.others.append(&mut other.others);
    }

    /// Adds the title as a whole, without the part in brackets.
    fn add_title(&mut self, line: &Line<'_>, parsed: &ParsedText<'_>) {
        let end = line.words.iter().position(|word| word.gap == Gap::Open).unwrap_or(line.words.len());
        let content = line.words[..end].iter().filter(|word| !word.is_stop);
        let large = content.clone().filter(|word| word.shape != Shape::Lower).count();
        let is_name = large * 2 > content.count();
        if end == 0 || end > 9 || end > 5 && !is_name {
            return;
        }
        let comma =
            line.words[..end].iter().skip(1).position(|word| word.gap == Gap::Comma).map(|index| index + 1);
        self.add_name(line, parsed, &(0..end), None);
        self.title = self.find(&forms(&line.words[..end]).key);
        let Some(entity) = self.title.map(|index| &mut self.all[index]) else { return };
        entity.is_name = is_name || end == 1;
        if let Some(comma) = comma {
            let head = forms(&line.words[..comma]);
            entity.add_forms(std::iter::once(head.key).chain(head.others));
        }
    }

    fn add_name(
        &mut self,
        line: &Line<'_>,
        parsed: &ParsedText<'_>,
        name: &Range<usize>,
        inside: Option<Inside>,
    ) {
        let words = &line.words[name.clone()];
        let forms = forms(words);
        let defines = words[0].starts_sentence() && definition(&line.words[name.end..]).is_some();
        let index = self.index(forms.key);
        let entity = &mut self.all[index];
        // In a language that capitalises all nouns, a noun is no name.
        entity.is_name |= words.len() > 1 || !parsed.is_noun(&words[0]);
        entity.words = words.len();
        let votes = votes(line, name, parsed);
        entity.is_person |= votes.are_for_person();
        entity.votes.merge(&votes);
        entity.add_forms(forms.others);
        entity.add(label(words), Occurrence { inside, ..occurrence(line, name, defines) });
        if let Some(tail) = tail(words) {
            let inside = Inside { entity: index, is_head: false };
            self.add_name(line, parsed, &(name.start + tail.start..name.start + tail.end), Some(inside));
        }
    }

    /// Returns the index of each phrase's entity.
    fn add_phrases(&mut self, line: &Line<'_>, phrases: &[Range<usize>]) -> Vec<usize> {
        let key_of = |phrase: &Range<usize>| key(line.words[phrase.clone()].iter().map(|word| word.text));
        let indexes: Vec<usize> = phrases.iter().map(|phrase| self.index(key_of(phrase))).collect();
        for (index, phrase) in phrases.iter().enumerate() {
            let inside = longest_around(phrases, index).map(|around| Inside {
                entity: indexes[around],
                is_head: phrases[around].end == phrase.end && phrase.len() == 2,
            });
            self.add_phrase(line, phrase, indexes[index], inside);
        }
        indexes
    }

    fn add_phrase(&mut self, line: &Line<'_>, phrase: &Range<usize>, index: usize, inside: Option<Inside>) {
        let words = &line.words[phrase.clone()];
        let starts =
            line.words[phrase.start.saturating_sub(1)..=phrase.start].iter().any(Word::starts_sentence);
        let defines = starts && definition(&line.words[phrase.end..]).is_some();
        let entity = &mut self.all[index];
        entity.words = words.len();
        entity.is_common |= words[0].shape == Shape::Lower;
        if !entity.is_name {
            entity.votes.merge(&Votes::one(Kind::Concept, 1.0));
        }
        let is_sentence_case = words[0].shape == Shape::Capital && words[0].starts_sentence();
        let label = label(words);
        let label = if is_sentence_case { label.to_lowercase() } else { label };
        entity.add(label, Occurrence { inside, ..occurrence(line, phrase, defines) });
    }

    /// Adds what the first sentence calls the subject of the title: "Frederick Barbarossa (1122-1190), also known as
    /// Frederick I, was ..." under the title "Frederick I, Holy Roman Emperor".
    fn add_subject(&mut self, line: &Line<'_>, names: &[Range<usize>]) {
        let (Some(title), Some(first)) = (self.title, names.first()) else { return };
        let after = &line.words[first.end..];
        let opens = first.start <= 1 && after.first().is_some_and(|word| word.gap != Gap::Space);
        let name = forms(&line.words[first.clone()]).key;
        let title_key = &self.all[title].key;
        let shares =
            name.split(' ').any(|word| word.len() > 2 && title_key.split(' ').any(|other| other == word));
        if !shares || !(opens || definition(after).is_some()) {
            return;
        }
        let called = names[1..].iter().filter(|name| line.words[name.start].sentence == 0).filter(|name| {
            let before = &line.words[name.start - 1];
            ["as", "called", "née", "born", "alias", "nicknamed"].contains(&before.lower.as_str())
        });
        let called: Vec<String> = called.map(|name| forms(&line.words[name.clone()]).key).collect();
        self.all[title].add_forms(std::iter::once(name).chain(called));
    }

    /// Adds the long form of an acronym, however rarely it occurs.
    pub fn add_spelled_out(&mut self, line: &Line<'_>, words: &Range<usize>) -> usize {
        let key = key(line.words[words.clone()].iter().map(|word| word.text));
        match self.find(&key) {
            Some(known) => {
                self.all[known].occurrences.iter_mut().for_each(|occurrence| occurrence.inside = None);
                known
            }
            None => {
                let index = self.index(key);
                self.add_phrase(line, words, index, None);
                index
            }
        }
    }

    /// Returns how often an entity occurs independently, by the C-value method (Frantzi and Ananiadou 1999):
    /// occurrences inside longer names and phrases count only if there are several of those and if the entity also
    /// occurs alone, or if it is a word in many of them.
    pub fn independent(&self, entity: &Entity) -> f32 {
        let (mut own, mut nested) = (0.0, 0.0);
        let mut around: Vec<usize> = Vec::new();
        for occurrence in &entity.occurrences {
            match occurrence.inside {
                Some(Inside { entity, is_head })
                    if !is_head || self.all[self.root(entity)].occurrences.len() > 1 =>
                {
                    nested += 1.0;
                    around.push(self.root(entity));
                }
                _ => own += 1.0,
            }
        }
        around.sort_unstable();
        around.dedup();
        // A noun that is never alone but in several phrases is what they are about: "impeller nut", "impeller key".
        let is_shared = entity.words == 1 && around.len() >= LEAST_AROUND;
        if own == 0.0 && !is_shared || around.is_empty() || entity.is_modifier() {
            return own;
        }
        own + nested - nested / around.len() as f32
    }

    fn index(&mut self, key: String) -> usize {
        let next = self.all.len();
        let index = *self.indexes.entry(key.clone()).or_insert(next);
        if index == next {
            self.all.push(Entity { key, ..Entity::default() });
        }
        index
    }
}

impl Entity {
    /// Returns whether it is a single word that looks like an adjective.
    pub fn is_modifier(&self) -> bool {
        self.words == 1 && ADJECTIVES.iter().any(|ending| self.key.ends_with(ending))
    }

    fn add_forms(&mut self, others: impl IntoIterator<Item = String>) {
        for other in others {
            if self.others.len() < MOST_OTHERS && other != self.key && !self.others.contains(&other) {
                self.others.push(other);
            }
        }
    }

    fn add(&mut self, label: String, occurrence: Occurrence) {
        self.occurrences.push(occurrence);
        match self.labels.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => self.labels.push((label, 1)),
        }
        self.labels.truncate(MOST_LABELS);
    }
}

fn occurrence(line: &Line<'_>, range: &Range<usize>, defines: bool) -> Occurrence {
    let sentence = line.words[range.start].sentence;
    Occurrence {
        passage: line.passage,
        part: line.part,
        sentence,
        defines: defines || line.part != TextPart::Body,
        inside: None,
    }
}

/// Returns the longest phrase around a phrase. They are sorted by start, then by end, and have at most four words, so
/// only near ones are compared.
fn longest_around(phrases: &[Range<usize>], index: usize) -> Option<usize> {
    let phrase = &phrases[index];
    let near = index.saturating_sub(16)..(index + 4).min(phrases.len());
    let around = near.filter(|&other| {
        other != index && phrases[other].start <= phrase.start && phrases[other].end >= phrase.end
    });
    around.max_by_key(|&other| phrases[other].len())
}

/// Returns the name after "of": "Elmham" in "Bishop of Elmham".
fn tail(words: &[Word<'_>]) -> Option<Range<usize>> {
    let of = words.iter().rposition(|word| word.lower == "of")?;
    let start = of + 1 + words[of + 1..].iter().position(|word| word.lower != "the")?;
    let is_name = words[start].is_capitalized() && !is_numeral(&words[start]);
    let says = !words[start].classes.any(WordClasses::WEAK.or(WordClasses::PLAIN));
    (of > 0 && is_name && says).then_some(start..words.len())
}

/// Returns the words as written, with single spaces.
fn label(words: &[Word<'_>]) -> String {
    let mut label = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            label.push_str(if word.gap == Gap::Comma { ", " } else { " " });
        }
        match word.shape {
            Shape::Lower => label.push_str(&word.lower),
            _ => label.push_str(word.text.replace('_', " ").trim_end()),
        }
        if word.shape == Shape::Initial && word.dotted {
            label.push('.');
        }
        if word.possessive && index + 1 < words.len() {
            label.push_str("'s");
        }
    }
    label
}
