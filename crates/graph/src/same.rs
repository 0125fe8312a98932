//! Merges different spellings of one entity inside a document: acronyms, forms of a name, surnames alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::acronym::acronyms;
use crate::entities::{Entities, Entity, Occurrence};
use crate::key::key;
use crate::kind::{Kind, Votes};
use crate::parsed_text::ParsedText;

/// A word that is part of more names of other entities than this is not taken for a surname.
const MOST_OTHERS: usize = 2;

/// If more persons than this share a name, an occurrence of it is assigned to none of them.
const MOST_BEARERS: usize = 8;

pub fn merge(parsed: &ParsedText<'_>, entities: &mut Entities) {
    merge_acronyms(parsed, entities);
    merge_forms(entities);
    merge_surnames(entities);
}

/// Counts "BLC" as "Boundary Layer Control".
fn merge_acronyms(parsed: &ParsedText<'_>, entities: &mut Entities) {
    // Each pair once: a document may spell out the same acronym many thousand times.
    let mut seen = HashSet::new();
    for line in &parsed.lines {
        for (acronym, words) in acronyms(line) {
            let short = key(std::iter::once(line.words[acronym].text));
            let spelled_out = key(line.words[words.clone()].iter().map(|word| word.text));
            if !seen.insert((short.clone(), spelled_out)) {
                continue;
            }
            let long = entities.add_spelled_out(line, &words);
            if let Some(acronym) = entities.find(&short) {
                entities.merge(long, acronym);
            }
            entities.all[long].others.push(short);
        }
    }
}

/// Counts "Lothair II" as "King Lothair II of Lotharingia" if only one such name occurs.
fn merge_forms(entities: &mut Entities) {
    let mut claims: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, entity) in entities.all.iter().enumerate() {
        for form in entity.others.iter().filter_map(|form| entities.find(form)).filter(|&form| form != index)
        {
            claims.entry(form).or_default().push(index);
        }
    }
    for (form, mut claimants) in claims {
        claimants.dedup();
        if let [only] = claimants[..] {
            entities.merge(only, form);
        }
    }
}

/// Counts "Boritzer" as "Etan Boritzer". If several persons have that name, counts it for the one named last.
fn merge_surnames(entities: &mut Entities) {
    let bearers = Bearers::of(entities);
    for index in 0..entities.all.len() {
        let entity = &entities.all[index];
        if !entity.is_name || entity.is_common || entity.words != 1 || entity.votes.winner() == Kind::Place {
            continue;
        }
        match bearers.of_name(&entity.key) {
            [] => {}
            &[only] => {
                let surname = entity.key.clone();
                // A surname alone says nothing about the kind.
                entities.all[index].votes = Votes::default();
                entities.merge(only, index);
                entities.all[only].others.push(surname);
            }
            several if several.len() <= MOST_BEARERS => assign_to_latest(entities, index, several),
            _ => {}
        }
    }
}

/// The entities whose names of several words contain a word.
#[derive(Default)]
struct Bearers {
    persons: HashMap<String, Vec<usize>>,
    /// Those that only look like persons, by their last word.
    lookalikes: HashMap<String, Vec<usize>>,
    others: HashMap<String, usize>,
}

impl Bearers {
    fn of(entities: &Entities) -> Bearers {
        let mut bearers = Bearers::default();
        let is_longer =
            |entity: &Entity| entity.is_name && entity.words > 1 && !entity.occurrences.is_empty();
        for (index, entity) in entities.all.iter().enumerate().filter(|(_, entity)| is_longer(entity)) {
            let looks_so = !entity.is_common && entity.votes.winner() == Kind::Person;
            let last = entity.key.rsplit(' ').next();
            for word in entity.key.split(' ').filter(|word| word.len() > 2) {
                let word_of = || word.to_owned();
                match looks_so {
                    true if entity.is_person => bearers.persons.entry(word_of()).or_default().push(index),
                    true if Some(word) == last => {
                        bearers.lookalikes.entry(word_of()).or_default().push(index)
                    }
                    _ => *bearers.others.entry(word_of()).or_default() += 1,
                }
            }
        }
        bearers
    }

    fn of_name(&self, name: &str) -> &[usize] {
        let others = self.others.get(name).copied().unwrap_or_default();
        match (self.persons.get(name), self.lookalikes.get(name)) {
            (Some(persons), _) if others <= MOST_OTHERS => persons,
            (None, Some(lookalikes)) if others == 0 && lookalikes.len() == 1 => lookalikes,
            _ => &[],
        }
    }
}

/// Assigns each occurrence of a surname to the person of that name who was named last before it.
fn assign_to_latest(entities: &mut Entities, surname: usize, bearers: &[usize]) {
    let position = |occurrence: &Occurrence| (occurrence.passage, occurrence.sentence);
    let mut named: Vec<Vec<(u32, u32)>> = Vec::new();
    for &bearer in bearers {
        let mut positions: Vec<(u32, u32)> = entities.all[bearer].occurrences.iter().map(position).collect();
        positions.sort_unstable();
        named.push(positions);
    }
    for occurrence in std::mem::take(&mut entities.all[surname].occurrences) {
        let last = |positions: &Vec<(u32, u32)>| {
            let before = positions.partition_point(|named| *named <= position(&occurrence));
            before.checked_sub(1).map(|last| positions[last])
        };
        let latest = (0..bearers.len()).rev().max_by_key(|&index| last(&named[index]));
        let bearer = latest.filter(|&index| last(&named[index]).is_some()).map(|index| bearers[index]);
        entities.all[bearer.unwrap_or(surname)].occurrences.push(occurrence);
    }
}
