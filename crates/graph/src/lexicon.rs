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
    /// Shows that the next word is a verb ("must", "she").
    pub const ACTS: WordClasses = WordClasses(1 << 16);
    /// Its letters occur in no other list, so its function words are recognised in any document.
    pub const RUSSIAN: WordClasses = WordClasses(1 << 31);
    pub const ENGLISH: WordClasses = WordClasses(1 << 24);
    /// A function word of a language; each language has its own class.
    const LANGUAGES: [WordClasses; 8] = [
        WordClasses::ENGLISH,
        WordClasses(1 << 25),
        WordClasses(1 << 26),
        WordClasses(1 << 27),
        WordClasses(1 << 28),
        WordClasses(1 << 29),
        WordClasses(1 << 30),
        WordClasses::RUSSIAN,
    ];

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

/// Returns the language with most function words in the text, or English if there are none.
pub fn language(words: impl Iterator<Item = WordClasses>) -> WordClasses {
    let mut counts = [0_u32; WordClasses::LANGUAGES.len()];
    for word in words {
        for (count, language) in counts.iter_mut().zip(WordClasses::LANGUAGES) {
            *count += u32::from(word.any(language));
        }
    }
    let mut best = 0;
    for (index, &count) in counts.iter().enumerate() {
        if count > counts[best] {
            best = index;
        }
    }
    WordClasses::LANGUAGES[best]
}

static CLASSES: LazyLock<HashMap<&'static str, WordClasses>> = LazyLock::new(|| {
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
        (include_str!("lexicon/joins.txt"), WordClasses::JOINS),
        ("in at near from to into around outside toward towards across", WordClasses::LOCATES),
        ("the a an", WordClasses::ARTICLE),
        (
            "the a an its their his her our my your this these those each every no any",
            WordClasses::DETERMINES,
        ),
        (
            "will would can could may might must should cannot not he she it they we you i who does do did",
            WordClasses::ACTS,
        ),
    ];
    let mut table = HashMap::new();
    for (list, class) in lists.into_iter().chain(languages.into_iter().zip(WordClasses::LANGUAGES)) {
        for word in list.split_whitespace() {
            let entry: &mut WordClasses = table.entry(word).or_default();
            *entry = entry.or(class);
        }
    }
    table
});
