//! The normal form of a name or a phrase, which is the same for every spelling: lower case, no accents, words of
//! letters and digits joined by single spaces, the last one singular.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::lexicon::{WordClasses, classes};

/// In bytes.
const LONGEST_KEY: usize = 120;

pub fn key<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut key = String::new();
    for word in words {
        push_word(&mut key, word);
    }
    let start = key.rfind(' ').map_or(0, |space| space + 1);
    let singular = singular(&key[start..]);
    key.truncate(start);
    key.push_str(&singular);
    while key.len() > LONGEST_KEY {
        key.truncate(key.rfind(' ').unwrap_or(0));
    }
    key
}

/// Returns the key of a label, which is that of the words it was made from.
pub fn key_of_label(label: &str) -> String {
    let is_article =
        |word: &&str| ["the", "a", "an"].iter().any(|article| article.eq_ignore_ascii_case(word));
    let words = label.split(' ').skip_while(is_article);
    key(words
        .map(|word| word.trim_end_matches([',', '.']))
        .map(|word| word.strip_suffix("'s").unwrap_or(word)))
}

/// Returns a key as an identifier. Different keys have different ids, since keys have no hyphens and no double
/// spaces.
pub fn id(key: &str) -> String {
    key.replace(' ', "-")
}

/// Appends a word in lower case: "Saxe-Eisenach" becomes two words, "U.S.A", "O'Neill" and "P-204" one each.
fn push_word(key: &mut String, word: &str) {
    let word = if word == "&" { "and" } else { word };
    let glues_parts = is_code(word);
    let mut starts = true;
    for part in word
        .split(['-', '\u{2010}', '\u{2011}', '_', '/'])
        .filter(|part| part.contains(char::is_alphanumeric))
    {
        if starts && !key.is_empty() || !starts && !glues_parts {
            key.push(' ');
        }
        starts = false;
        if part.is_ascii() {
            key.extend(part.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()));
        } else {
            let folded = part.nfkd().filter(|c| !is_combining_mark(*c) && c.is_alphanumeric());
            key.extend(folded.flat_map(char::to_lowercase));
        }
    }
}

/// Returns whether the word is a short letter code with a number, so that "P-204" and "P204" have one key.
fn is_code(word: &str) -> bool {
    let Some((letters, digits)) = word.split_once('-') else { return false };
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number && (1..=4).contains(&letters.len()) && letters.bytes().all(|b| b.is_ascii_uppercase())
}

fn singular(word: &str) -> String {
    let drop = |count: usize| word[..word.len() - count].to_owned();
    let before_s = word.strip_suffix('s').and_then(|stem| stem.chars().last());
    match before_s {
        _ if word.len() < 4 || !word.is_ascii() || classes(word).any(WordClasses::GIVEN_NAME) => {
            word.to_owned()
        }
        _ if word.ends_with("ies") && word.len() > 4 => drop(3) + "y",
        _ if ["sses", "shes", "ches", "xes", "zzes"].iter().any(|ending| word.ends_with(ending)) => drop(2),
        // "status", "analysis", "glass", "thomas", "chaos".
        Some('s' | 'u' | 'i' | 'a' | 'o') | None => word.to_owned(),
        Some(_) => drop(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_have_one_key() {
        let cases = [
            ("Boundary Layers", "boundary layer"),
            ("boundary-layer", "boundary layer"),
            ("P-204", "p204"),
            ("U.S.A", "usa"),
            ("Ziębice", "ziebice"),
            ("Harmon & Sons", "harmon and son"),
            ("analysis", "analysis"),
            ("Studies", "study"),
            ("gas", "gas"),
            ("boxes", "box"),
            ("James", "james"),
            ("durable_webhooks", "durable webhook"),
            ("İstanbul", "istanbul"),
            ("--", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(key(name.split(' ')), expected);
        }
    }

    #[test]
    fn a_key_ends_at_a_word() {
        let long = key(std::iter::repeat_n("word", 100));
        assert!(long.len() <= LONGEST_KEY && long.ends_with("word"));
    }
}
