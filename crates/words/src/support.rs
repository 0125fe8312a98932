//! Checks what a model writes against the text that it was given.

use std::collections::HashSet;

/// Returns whether the evidence supports a sentence, both given as [`crate::stems`]: the evidence has every word that is
/// not in `assumed`. A number must also stand before the same word as in the evidence, whatever is assumed.
pub fn is_supported(sentence: &[String], evidence: &[String], assumed: &HashSet<String>) -> bool {
    sentence.iter().enumerate().all(|(index, word)| {
        if !is_number(word) {
            return assumed.contains(word) || evidence.contains(word);
        }
        let next = sentence.get(index + 1);
        (0..evidence.len()).any(|at| evidence[at] == *word && evidence.get(at + 1) == next)
    })
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, stem_set, stems};

    #[test]
    fn every_word_needs_evidence_and_a_number_the_same_word_after_it() {
        let evidence = stems("It remembers 4,096 tokens (1 KiB each) until they expire.", Language::English);
        let assumed = stem_set("How many tokens does the gateway remember?", Language::English);
        for (sentence, supported) in [
            ("The gateway remembers 4,096 tokens.", true),
            ("Tokens expire.", true),
            ("The gateway remembers 1 token.", false),
            ("The gateway remembers 5,000 tokens.", false),
            ("The gateway forgets tokens.", false),
        ] {
            assert_eq!(
                is_supported(&stems(sentence, Language::English), &evidence, &assumed),
                supported,
                "{sentence}"
            );
        }
    }
}
