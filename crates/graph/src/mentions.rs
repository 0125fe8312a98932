//! The mentions of a document: its entities are merged, weighted and written out passage by passage.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::entities::{Entities, Entity};
use crate::parsed_text::{ParsedText, TextPart};
use crate::{Mention, Passage, same};

/// Most entities of one passage; those with the highest weights are kept.
const MOST_PER_PASSAGE: usize = 64;
/// Weight of a mention under a form of the name that the passage does not use.
const OTHER_FORM: f32 = 0.5;

/// Returns the mentions of a document, in the order of passages and of decreasing weight.
///
/// A name may have several keys: that of its label, and those of its other forms ("King Lothair II of Lotharingia"
/// also as `lothair ii`), with the same label. [`crate::Graph`] merges them.
pub fn mentions(title: &str, passages: &[Passage<'_>]) -> Vec<Mention> {
    if passages.is_empty() {
        return Vec::new();
    }
    let parsed = ParsedText::new(title, passages);
    let mut entities = Entities::of(&parsed);
    same::merge(&parsed, &mut entities);
    let mut by_passage: BTreeMap<u32, Vec<Mention>> = BTreeMap::new();
    for entity in entities.all.iter().filter(|entity| !entity.key.is_empty()) {
        for mention in write_out(&entities, entity) {
            by_passage.entry(mention.passage).or_default().push(mention);
        }
    }
    by_passage.into_values().flat_map(strongest).collect()
}

fn write_out(entities: &Entities, entity: &Entity) -> Vec<Mention> {
    let Some(weight) = weight(entity, entities.independent(entity)) else { return Vec::new() };
    let (label, kind) = (best_label(entity), entity.votes.winner());
    let mut found: BTreeMap<u32, Mention> = BTreeMap::new();
    for occurrence in &entity.occurrences {
        let mention = found.entry(occurrence.passage).or_insert_with(|| Mention {
            passage: occurrence.passage,
            key: entity.key.clone(),
            label: label.clone(),
            kind,
            count: 0,
            weight,
            defines: false,
            sentences: 0,
        });
        mention.count += 1;
        mention.defines |= occurrence.defines;
        let counts = occurrence.part == TextPart::Body && occurrence.inside.is_none();
        mention.sentences |= if counts { 1 << occurrence.sentence.min(31) } else { 0 };
    }
    let own: Vec<Mention> = found.into_values().collect();
    let mut forms: Vec<&String> =
        entity.others.iter().filter(|form| !form.is_empty() && **form != entity.key).collect();
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

/// Returns the importance of an entity in its document, between 0 and 1: by how often it occurs independently, how
/// early, in which part of the text and in how many words. Returns none if it is not worth a mention.
fn weight(entity: &Entity, own: f32) -> Option<f32> {
    let alone = || entity.occurrences.iter().filter(|occurrence| occurrence.inside.is_none());
    let part = alone().map(|occurrence| occurrence.part).min().unwrap_or(TextPart::Body);
    let is_once = own < 2.0 && part == TextPart::Body && !entity.is_name;
    let needs_more = entity.words == 1 && !is_rare(&entity.key) || entity.key.contains(" of ");
    if !entity.is_name && own < 1.0 || is_once && needs_more {
        return None;
    }
    let (passage, sentence) =
        entity.occurrences.iter().map(|occurrence| (occurrence.passage, occurrence.sentence)).min()?;
    let often = (0.5 + own).ln_1p();
    let length = match (entity.is_name, entity.words) {
        (true, _) if own < 1.0 => 0.5,
        (true, _) => 1.2,
        (_, 1) if entity.is_modifier() => 0.4,
        (_, 1) if is_once => 0.75,
        (_, 1) => 0.85,
        (_, 2) if is_once => 0.85,
        (_, 2) => 1.0,
        _ if is_once => 0.6,
        _ => 1.0,
    };
    let placed = match part {
        TextPart::Title => 1.8,
        TextPart::Heading => 1.4,
        TextPart::Body if alone().any(|occurrence| occurrence.defines) => 1.3,
        TextPart::Body => 1.0,
    };
    let early = 1.0 + 0.2 / (1.0 + passage as f32 * 2.0 + sentence as f32 / 4.0);
    let score = often * length * placed * early;
    Some(score / (score + 2.0))
}

/// Returns whether a word is worth a mention even if it occurs once: it is long and looks like neither an adjective
/// nor a verb form nor an abstract noun.
fn is_rare(word: &str) -> bool {
    const ENDINGS: [&str; 20] = [
        "ing", "able", "ible", "ous", "ive", "ful", "al", "ic", "less", "ize", "ary", "ent", "ant", "ion",
        "ment", "ness", "ity", "ship", "ance", "ence",
    ];
    word.chars().count() > 8 && !ENDINGS.iter().any(|ending| word.ends_with(ending))
}

/// Returns the most frequent label; of equals, the longest.
fn best_label(entity: &Entity) -> String {
    let rank = |(label, count): &&(String, u32)| (*count, label.len(), std::cmp::Reverse(label.clone()));
    entity.labels.iter().max_by_key(rank).map(|(label, _)| label.clone()).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::key_of_label;

    /// [`crate::Graph`] relies on this to tell an entity's own rows from those of its other forms.
    #[test]
    fn every_entity_has_a_row_under_the_key_of_its_label() {
        let texts = [
            "Dr. J. R. Berg of St. Brigid's Hospital met King Lothair II of Lotharingia, Hugh, King of Italy, and P-204.",
            "The Straw Hat by Roger W. Straus; Ferrant & Oakes of Leeds; max_age; C-reactive protein (CRP); the U.S.A.",
            "Blind Man's Eyes and O'Neill's Bar. Pierre-Joseph met Al-Mu'tasim at 3D Systems Inc. in Saxe-Eisenach.",
            include_str!("../tests/golden/case.md"),
            include_str!("../tests/golden/village.md"),
        ];
        for text in texts {
            let found = mentions(
                "The Letters of J. Berg, Part 2",
                &[Passage { text, headings: &[], is_code: false }],
            );
            for mention in &found {
                let own = key_of_label(&mention.label);
                let has_own = found.iter().any(|other| other.label == mention.label && other.key == own);
                assert!(has_own, "no row under `{own}` for `{}`", mention.label);
            }
        }
    }
}
