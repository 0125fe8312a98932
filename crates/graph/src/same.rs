//! Different ways to write one thing inside a document: acronyms, forms of a name, surnames alone.

use std::collections::{BTreeMap, HashMap};

use crate::acronym::acronyms;
use crate::key::key;
use crate::kind::{Kind, Votes};
use crate::reading::Reading;
use crate::things::{Sighting, Thing, Things};

/// A word that is part of more names of other things than this is nobody's surname.
const MOST_OTHERS: usize = 2;

/// Among more persons of one name than this, nobody knows who is meant.
const MOST_BEARERS: usize = 8;

pub fn merge(reading: &Reading<'_>, things: &mut Things) {
    merge_acronyms(reading, things);
    merge_forms(things);
    merge_surnames(things);
}

/// What is seen as "BLC" counts for "Boundary Layer Control".
fn merge_acronyms(reading: &Reading<'_>, things: &mut Things) {
    for line in &reading.lines {
        for (acronym, words) in acronyms(line) {
            let short = key(std::iter::once(line.words[acronym].text));
            let long = things.see_spelled_out(line, &words);
            if let Some(acronym) = things.find(&short) {
                things.merge(long, acronym);
            }
            things.all[long].others.push(short);
        }
    }
}

/// "Lothair II" counts for "King Lothair II of Lotharingia" where only one such is named.
fn merge_forms(things: &mut Things) {
    let mut claims: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, thing) in things.all.iter().enumerate() {
        for form in thing.others.iter().filter_map(|form| things.find(form)).filter(|&form| form != index) {
            claims.entry(form).or_default().push(index);
        }
    }
    for (form, mut claimants) in claims {
        claimants.dedup();
        if let [only] = claimants[..] {
            things.merge(only, form);
        }
    }
}

/// "Boritzer" counts for "Etan Boritzer"; where several persons have that name, for the one named last.
fn merge_surnames(things: &mut Things) {
    let bearers = Bearers::of(things);
    for index in 0..things.all.len() {
        let thing = &things.all[index];
        if !thing.is_name || thing.is_common || thing.words != 1 || thing.votes.winner() == Kind::Place {
            continue;
        }
        match bearers.of_name(&thing.key) {
            [] => {}
            &[only] => {
                let surname = thing.key.clone();
                // A surname alone looks like anything: it has no say in the kind.
                things.all[index].votes = Votes::default();
                things.merge(only, index);
                things.all[only].others.push(surname);
            }
            several if several.len() <= MOST_BEARERS => share_out(things, index, several),
            _ => {}
        }
    }
}

/// Who, or what, has a word in its name of several words.
#[derive(Default)]
struct Bearers {
    persons: HashMap<String, Vec<usize>>,
    /// Those that merely look like persons, by their last word.
    lookalikes: HashMap<String, Vec<usize>>,
    others: HashMap<String, usize>,
}

impl Bearers {
    fn of(things: &Things) -> Bearers {
        let mut bearers = Bearers::default();
        let is_longer = |thing: &Thing| thing.is_name && thing.words > 1 && !thing.sightings.is_empty();
        for (index, thing) in things.all.iter().enumerate().filter(|(_, thing)| is_longer(thing)) {
            let looks_so = !thing.is_common && thing.votes.winner() == Kind::Person;
            let last = thing.key.rsplit(' ').next();
            for word in thing.key.split(' ').filter(|word| word.len() > 2) {
                let word_of = || word.to_owned();
                match looks_so {
                    true if thing.is_person => bearers.persons.entry(word_of()).or_default().push(index),
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

/// Gives each sighting of a surname to the person with that name who was named last before it.
fn share_out(things: &mut Things, surname: usize, bearers: &[usize]) {
    let place = |sighting: &Sighting| (sighting.passage, sighting.sentence);
    let mut named: Vec<Vec<(u32, u32)>> = Vec::new();
    for &bearer in bearers {
        let mut places: Vec<(u32, u32)> = things.all[bearer].sightings.iter().map(place).collect();
        places.sort_unstable();
        named.push(places);
    }
    for sighting in std::mem::take(&mut things.all[surname].sightings) {
        let last = |places: &Vec<(u32, u32)>| {
            let before = places.partition_point(|named| *named <= place(&sighting));
            before.checked_sub(1).map(|last| places[last])
        };
        let latest = (0..bearers.len()).rev().max_by_key(|&index| last(&named[index]));
        let bearer = latest.filter(|&index| last(&named[index]).is_some()).map(|index| bearers[index]);
        things.all[bearer.unwrap_or(surname)].sightings.push(sighting);
    }
}
