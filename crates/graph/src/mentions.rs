//! What a document names, passage by passage: things are merged, weighed and written out.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use crate::acronym::acronyms;
use crate::key::key;
use crate::kind::Kind;
use crate::reading::{Place, Reading};
use crate::things::{Thing, Things};
use crate::{Mention, Passage};

/// At most so many different things of one passage are kept, the weightiest first.
const MOST_PER_PASSAGE: usize = 32;
/// A form of a name that is not the one used here still finds the thing, but says less.
const OTHER_FORM: f32 = 0.5;

/// What one document names, passage by passage, in the order of passages and falling weight.
///
/// A name may come under several keys: the one of its label, and those of its other forms ("King Lothair II
/// of Lotharingia" also as `lothair ii`), with the label unchanged. [`crate::Graph`] shows them as one.
pub fn mentions(title: &str, passages: &[Passage<'_>]) -> Vec<Mention> {
    if passages.is_empty() {
        return Vec::new();
    }
    let reading = Reading::new(title, passages);
    let mut things = Things::of(&reading);
    merge_acronyms(&reading, &mut things);
    merge_forms(&mut things);
    merge_surnames(&mut things);
    let mut by_passage: BTreeMap<u32, Vec<Mention>> = BTreeMap::new();
    for thing in things.all.iter().filter(|thing| !thing.sightings.is_empty()) {
        for mention in write_out(thing) {
            by_passage.entry(mention.passage).or_default().push(mention);
        }
    }
    by_passage.into_values().flat_map(strongest).collect()
}

/// What is seen as "BLC" counts for "Boundary Layer Control".
fn merge_acronyms(reading: &Reading<'_>, things: &mut Things) {
    for line in &reading.lines {
        for (acronym, words) in acronyms(line) {
            let long = key(line.words[words].iter().map(|word| word.text));
            let short = key(std::iter::once(line.words[acronym].text));
            let (Some(long), Some(short_index)) = (things.find(&long), things.find(&short)) else { continue };
            things.all[long].others.push(short);
            things.merge(long, short_index);
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

/// "Boritzer" counts for "Etan Boritzer" where only one person of that name is named.
fn merge_surnames(things: &mut Things) {
    let mut persons: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, thing) in things.all.iter().enumerate() {
        let is_person = thing.is_name && matches!(thing.votes.winner(), Kind::Person);
        if thing.words < 2 || thing.sightings.is_empty() || !is_person {
            continue;
        }
        for word in thing.key.split(' ').filter(|word| word.len() > 2) {
            persons.entry(word.to_owned()).or_default().push(index);
        }
    }
    for index in 0..things.all.len() {
        let thing = &things.all[index];
        let bearers = persons.get(&thing.key).map_or(&[][..], Vec::as_slice);
        if let [person] = bearers
            && thing.is_name
            && thing.words == 1
            && thing.votes.winner() != Kind::Place
        {
            things.merge(*person, index);
        }
    }
}

fn write_out(thing: &Thing) -> Vec<Mention> {
    let Some(weight) = weight(thing) else { return Vec::new() };
    let (label, kind) = (best_label(thing), thing.votes.winner());
    let mut found: BTreeMap<u32, Mention> = BTreeMap::new();
    for sighting in &thing.sightings {
        let mention = found.entry(sighting.passage).or_insert_with(|| Mention {
            passage: sighting.passage,
            key: thing.key.clone(),
            label: label.clone(),
            kind,
            count: 0,
            weight,
            defines: false,
            sentences: 0,
        });
        mention.count += 1;
        mention.defines |= sighting.defines;
        mention.sentences |= if sighting.place == Place::Body { 1 << sighting.sentence.min(31) } else { 0 };
    }
    let own: Vec<Mention> = found.into_values().collect();
    let mut forms: Vec<&String> = thing.others.iter().filter(|form| **form != thing.key).collect();
    forms.sort();
    forms.dedup();
    let others: Vec<Mention> = forms
        .iter()
        .flat_map(|form| own.iter().map(move |mention| (form, mention)))
        .map(|(form, mention)| Mention {
            key: (*form).clone(),
            weight: mention.weight * OTHER_FORM,
            ..mention.clone()
        })
        .collect();
    own.into_iter().chain(others).collect()
}

/// How much a thing matters in its document, between 0 and 1: how often it is named by itself, how early, in
/// which place and in how many words. None for what is not worth a row.
fn weight(thing: &Thing) -> Option<f32> {
    let own = thing.sightings.iter().filter(|sighting| !sighting.nested).count() as f32;
    let nested = thing.sightings.len() as f32 - own;
    let place = thing.sightings.iter().map(|sighting| sighting.place).min()?;
    let defines = thing.sightings.iter().any(|sighting| sighting.defines);
    if !thing.is_name && own < 2.0 && (thing.words == 1 && place == Place::Body || own < 1.0) {
        return None;
    }
    let first = thing.sightings.iter().map(|sighting| sighting.passage * 8 + sighting.sentence).min()?;
    let often = (1.0 + own + 0.2 * nested).ln();
    let length = match (thing.is_name, thing.words) {
        (true, _) => 1.2,
        (_, 1) => 0.6,
        (_, 2 | 3) => 1.0,
        _ => 0.7,
    };
    let placed = match place {
        Place::Title => 2.0,
        Place::Heading => 1.5,
        Place::Body if defines => 1.3,
        Place::Body => 1.0,
    };
    let early = 1.0 + 0.5 / (1.0 + first as f32 / 4.0);
    let score = often * length * placed * early;
    Some(score / (score + 2.0))
}

/// The label written most often; of equals the longest.
fn best_label(thing: &Thing) -> String {
    let rank = |(label, count): &&(String, u32)| (*count, label.len(), std::cmp::Reverse(label.clone()));
    thing.labels.iter().max_by_key(rank).map(|(label, _)| label.clone()).unwrap_or_default()
}

fn strongest(mut mentions: Vec<Mention>) -> Vec<Mention> {
    mentions.sort_by(|a, b| falling(a.weight, b.weight).then_with(|| a.key.cmp(&b.key)));
    mentions.dedup_by(|later, first| later.key == first.key);
    mentions.truncate(MOST_PER_PASSAGE);
    mentions
}

fn falling(a: f32, b: f32) -> Ordering {
    b.total_cmp(&a)
}
