//! The kind of a named entity, decided by votes of the words in it and around it.

use std::ops::Range;

use crate::lexicon::{WordClasses, classes};
use crate::names::is_numeral;
use crate::parsed_text::{Line, ParsedText};
use crate::text::{Gap, Shape, Word};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Concept,
    Person,
    Organization,
    Place,
    Event,
    Product,
    Term,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::Concept,
        Kind::Person,
        Kind::Organization,
        Kind::Place,
        Kind::Event,
        Kind::Product,
        Kind::Term,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Concept => "concept",
            Kind::Person => "person",
            Kind::Organization => "organization",
            Kind::Place => "place",
            Kind::Event => "event",
            Kind::Product => "product",
            Kind::Term => "term",
        }
    }

    /// Returns the kind with this name.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// How much evidence there is for each kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Votes([f32; Kind::ALL.len()]);

impl Votes {
    pub fn one(kind: Kind, weight: f32) -> Votes {
        let mut votes = Votes::default();
        votes.add(kind, weight);
        votes
    }

    pub fn add(&mut self, kind: Kind, weight: f32) {
        self.0[kind as usize] += weight;
    }

    pub fn merge(&mut self, other: &Votes) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Returns whether there is more evidence for a person than the look of the name.
    pub fn are_for_person(&self) -> bool {
        self.0[Kind::Person as usize] >= 0.8
    }

    /// Returns the kind with most votes; of equals, the first. A term is what nothing else is said of, so any evidence
    /// for a product outweighs it.
    pub fn winner(&self) -> Kind {
        let [product, term] = [Kind::Product, Kind::Term].map(|kind| self.0[kind as usize]);
        let mut best = (Kind::Concept, 0.0);
        for kind in Kind::ALL {
            let votes = match kind {
                Kind::Product if product > 0.0 => product + term,
                Kind::Term if product > 0.0 => 0.0,
                _ => self.0[kind as usize],
            };
            if votes > best.1 {
                best = (kind, votes);
            }
        }
        best.0
    }
}

/// Returns what an occurrence of a name says about its kind.
pub fn votes(line: &Line<'_>, name: &Range<usize>, parsed: &ParsedText<'_>) -> Votes {
    let capitalizes_nouns = line.capitalizes_nouns();
    let line = &line.words;
    let words = &line[name.clone()];
    let mut votes = Votes::one(Kind::Term, 0.2);
    vote_by_words(words, parsed, capitalizes_nouns, &mut votes);
    if let [word] = words {
        votes.add(Kind::Product, if parsed.is_program(word) { 3.0 } else { 0.0 });
        votes.add(Kind::Concept, if parsed.is_noun(word) { 1.0 } else { 0.0 });
    }
    if let Some(before) = line[..name.start].last().filter(|_| words[0].gap == Gap::Space) {
        vote_by_word_before(before, words, &mut votes);
    }
    if let [.., kind, of] = &line[..name.start]
        && of.lower == "of"
        && kind.classes.any(WordClasses::PLACE.or(WordClasses::EVENT))
    {
        // "the village of Skarness", "Battle of Brevik".
        votes.add(Kind::Place, 1.0);
    }
    let after = &line[name.end..];
    vote_by_words_after(after, &mut votes);
    let is_led = line[..name.start].last().is_some_and(|before| before.classes.any(WordClasses::DETERMINES));
    if is_led && after.first().is_some_and(|next| next.gap == Gap::Space && is_product(next)) {
        // "the rsync program"
        votes.add(Kind::Product, 1.0);
    }
    votes
}

