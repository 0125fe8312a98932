//! Different ways to write one thing inside a document: acronyms, forms of a name, surnames alone.

use std::collections::{BTreeMap, HashMap};

use crate::acronym::acronyms;
use crate::key::key;
use crate::kind::{Kind, Votes};
use crate::reading::Reading;
use crate::things::{Sighting, Thing, Things};

/// A word that is part of more names of other things than this is nobody's surname.
const MOST_OTHERS: usize = 2;

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
    let mut persons: HashMap<String, Vec<usize>> = HashMap::new();
    let mut others: HashMap<String, usize> = HashMap::new();
    let is_longer = |thing: &Thing| thing.is_name && thing.words > 1 && !thing.sightings.is_empty();
    for (index, thing) in things.all.iter().enumerate().filter(|(_, thing)| is_longer(thing)) {
        let is_person = thing.is_person && !thing.is_common && thing.votes.winner() == Kind::Person;
        for word in thing.key.split(' ').filter(|word| word.len() > 2) {
            match is_person {
                true => persons.entry(word.to_owned()).or_default().push(index),
                false => *others.entry(word.to_owned()).or_default() += 1,
            }
        }
    }
    for index in 0..things.all.len() {
        let thing = &things.all[index];
        let Some(bearers) = persons.get(&thing.key) else { continue };
        if others.get(&thing.key).is_some_and(|&others| others > MOST_OTHERS) {
            continue;
        }
        if !thing.is_name || thing.is_common || thing.words != 1 || thing.votes.winner() == Kind::Place {
            continue;
        }
        match bearers[..] {
            [only] => {
                let surname = thing.key.clone();
                // A surname alone looks like anything: it has no say in the kind.
                things.all[index].votes = Votes::default();
                things.merge(only, index);
                things.all[only].others.push(surname);
            }
            _ => share_out(things, index, bearers),
        }
    }
}

fn share_out(things: &mut Things, surname: usize, bearers: &[usize]) {
    let place = |sighting: &Sighting| (sighting.passage, sighting.sentence);
    for sighting in std::mem::take(&mut things.all[surname].sightings) {
        let named_last = |&bearer: &usize| {
            let named = things.all[bearer].sightings.iter().map(place);
            named
                .filter(|named| *named <= place(&sighting))
                .max()
                .map(|named| (named, std::cmp::Reverse(bearer)))
        };
        let bearer =
            bearers.iter().copied().max_by_key(named_last).filter(|bearer| named_last(bearer).is_some());
        things.all[bearer.unwrap_or(surname)].sightings.push(sighting);
    }
}
