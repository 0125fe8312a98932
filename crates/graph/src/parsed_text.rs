//! A document split into words: its lines, its language, and how it capitalises words.

use std::collections::{HashMap, HashSet};

use crate::Passage;
use crate::lexicon::{WordClasses, language};
use crate::text::{Gap, Shape, Word, words};

pub struct ParsedText<'a> {
    pub lines: Vec<Line<'a>>,
    pub language: WordClasses,
    /// Words that occur in lower case: capitalised at the start of a sentence they are not names.
    lower_case: HashSet<String>,
    /// Words that occur more often in the position of a verb than of a noun.
    verbs: HashSet<String>,
    /// Words that are capitalised inside a sentence: they are names at the start of one too.
    capitalized: HashSet<String>,
}

pub struct Line<'a> {
    pub passage: u32,
    pub part: TextPart,
    pub words: Vec<Word<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextPart {
    Title,
    Heading,
    Body,
}

impl<'a> ParsedText<'a> {
    pub fn new(title: &'a str, passages: &[Passage<'a>]) -> ParsedText<'a> {
        let mut lines = vec![Line { passage: 0, part: TextPart::Title, words: words(bare_title(title)) }];
        for (passage, content) in (0_u32..).zip(passages) {
            if let Some(heading) = content.headings.last() {
                lines.push(Line { passage, part: TextPart::Heading, words: words(heading) });
            }
            lines.push(Line { passage, part: TextPart::Body, words: words(content.text) });
        }
        lines.iter_mut().for_each(ignore_all_caps);
        let language = language(lines.iter().flat_map(|line| &line.words).map(|word| word.classes));
        let (mut lower_case, mut capitalized) = (HashSet::new(), HashSet::new());
        for word in lines.iter().filter(|line| capitals_mark_names(line)).flat_map(|line| &line.words) {
            match word.shape {
                Shape::Lower => lower_case.insert(word.lower.clone()),
                Shape::Capital if !word.starts_sentence() => capitalized.insert(word.lower.clone()),
                _ => false,
            };
        }
        let verbs = verbs(&lines);
        ParsedText { lines, language, lower_case, capitalized, verbs }
    }

    pub fn occurs_in_lower_case(&self, word: &Word<'_>) -> bool {
        self.lower_case.contains(&word.lower)
    }

    pub fn occurs_capitalized(&self, word: &Word<'_>) -> bool {
        self.capitalized.contains(&word.lower)
    }

    pub fn is_verb(&self, word: &Word<'_>) -> bool {
        self.verbs.contains(&word.lower)
    }

    pub fn is_stop(&self, word: &Word<'_>) -> bool {
        word.classes.any(self.language.or(WordClasses::RUSSIAN))
    }
}

/// Returns whether capitals mark names in this line, which they do not if every word has one: "Changing the
/// Mechanical Seal".
fn capitals_mark_names(line: &Line<'_>) -> bool {
    let inner = || line.words.iter().filter(|word| !word.starts_sentence());
    let large = inner().filter(|word| word.shape == Shape::Capital).count();
    line.part == TextPart::Body || large * 3 < inner().count()
}

/// Finds verbs without a dictionary: a verb follows "must" or "she" and precedes "the" or "to"; a noun follows "the"
/// or "in" and precedes "of".
fn verbs(lines: &[Line<'_>]) -> HashSet<String> {
    let mut tally: HashMap<&str, i32> = HashMap::new();
    for pair in lines.iter().flat_map(|line| line.words.windows(2)) {
        let [first, second] = pair else { continue };
        if second.gap != Gap::Space {
            continue;
        }
        let names = first.classes.any(WordClasses::DETERMINES.or(WordClasses::LOCATES))
            && first.lower != "to"
            || first.possessive;
        let acts =
            first.classes.any(WordClasses::ACTS) || first.lower == "to" && !second.lower.ends_with('s');
        *tally.entry(&second.lower).or_default() += i32::from(names || first.lower == "of") - i32::from(acts);
        let is_followed = second.classes.any(WordClasses::DETERMINES) || second.lower == "to";
        *tally.entry(&first.lower).or_default() += i32::from(second.lower == "of") - i32::from(is_followed);
    }
    tally.into_iter().filter(|(_, tally)| *tally < 0).map(|(word, _)| word.to_owned()).collect()
}

/// Returns a title that is a file name without its extension.
fn bare_title(title: &str) -> &str {
    match title.rsplit_once('.') {
        Some((stem, ending))
            if (1..=5).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            stem
        }
        _ => title,
    }
}

/// Ignores capitals in a sentence that is mostly written in them.
fn ignore_all_caps(line: &mut Line<'_>) {
    for sentence in line.words.chunk_by_mut(|one, next| one.sentence == next.sentence) {
        let upper = sentence.iter().filter(|word| word.shape == Shape::Upper).count();
        if upper >= 2 && upper * 5 > sentence.len() * 3 {
            sentence
                .iter_mut()
                .filter(|word| word.shape == Shape::Upper)
                .for_each(|word| word.shape = Shape::Lower);
        }
    }
}
