//! Acronyms and their long forms, as in "Boundary Layer Control (BLC)" and "BLC (boundary layer control)", found by
//! the method of Schwartz and Hearst (2003): the letters of the acronym in order, read from the right.

use std::ops::Range;

use crate::lexicon::WordClasses;
use crate::parsed_text::Line;
use crate::text::{Gap, Shape, Word};

/// Returns each acronym of a line with the range of its long form.
pub fn acronyms(line: &Line<'_>) -> Vec<(usize, Range<usize>)> {
    let words = &line.words;
    let mut found = Vec::new();
    for index in (1..words.len()).filter(|&index| words[index].gap == Gap::Open) {
        let closes = words.get(index + 1).is_none_or(|word| word.gap != Gap::Space);
        if is_acronym(&words[index]) && closes {
            found.extend(spelled(words, 0..index, &words[index]).map(|range| (index, range)));
        } else if is_acronym(&words[index - 1]) {
            let inside = 1 + words[index + 1..].iter().take_while(|word| word.gap == Gap::Space).count();
            let range = spelled(words, index..index + inside, &words[index - 1]);
            found.extend(range.filter(|range| range.start == index).map(|range| (index - 1, range)));
        }
    }
    found
}

fn is_acronym(word: &Word<'_>) -> bool {
    word.shape == Shape::Upper && (2..=8).contains(&word.text.len())
}

/// Returns the words at the end of `range` that spell the acronym. Its first letter starts the first word, the others
/// follow in order, and only function words are without a letter.
fn spelled(words: &[Word<'_>], range: Range<usize>, acronym: &Word<'_>) -> Option<Range<usize>> {
    let letters: Vec<char> = acronym.lower.chars().collect();
    let mut left = letters.len();
    let most = letters.len() + 3;
    for start in range.clone().rev().take(most) {
        let word = &words[start];
        let before = left;
        let mut chars: Vec<char> = word.lower.chars().collect();
        while left > 0
            && let Some(at) = chars.iter().rposition(|c| *c == letters[left - 1])
        {
            let starts_part = at == 0 || !chars[at - 1].is_alphanumeric();
            left -= usize::from(left > 1 || starts_part);
            chars.truncate(at);
        }
        let occurs_in_lower_case =
            word.classes.any(WordClasses::ENGLISH) || word.classes.any(WordClasses::JOINS);
        if left == before && !occurs_in_lower_case
            || start + 1 < range.end && words[start + 1].gap != Gap::Space
        {
            return None;
        }
        if left == 0 {
            // "The Jordan Company (TJC)" is the Jordan Company.
            let start = start + usize::from(word.is_article());
            return Some(start..range.end).filter(|range| !range.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed_text::TextPart;
    use crate::text::words;
    use ::words::Language;

    #[test]
    fn acronyms_are_found_before_and_after_what_they_stand_for() {
        let cases = [
            ("a Boundary Layer Control (BLC) unit", "BLC = Boundary Layer Control"),
            (
                "the enzyme-linked immunosorbent assay (ELISA) for",
                "ELISA = enzyme-linked immunosorbent assay",
            ),
            ("cardiac magnetic resonance imaging (MRI) showed", "MRI = magnetic resonance imaging"),
            ("the BLC (boundary layer control) failed", "BLC = boundary layer control"),
            ("the Ministry of Public Works (MPW) paid", "MPW = Ministry of Public Works"),
            ("led by The Jordan Company (TJC) now", "TJC = Jordan Company"),
            ("sold to the state (USA) in", ""),
            ("a long wait (BLC) ended", ""),
        ];
        for (text, expected) in cases {
            let line =
                Line { passage: 0, part: TextPart::Body, language: Language::English, words: words(text) };
            let found = acronyms(&line).into_iter().map(|(acronym, range)| {
                let long: Vec<&str> = line.words[range].iter().map(|word| word.text).collect();
                format!("{} = {}", line.words[acronym].text, long.join(" "))
            });
            assert_eq!(found.collect::<Vec<_>>().join("; "), expected);
        }
    }
}
