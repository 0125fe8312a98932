//! Marks the sentences of a written answer that no source bears out: those with a number or a name that no source has,
//! or of which most words are in none. In what was written to order, only invented numbers and names are marked.

use super::source::Source;
use std::collections::HashSet;
use words::{Language, stem_set, stems};

const MARK: &str = " (no source says this)";
/// A shorter sentence says too little to be judged by its words.
const MIN_WORDS: usize = 4;
/// The share of a sentence's words that one source must have. A model may use its own words for the rest.
const MIN_SHARE: f32 = 0.4;
/// A sentence about the sources themselves is not in them.
#[rustfmt::skip]
const ABOUT_SOURCES: [&str; 8] = [
    "source", "sources", "document", "documents", "passage", "passages", "information", "context",
];
const FENCE: &str = "```";
/// Alone in a line, it begins or ends a formula.
const FORMULA: &str = "$$";

/// Passes an answer on piece by piece, with a mark after each such sentence.
pub struct Support {
    /// The words of each source, as stems.
    sources: Vec<HashSet<String>>,
    /// The language of the first source.
    language: Option<Language>,
    min_share: f32,
    /// What was passed on of the sentence, and of the line.
    sentence: String,
    line: String,
    /// What comes after the sign that ends a sentence, until it is clear that it is its end.
    held: Option<String>,
    in_brackets: bool,
    in_code: bool,
}

impl Support {
    pub fn new(sources: &[Source]) -> Self {
        let language = sources.first().and_then(|source| Language::of(&source.text));
        let words = |source: &Source| {
            stem_set(&format!("{} {}", source.above().join(" "), source.text), language.unwrap_or_default())
        };
        Self {
            sources: sources.iter().map(words).collect(),
            language,
            min_share: MIN_SHARE,
            sentence: String::new(),
            line: String::new(),
            held: None,
            in_brackets: false,
            in_code: false,
        }
    }

    /// For a text that a user has ordered with these words. Without sources, it may say what it wants.
    pub fn of_order(sources: &[Source], said: &str) -> Self {
        let mut support = Self::new(sources);
        if !sources.is_empty() {
            support.sources.push(stem_set(said, support.language.unwrap_or_default()));
        }
        Self { min_share: 0.0, ..support }
    }

    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        piece.chars().for_each(|next| self.push_one(next, &mut shown));
        shown
    }

    /// Returns the rest at the end of the answer.
    pub fn finish(mut self) -> String {
        let mut shown = String::new();
        self.end(&mut shown);
        shown
    }

    fn push_one(&mut self, next: char, shown: &mut String) {
        if next == '\n' {
            self.end(shown);
            let line = self.line.trim();
            self.in_code ^= line.starts_with(FENCE) || line == FORMULA;
            self.line.clear();
            shown.push('\n');
            return;
        }
        self.line.push(next);
        if let Some(held) = &mut self.held {
            match next {
                ' ' => return held.push(' '),
                // A citation after the full stop belongs to the sentence.
                '[' | ']' => self.in_brackets = next == '[',
                _ if self.in_brackets => {}
                _ if held.is_empty() || next.is_lowercase() => self.go_on(shown),
                _ => self.end(shown),
            }
            if let Some(held) = &mut self.held {
                shown.push_str(held);
                held.clear();
            }
        } else if matches!(next, '.' | '!' | '?') {
            self.held = Some(String::new());
        }
        self.sentence.push(next);
        shown.push(next);
    }

    /// The sign was no end: "3.5", "e.g. this".
    fn go_on(&mut self, shown: &mut String) {
        let held = self.held.take().unwrap_or_default();
        self.sentence.push_str(&held);
        shown.push_str(&held);
    }

    fn end(&mut self, shown: &mut String) {
        if !self.in_code && !self.is_supported() {
            shown.push_str(MARK);
        }
        shown.push_str(&self.held.take().unwrap_or_default());
        self.sentence.clear();
        self.in_brackets = false;
    }

    fn is_supported(&self) -> bool {
        let text = super::citations::uncited(&self.sentence);
        let text = text.trim();
        let language = self.language.unwrap_or_default();
        let words: HashSet<String> = stem_set(text, language);
        let is_formula = text.starts_with(FORMULA) || text.starts_with("\\[");
        // The number of an entry in a list is no sentence, nor is a gap such as "[name]".
        let has_words = text.contains(char::is_alphabetic) && !text.starts_with('[');
        let is_statement =
            has_words && !is_formula && !text.starts_with(['#', '|', '`']) && !text.ends_with(['?', ':']);
        let lower = text.to_lowercase();
        let is_about_sources =
            lower.split(|c: char| !c.is_alphanumeric()).any(|word| ABOUT_SOURCES.contains(&word));
        let is_judged = words.len() >= MIN_WORDS || self.min_share == 0.0;
        if !is_judged || !is_statement || is_about_sources || self.sources.is_empty() {
            return true;
        }
        let is_known = |word: &String| self.sources.iter().any(|source| source.contains(word));
        // A translation has none of the words, but the numbers.
        if let (Some(own), Some(theirs)) = (Language::of(text), self.language)
            && own != theirs
        {
            return numbers(text, language).iter().all(is_known);
        }
        let share = |source: &HashSet<String>| words.intersection(source).count() as f32 / words.len() as f32;
        let best = self.sources.iter().map(share).fold(0.0, f32::max);
        // In German all nouns have a capital.
        let names = if language == Language::English { names(text) } else { Vec::new() };
        best >= self.min_share && numbers(text, language).iter().chain(&names).all(is_known)
    }
}