fn vote_by_words(words: &[Word<'_>], parsed: &ParsedText<'_>, capitalizes_nouns: bool, votes: &mut Votes) {
    let (first, last) = (&words[0], &words[words.len() - 1]);
    // "Battle" of "Battle of Hastings", "War" of "World War II".
    let is_head = |word: &&Word<'_>| word.shape != Shape::Number && !is_numeral(word);
    let before_of = words.split(|word| word.lower == "of").next().unwrap_or(words);
    let head = before_of.iter().rev().find(is_head).unwrap_or(last);
    let is_personal =
        |word: &Word<'_>| matches!(word.shape, Shape::Capital | Shape::Initial) || is_numeral(word);
    let is_plain = words.iter().all(|word| is_personal(word) && !parsed.occurs_in_lower_case(word));
    if words.len() > 1 {
        for (mark, kind) in [
            (WordClasses::ORGANIZATION, Kind::Organization),
            (WordClasses::EVENT, Kind::Event),
            (WordClasses::PLACE, Kind::Place),
        ] {
            let heads = head.classes.any(mark) || kind != Kind::Organization && first.classes.any(mark);
            votes.add(kind, if heads { 2.0 } else { 0.0 });
        }
    }
    let is_compass = |word: &Word<'_>| COMPASS.contains(&word.lower.as_str());
    if last.classes.any(WordClasses::COUNTRY)
        && words.iter().all(|word| word.classes.any(WordClasses::COUNTRY) || is_compass(word))
    {
        votes.add(Kind::Place, 2.0);
    }
    if words.iter().any(|word| word.text == "&") {
        votes.add(Kind::Organization, 1.0);
    }
    if words.len() > 1 && is_given(first) && is_plain {
        votes.add(Kind::Person, 1.2);
    }
    let is_titled = words[..words.len() - 1]
        .iter()
        .take(2)
        .any(|word| word.classes.any(WordClasses::RANK.or(WordClasses::HONORIFIC)));
    if is_titled || words.len() == 2 && is_plain && is_numeral(last) {
        votes.add(Kind::Person, 1.0);
    }
    let has_initial = words.iter().any(|word| word.shape == Shape::Initial);
    let ends_like_person = !last.lower.ends_with('s');
    if words.len() == 2
        && is_plain
        && !capitalizes_nouns
        && ends_like_person
        && words.iter().all(|word| word.classes == WordClasses::default())
    {
        votes.add(Kind::Person, if has_initial { 1.0 } else { 0.45 });
    }
    if words.iter().any(|word| word.shape == Shape::Code && !word.classes.any(WordClasses::ORGANIZATION)) {
        votes.add(Kind::Term, 2.0);
    }
    if words.len() == 1
        && PLACE_ENDINGS.iter().any(|ending| last.lower.len() > 6 && last.lower.ends_with(ending))
    {
        votes.add(Kind::Place, 0.7);
    }
}

/// Returns whether the word is a given name, such as "Anna" or the first half of "Pierre-Joseph".
fn is_given(word: &Word<'_>) -> bool {
    let first = word.lower.split('-').next().unwrap_or_default();
    classes(first).any(WordClasses::GIVEN_NAME)
}

/// Words before the name of a country or a city that are part of it.
const COMPASS: [&str; 12] = [
    "new", "north", "south", "east", "west", "northern", "southern", "eastern", "western", "united", "los",
    "san",
];
const PLACE_ENDINGS: [&str; 10] =
    ["shire", "ville", "burg", "borough", "stan", "land", "ford", "haven", "mouth", "bury"];

fn vote_by_word_before(before: &Word<'_>, words: &[Word<'_>], votes: &mut Votes) {
    if before.classes.any(WordClasses::HONORIFIC) {
        votes.add(Kind::Person, 3.0);
    }
    if before.classes.any(WordClasses::ROLE.or(WordClasses::RANK)) && before.shape == Shape::Lower {
        votes.add(Kind::Person, 1.0);
    }
    if before.classes.any(WordClasses::PRODUCT) {
        votes.add(Kind::Product, 1.0);
    }
    let is_named_place = words.len() <= 2 && words.iter().all(|word| word.shape == Shape::Capital);
    if before.classes.any(WordClasses::LOCATES) && is_named_place {
        votes.add(Kind::Place, if before.lower == "to" { 0.3 } else { 0.5 });
    }
}

fn vote_by_words_after(after: &[Word<'_>], votes: &mut Votes) {
    let Some(next) = after.first() else { return };
    let is_life = |word: &Word<'_>| ["born", "died", "née", "b"].contains(&word.lower.as_str());
    let is_dates = next.gap == Gap::Open && after.iter().take(3).any(is_life);
    let speaks = ["said", "wrote", "married", "says", "joined", "argued", "who", "aged", "recalled"];
    if is_dates || next.gap == Gap::Space && (is_life(next) || speaks.contains(&next.lower.as_str())) {
        votes.add(Kind::Person, if is_dates { 3.0 } else { 1.0 });
    }
    if next.gap == Gap::Space && next.shape == Shape::Lower && next.classes.any(WordClasses::PLACE) {
        votes.add(Kind::Place, 0.7);
    }
    if let Some(kind) = definition(after).and_then(defined_kind) {
        votes.add(kind, 3.0);
    }
}

fn is_product(word: &Word<'_>) -> bool {
    word.classes.any(WordClasses::PRODUCT) && word.shape == Shape::Lower
}

/// Returns the words after "is a" or "was the", also after a remark in brackets.
pub fn definition<'w, 'a>(after: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    let mut rest = after;
    if rest.first().is_some_and(|word| word.gap == Gap::Open) {
        let close = rest.iter().take(24).position(|word| word.gap == Gap::Close)?;
        rest = &rest[close..];
    }
    let (verb, article) = (rest.first()?, rest.get(1)?);
    let is_verb = ["is", "was", "are", "were"].contains(&verb.lower.as_str());
    let is_article = article.classes.any(WordClasses::ARTICLE) || article.lower == "one";
    (is_verb && is_article && verb.gap != Gap::Sentence).then(|| &rest[2..])
}

/// Returns the kind that the first specific noun of a definition stands for.
fn defined_kind(definition: &[Word<'_>]) -> Option<Kind> {
    let sentence = definition.first()?.sentence;
    let words = definition.iter().take(10).take_while(|word| word.sentence == sentence && word.lower != "of");
    for word in words.filter(|word| word.shape == Shape::Lower) {
        let kinds = [
            (WordClasses::ROLE.or(WordClasses::RANK), Kind::Person),
            (WordClasses::ORGANIZATION, Kind::Organization),
            (WordClasses::PLACE, Kind::Place),
            (WordClasses::EVENT, Kind::Event),
            (WordClasses::PRODUCT, Kind::Product),
        ];
        if ["film", "song", "album", "novel", "book", "album", "single", "series", "play"]
            .contains(&word.lower.as_str())
        {
            return Some(Kind::Term);
        }
        if let Some((_, kind)) = kinds.iter().find(|(classes, _)| word.classes.any(*classes)) {
            return Some(*kind);
        }
    }
    None
}
