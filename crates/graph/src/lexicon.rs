//! Word lists: the classes of a word without its context. One lookup per word returns all of them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A set of the classes below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordClasses(u32);

impl WordClasses {
    /// Too vague to start or end a concept ("various", "described").
    pub const WEAK: WordClasses = WordClasses(1);
    /// A noun too general by itself ("system"), but good inside a phrase ("hydraulic system").
    pub const PLAIN: WordClasses = WordClasses(1 << 14);
    pub const DATE: WordClasses = WordClasses(1 << 1);
    /// Precedes a person's name and is not part of it ("Dr").
    pub const HONORIFIC: WordClasses = WordClasses(1 << 2);
    /// Precedes a person's name and may be part of it ("Queen").
    pub const RANK: WordClasses = WordClasses(1 << 3);
    /// What a person is or does ("engineer Anna Berg").
    pub const ROLE: WordClasses = WordClasses(1 << 4);
    pub const GIVEN_NAME: WordClasses = WordClasses(1 << 5);
    pub const ORGANIZATION: WordClasses = WordClasses(1 << 6);
    pub const PLACE: WordClasses = WordClasses(1 << 7);
    pub const EVENT: WordClasses = WordClasses(1 << 8);
    /// The name of a country, a region or a large city.
    pub const COUNTRY: WordClasses = WordClasses(1 << 9);
    pub const DEMONYM: WordClasses = WordClasses(1 << 10);
    /// A lower-case word inside names ("of", "von").
    pub const JOINS: WordClasses = WordClasses(1 << 11);
    /// A preposition before a place ("in", "near").
    pub const LOCATES: WordClasses = WordClasses(1 << 12);
    pub const ARTICLE: WordClasses = WordClasses(1 << 13);
    /// Shows that the next word is a noun ("of") or that the one before it is not ("sends the").
    pub const DETERMINES: WordClasses = WordClasses(1 << 15);
    /// The same in German, where it tells a noun from a name.
    pub const GERMAN_DETERMINES: WordClasses = WordClasses(1 << 18);
    /// Shows that the next word is a verb ("must", "she").
    pub const ACTS: WordClasses = WordClasses(1 << 16);
    /// A program or another product ("the library").
    pub const PRODUCT: WordClasses = WordClasses(1 << 17);
    /// A function word of English. Those of other languages are in the crate `words`.
    pub const ENGLISH: WordClasses = WordClasses(1 << 24);

    pub const fn or(self, other: WordClasses) -> WordClasses {
        WordClasses(self.0 | other.0)
    }

    /// Returns whether any of `other` is in this set.
    pub const fn any(self, other: WordClasses) -> bool {
        self.0 & other.0 != 0
    }
}

/// Returns the classes of a word in lower case.
pub fn classes(lower: &str) -> WordClasses {
    CLASSES.get(lower).copied().unwrap_or_default()
}

static CLASSES: LazyLock<HashMap<&'static str, WordClasses>> = LazyLock::new(|| {
    let lists = [
        (include_str!("lexicon/weak.txt"), WordClasses::WEAK),
        (include_str!("lexicon/plain.txt"), WordClasses::PLAIN),
        (include_str!("lexicon/date.txt"), WordClasses::DATE),
        (include_str!("lexicon/honorific.txt"), WordClasses::HONORIFIC),
        (include_str!("lexicon/rank.txt"), WordClasses::RANK),
        (include_str!("lexicon/role.txt"), WordClasses::ROLE),
        (include_str!("lexicon/given.txt"), WordClasses::GIVEN_NAME),
        (include_str!("lexicon/organization.txt"), WordClasses::ORGANIZATION),
        (include_str!("lexicon/place.txt"), WordClasses::PLACE),
        (include_str!("lexicon/event.txt"), WordClasses::EVENT),
        (include_str!("lexicon/country.txt"), WordClasses::COUNTRY),
        (include_str!("lexicon/demonym.txt"), WordClasses::DEMONYM),
        (include_str!("lexicon/product.txt"), WordClasses::PRODUCT),
        (include_str!("lexicon/stop_en.txt"), WordClasses::ENGLISH),
        (include_str!("lexicon/joins.txt"), WordClasses::JOINS),
        ("in at near from to into around outside toward towards across", WordClasses::LOCATES),
        ("the a an", WordClasses::ARTICLE),
        (
            "the a an its their his her our my your this these those each every no any",
            WordClasses::DETERMINES,
        ),
        (
            "der die das den dem des ein eine einen einem einer eines dieser diese dieses diesem diesen jeder jede jedes
            jedem jeden kein keine keinen keinem keiner ihr ihre ihren ihrem ihrer sein seine seinen seinem seiner am beim
            im vom zum zur",
            WordClasses::GERMAN_DETERMINES,
        ),
        (
            "will would can could may might must should cannot not he she it they we you i who does do did",
            WordClasses::ACTS,
        ),
    ];
    let mut table = HashMap::new();
    for (list, class) in lists {
        for word in list.split_whitespace() {
            let entry: &mut WordClasses = table.entry(word).or_default();
            *entry = entry.or(class);
        }
    }
    table
});
