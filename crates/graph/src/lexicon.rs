//! Word lists: what a word says by itself, before any text is looked at. One lookup per word gives all of it.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What is known of a word, as a set of the marks below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u32);

impl Marks {
    /// Says nothing by itself and neither opens nor ends a concept ("various", "described").
    pub const WEAK: Marks = Marks(1);
    /// A noun too general to stand alone ("system"), good inside a phrase ("hydraulic system").
    pub const PLAIN: Marks = Marks(1 << 14);
    pub const DATE: Marks = Marks(1 << 1);
    /// Stands before a person's name and is no part of it ("Dr").
    pub const HONORIFIC: Marks = Marks(1 << 2);
    /// Stands before a person's name and may be part of it ("Queen").
    pub const RANK: Marks = Marks(1 << 3);
    /// What a person is or does ("engineer Anna Berg").
    pub const ROLE: Marks = Marks(1 << 4);
    pub const GIVEN_NAME: Marks = Marks(1 << 5);
    pub const ORGANIZATION: Marks = Marks(1 << 6);
    pub const PLACE: Marks = Marks(1 << 7);
    pub const EVENT: Marks = Marks(1 << 8);
    /// The name of a country, a region or a large city.
    pub const COUNTRY: Marks = Marks(1 << 9);
    pub const DEMONYM: Marks = Marks(1 << 10);
    /// A lower-case word inside names ("of", "von").
    pub const JOINS: Marks = Marks(1 << 11);
    /// The word before which a place stands ("in", "near").
    pub const LOCATES: Marks = Marks(1 << 12);
    pub const ARTICLE: Marks = Marks(1 << 13);
    /// Shows that the word after it is a noun ("of") or that the one before it is none ("sends the").
    pub const DETERMINES: Marks = Marks(1 << 15);
    /// Shows that the word after it is a verb ("must", "she").
    pub const ACTS: Marks = Marks(1 << 16);
    /// Its letters occur in no other list, so that its function words are known in any document.
    pub const RUSSIAN: Marks = Marks(1 << 31);
    pub const ENGLISH: Marks = Marks(1 << 24);
    /// A function word of some language; the languages have one mark each.
    const LANGUAGES: [Marks; 8] = [
        Marks::ENGLISH,
        Marks(1 << 25),
        Marks(1 << 26),
        Marks(1 << 27),
        Marks(1 << 28),
        Marks(1 << 29),
        Marks(1 << 30),
        Marks::RUSSIAN,
    ];

    pub const fn or(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }

    /// Whether any of `other` is among these.
    pub const fn any(self, other: Marks) -> bool {
        self.0 & other.0 != 0
    }
}

/// What is known of a word in lower case.
pub fn marks(lower: &str) -> Marks {
    MARKS.get(lower).copied().unwrap_or_default()
}

/// The language whose function words occur most: English where none does.
pub fn language(words: impl Iterator<Item = Marks>) -> Marks {
    let mut counts = [0_u32; Marks::LANGUAGES.len()];
    for word in words {
        for (count, language) in counts.iter_mut().zip(Marks::LANGUAGES) {
            *count += u32::from(word.any(language));
        }
    }
    let mut best = 0;
    for (index, &count) in counts.iter().enumerate() {
        if count > counts[best] {
            best = index;
        }
    }
    Marks::LANGUAGES[best]
}

static MARKS: LazyLock<HashMap<&'static str, Marks>> = LazyLock::new(|| {
    let languages = [
        include_str!("lexicon/stop_en.txt"),
        include_str!("lexicon/stop_de.txt"),
        include_str!("lexicon/stop_fr.txt"),
        include_str!("lexicon/stop_es.txt"),
        include_str!("lexicon/stop_it.txt"),
        include_str!("lexicon/stop_pt.txt"),
        include_str!("lexicon/stop_nl.txt"),
        include_str!("lexicon/stop_ru.txt"),
    ];
    let lists = [
        (include_str!("lexicon/weak.txt"), Marks::WEAK),
        (include_str!("lexicon/plain.txt"), Marks::PLAIN),
        (include_str!("lexicon/date.txt"), Marks::DATE),
        (include_str!("lexicon/honorific.txt"), Marks::HONORIFIC),
        (include_str!("lexicon/rank.txt"), Marks::RANK),
        (include_str!("lexicon/role.txt"), Marks::ROLE),
        (include_str!("lexicon/given.txt"), Marks::GIVEN_NAME),
        (include_str!("lexicon/organization.txt"), Marks::ORGANIZATION),
        (include_str!("lexicon/place.txt"), Marks::PLACE),
        (include_str!("lexicon/event.txt"), Marks::EVENT),
        (include_str!("lexicon/country.txt"), Marks::COUNTRY),
        (include_str!("lexicon/demonym.txt"), Marks::DEMONYM),
        (include_str!("lexicon/joins.txt"), Marks::JOINS),
        ("in at near from to into around outside toward towards across", Marks::LOCATES),
        ("the a an", Marks::ARTICLE),
        ("the a an its their his her our my your this these those each every no any", Marks::DETERMINES),
        (
            "will would can could may might must should cannot not he she it they we you i who does do did",
            Marks::ACTS,
        ),
    ];
    let mut table = HashMap::new();
    for (list, mark) in lists.into_iter().chain(languages.into_iter().zip(Marks::LANGUAGES)) {
        for word in list.split_whitespace() {
            let entry: &mut Marks = table.entry(word).or_default();
            *entry = entry.or(mark);
        }
    }
    table
});
