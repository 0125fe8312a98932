//! A document split into words: its lines, its language, and how it capitalises words.

use std::collections::{HashMap, HashSet};

use ::words::Language;

use crate::Passage;
use crate::layout::layout;
use crate::lexicon::WordClasses;
use crate::text::{Gap, Shape, Word, words, words_of};

pub struct ParsedText<'a> {
    pub lines: Vec<Line<'a>>,
    /// Words that occur in lower case: capitalised at the start of a sentence they are not names.
    lower_case: HashSet<String>,
    /// Words that occur more often in the position of a verb than of a noun.
    verbs: HashSet<String>,
    /// Words that are capitalised inside a sentence: they are names at the start of one too.
    capitalized: HashSet<String>,
    programs: HashSet<String>,
    nouns: HashSet<String>,
}

pub struct Line<'a> {
    pub passage: u32,
    pub part: TextPart,
    pub language: Language,
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
        let languages = languages(passages);
        let line = |passage, part, language, words| Line { passage, part, language, words };
        let mut lines = vec![line(0, TextPart::Title, languages.of_document, words(bare_title(title)))];
        let bodies = layout(passages).into_iter().zip(&languages.of_passages);
        for (passage, (content, (body, &language))) in (0_u32..).zip(passages.iter().zip(bodies)) {
            if let Some(heading) = content.headings.last() {
                lines.push(line(passage, TextPart::Heading, language, words(heading)));
            }
            lines.push(line(passage, TextPart::Body, language, words_of(&body)));
        }
        lines.iter_mut().for_each(mark_stop_words);
        ignore_all_caps(&mut lines);
        let (mut lower_case, mut capitalized) = (HashSet::new(), HashSet::new());
        for word in lines.iter().filter(|line| capitals_mark_names(line)).flat_map(|line| &line.words) {
            match word.shape {
                Shape::Lower => lower_case.insert(word.lower.clone()),
                Shape::Capital if !word.starts_sentence() => capitalized.insert(word.lower.clone()),
                _ => false,
            };
        }
        let verbs = verbs(&lines);
        let programs = programs(&lines);
        let nouns = nouns(&lines);
        ParsedText { lines, lower_case, capitalized, verbs, programs, nouns }
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

    pub fn is_program(&self, word: &Word<'_>) -> bool {
        word.is_program || self.programs.contains(&word.lower)
    }

    /// Returns whether a word is a noun like others, in a language that capitalises all nouns.
    pub fn is_noun(&self, word: &Word<'_>) -> bool {
        self.nouns.contains(&word.lower)
    }
}

impl Line<'_> {
    /// Returns whether capitals mark nouns, not names.
    pub fn capitalizes_nouns(&self) -> bool {
        self.language == Language::German
    }
}

struct LanguagesOfText {
    of_document: Language,
    of_passages: Vec<Language>,
}

/// Finds the language of each passage. Where its words do not tell, it is that of most passages.
fn languages(passages: &[Passage<'_>]) -> LanguagesOfText {
    let found: Vec<Option<Language>> = passages.iter().map(|passage| Language::of(passage.text)).collect();
    let mut counts = [0_usize; Language::COUNT];
    found.iter().flatten().for_each(|language| counts[*language as usize] += 1);
    let most = found.iter().flatten().max_by_key(|language| counts[**language as usize]);
    let of_document = most.copied().unwrap_or_default();
    let of_passages = found.iter().map(|language| language.unwrap_or(of_document)).collect();
    LanguagesOfText { of_document, of_passages }
}

fn mark_stop_words(line: &mut Line<'_>) {
    for word in &mut line.words {
        word.is_stop = word.is_stop_in(line.language);
    }
}

/// Returns the names of programs whose manual pages are referred to: "rsync(1)". A common word such as "find(1)" is not
/// always the program.
fn programs(lines: &[Line<'_>]) -> HashSet<String> {
    let common = WordClasses::ENGLISH.or(WordClasses::WEAK).or(WordClasses::PLAIN);
    let words = lines.iter().flat_map(|line| &line.words);
    let programs = words.filter(|word| word.is_program && !word.classes.any(common));
    programs.map(|word| word.lower.clone()).collect()
}

/// Returns the nouns that follow an article, or an article and an adjective. A name rarely does, unless it has several
/// words: "die Deutsche Bahn".
fn nouns(lines: &[Line<'_>]) -> HashSet<String> {
    let is_article = |word: &Word<'_>| word.classes.any(WordClasses::GERMAN_DETERMINES);
    let names = WordClasses::GIVEN_NAME.or(WordClasses::COUNTRY);
    let mut nouns = HashSet::new();
    for words in lines.iter().filter(|line| line.capitalizes_nouns()).map(|line| &line.words) {
        for (at, noun) in words.iter().enumerate().filter(|(_, word)| word.shape == Shape::Capital) {
            let before = |back: usize| at.checked_sub(back).map(|index| &words[index]);
            let is_described = before(1).is_some_and(|word| word.shape == Shape::Lower && !word.is_stop);
            let is_led = before(if is_described { 2 } else { 1 }).is_some_and(is_article);
            let is_name = |word: &Word<'_>| word.is_capitalized() || word.shape == Shape::Code;
            let goes_on = words.get(at + 1).is_some_and(|next| next.gap == Gap::Space && is_name(next));
            if is_led && !goes_on && noun.gap == Gap::Space && !noun.classes.any(names) {
                nouns.insert(noun.lower.clone());
            }
        }
    }
    nouns
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

/// Ignores capitals that only emphasise: those of a sentence or heading that is mostly written in them, and those of
/// words that the document writes otherwise, too. Acronyms keep theirs. In a heading in capitals only names and
/// acronyms are of interest: the others stand in the text, too, or are like "SYNOPSIS".
fn ignore_all_caps(lines: &mut [Line<'_>]) {
    let is_loud = |sentence: &[Word<'_>]| {
        let upper = sentence.iter().filter(|word| word.shape == Shape::Upper).count();
        let is_row = sentence.first().is_none_or(|first| first.gap == Gap::Cell);
        !is_row && (upper == sentence.len() || upper >= 2 && upper * 5 > sentence.len() * 3)
    };
    let same = |one: &Word<'_>, next: &Word<'_>| one.sentence == next.sentence;
    let calm = lines.iter().flat_map(|line| line.words.chunk_by(same)).filter(|sentence| !is_loud(sentence));
    let (mut acronyms, mut names, mut common) = (HashSet::new(), HashSet::new(), HashSet::new());
    for word in calm.flatten().filter(|word| !word.is_stop || word.shape == Shape::Upper) {
        match word.shape {
            Shape::Upper => acronyms.insert(word.lower.clone()),
            Shape::Capital if !word.starts_sentence() => names.insert(word.lower.clone()),
            Shape::Lower => common.insert(word.lower.clone()),
            _ => false,
        };
    }
    for line in lines {
        let is_heading = line.part == TextPart::Heading && is_loud(&line.words);
        let capitalizes_nouns = line.capitalizes_nouns();
        for word in line.words.iter_mut().filter(|word| word.shape == Shape::Upper) {
            let is_name = names.contains(&word.lower);
            let is_common = common.contains(&word.lower) || is_name && capitalizes_nouns;
            word.shape = match (is_common, is_name) {
                (false, true) => Shape::Capital,
                (false, false) if acronyms.contains(&word.lower) => Shape::Upper,
                _ if is_heading => Shape::Identifier,
                _ => Shape::Lower,
            };
        }
    }
}
