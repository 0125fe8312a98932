//! The words of a text as the lexical index knows them: folded, without those that every text has, and cut to stems.

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longer runs of letters are no words, and are cut.
const LONGEST: usize = 64;

/// Calls `found` with each stem of the text, in order.
pub fn stems(text: &str, mut found: impl FnMut(&str)) {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut word = String::new();
    let mut finish = |word: &mut String| {
        if !word.is_empty() && STOP_WORDS.binary_search(&word.as_str()).is_err() {
            found(&stemmer.stem(word));
        }
        word.clear();
    };
    for character in text.nfkd().filter(|character| !is_combining_mark(*character)) {
        let stands_alone = is_ideograph(character);
        if stands_alone || !character.is_alphanumeric() || word.len() >= LONGEST {
            finish(&mut word);
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        if stands_alone {
            finish(&mut word);
        }
    }
    finish(&mut word);
}

/// Written without spaces between words, so that each character stands for itself.
fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character), 0x2E80..=0x31FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// In order. The ends of shortened words ("don't", "we'll") stand here as the cut leaves them.
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
        let mut found = Vec::new();
        stems(text, |stem| found.push(stem.to_owned()));
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn words_are_folded_cut_to_stems_and_the_common_ones_left_out() {
        check("The pumps were pumping; a pump's impeller", "pump pump pump impel");
        check("Müller's naïve ﬁles — don’t", "muller naiv file");
        check("P-204 at 3.5 bar", "p 204 3 5 bar");
        check("東京タワー tower", "東 京 タ ワ ー tower");
        check("Ελληνικά ДОМ", "ελληνικα дом");
        check("what is it? who was she", "");
        check("", "");
    }

    #[test]
    fn a_run_without_end_is_cut() {
        stems(&"x".repeat(1000), |stem| assert!(stem.len() <= LONGEST));
    }

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
    }
}
