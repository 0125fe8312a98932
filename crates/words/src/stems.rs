//! The stems of a text's words: in lower case, without accents and without stop words.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longest word in bytes; a longer run of letters is split.
const LONGEST: usize = 64;

/// Returns the stems of a text in order.
pub fn stems(text: &str) -> Vec<String> {
    let mut stems = Vec::new();
    for_each_stem(text, |stem| stems.push(stem.to_owned()));
    stems
}

/// Returns the distinct stems of a text.
pub fn stem_set(text: &str) -> HashSet<String> {
    let mut stems = HashSet::new();
    for_each_stem(text, |stem| {
        stems.insert(stem.to_owned());
    });
    stems
}

/// Calls `found` with each stem of the text, in order.
pub fn for_each_stem(text: &str, mut found: impl FnMut(&str)) {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut word = String::new();
    let mut finish = |word: &mut String| {
        if !word.is_empty() && STOP_WORDS.binary_search(&word.as_str()).is_err() {
            found(&stemmer.stem(word));
        }
        word.clear();
    };
    for character in text.nfkd().filter(|character| !is_combining_mark(*character)) {
        let is_a_word = is_ideograph(character);
        if is_a_word || !character.is_alphanumeric() || word.len() >= LONGEST {
            finish(&mut word);
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        if is_a_word {
            finish(&mut word);
        }
    }
    finish(&mut word);
}

/// Returns whether the character belongs to a script without spaces between words; each is a word of its own.
fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character), 0x2E80..=0x31FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Sorted for binary search. Contractions ("don't", "we'll") are listed as the two words that the split makes of them.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any", "are",
    "aren", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "cannot", "could", "couldn", "d", "did", "didn", "do", "does", "doesn", "doing", "don", "down",
    "during", "each", "either", "etc", "few", "for", "from", "further", "had", "hadn", "has", "hasn", "have",
    "haven", "having", "he", "her", "here", "hers", "herself", "him", "himself", "his", "how", "however", "i",
    "if", "in", "into", "is", "isn", "it", "its", "itself", "just", "ll", "m", "may", "me", "might", "more",
    "most", "must", "my", "myself", "neither", "no", "nor", "not", "now", "of", "off", "on", "once", "only",
    "or", "other", "our", "ours", "ourselves", "out", "over", "own", "re", "s", "same", "shall", "she",
    "should", "shouldn", "so", "some", "such", "t", "than", "that", "the", "their", "theirs", "them",
    "themselves", "then", "there", "these", "they", "this", "those", "through", "thus", "to", "too", "under",
    "until", "up", "upon", "us", "ve", "very", "was", "wasn", "we", "were", "weren", "what", "when", "where",
    "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without", "won",
    "would", "wouldn", "yet", "you", "your", "yours", "yourself",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(stems(text).join(" "), expected, "{text}");
    }

    #[test]
    fn words_become_stems_and_stop_words_are_left_out() {
        check("The pumps were pumping; a pump's impeller", "pump pump pump impel");
        check("Müller's naïve ﬁles — don’t", "muller naiv file");
        check("P-204 at 3.5 bar", "p 204 3 5 bar");
        check("東京タワー tower", "東 京 タ ワ ー tower");
        check("Ελληνικά ДОМ", "ελληνικα дом");
        check("what is it? who was she", "");
        check("", "");
    }

    #[test]
    fn a_very_long_run_is_split() {
        for_each_stem(&"x".repeat(1000), |stem| assert!(stem.len() <= LONGEST));
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}