fn numbers(text: &str, language: Language) -> Vec<String> {
    let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    // In Chinese, what stands beside a number is not separated by spaces.
    let is_word = |stem: &String| words::ideographs(stem).next().is_none();
    text.split_whitespace().filter(has_digit).flat_map(|word| stems(word, language)).filter(is_word).collect()
}

/// Returns the words in an English sentence that have a capital, as stems. The first has one anyway.
fn names(text: &str) -> Vec<String> {
    let is_name = |word: &&str| word.starts_with(char::is_uppercase);
    text.split_whitespace().skip(1).filter(is_name).flat_map(|word| stems(word, Language::English)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the result is the same however the answer is split into pieces.
    fn check(answer: &str, expected: &str) {
        let sources =
            Source::of_texts(["The shaft seal of the pump P-204 is replaced every 4000 hours in Bergen."]);
        for size in 1..=answer.chars().count().max(1) {
            let mut support = Support::new(&sources);
            let characters: Vec<char> = answer.chars().collect();
            let mut shown = String::new();
            for piece in characters.chunks(size) {
                shown += &support.push(&piece.iter().collect::<String>());
            }
            shown += &support.finish();
            assert_eq!(shown, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn what_the_sources_say_is_not_marked() {
        for answer in [
            "Replace the shaft seal of the pump every 4000 hours [1].",
            "The seal of the pump must be replaced every 4000 hours. [1] It is so.",
            "The documents do not say who is responsible for the inspection of the roof.",
            "Is the roof of the hall in Oslo inspected every year?",
            "Die Dichtung der Welle von der Pumpe P-204 muss alle 4000 Stunden ersetzt werden, und das ist so.",
            "```\nlet roof = inspect(hall, oslo, every, year, 12);\n```\nYes.",
            "$$\nroof = hall + oslo + every + year + 12\n$$\nYes.",
            "$$roof = hall + oslo + every + year + 12$$\nYes.",
            "",
        ] {
            check(answer, answer);
        }
    }

    #[test]
    fn of_what_was_ordered_only_invented_numbers_and_names_are_marked() {
        let sources = Source::of_texts(["The shaft seal of the pump is replaced every 4000 hours."]);
        let said = "Write to Mr. Vik in Oslo about the seal.";
        let mut support = Support::of_order(&sources, said);
        let letter = "Dear Mr. Vik, we hope that all goes well in Oslo. The seal is replaced every 4000 hours [1]. \
                      It has cost 700 euros so far. With warm regards from all of us at Nordwind";
        let shown = support.push(letter) + &support.finish();
        let marked = shown.matches(MARK).count();
        assert_eq!(marked, 2, "{shown}");
        assert!(shown.contains("so far. (no source says this)"), "{shown}");
        let mut free = Support::of_order(&[], said);
        assert_eq!(free.push(letter) + &free.finish(), letter);
        let mut list = Support::of_order(&sources, said);
        let steps = "1. Replace the shaft seal. 2. Call Mr. Vik.\n\n[Your Name]";
        assert_eq!(list.push(steps) + &list.finish(), steps);
    }

    #[test]
    fn what_no_source_says_is_marked_where_it_stands() {
        check(
            "The shaft seal is replaced every 2000 hours [1]. The seal of the pump is in Bergen.",
            "The shaft seal is replaced every 2000 hours [1]. (no source says this) The seal of the pump is in Bergen.",
        );
        check(
            "The roof of the hall was painted green by workers. [1]\nThe pump seal is replaced in Oslo",
            "The roof of the hall was painted green by workers. [1] (no source says this)\n\
            The pump seal is replaced in Oslo (no source says this)",
        );
    }
}
