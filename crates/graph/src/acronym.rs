//! Acronyms and what they stand for, as in "Boundary Layer Control (BLC)" and "BLC (boundary layer control)".

use std::ops::Range;

use crate::reading::Line;
use crate::text::{Gap, Shape, Word};

/// Each acronym of a line with the words that it stands for.
pub fn acronyms(line: &Line<'_>) -> Vec<(usize, Range<usize>)> {
    let words = &line.words;
    let closes = |index: usize| words.get(index).is_none_or(|word| word.gap != Gap::Space);
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if word.gap != Gap::Open || index == 0 {
            continue;
        }
        if is_acronym(word) && closes(index + 1) {
            found.extend(spelled_before(words, index).map(|range| (index, range)));
        } else if is_acronym(&words[index - 1]) {
            found.extend(spelled_after(words, index).map(|range| (index - 1, range)));
        }
    }
    found
}

fn is_acronym(word: &Word<'_>) -> bool {
    word.shape == Shape::Upper && (2..=8).contains(&word.text.len())
}

fn spelled_before(words: &[Word<'_>], acronym: usize) -> Option<Range<usize>> {
    let most = words[acronym].text.len() + 3;
    let starts = (acronym.saturating_sub(most)..acronym).rev();
    starts.map(|start| start..acronym).find(|range| spells(&words[range.clone()], &words[acronym].lower))
}

fn spelled_after(words: &[Word<'_>], start: usize) -> Option<Range<usize>> {
    let acronym = &words[start - 1].lower;
    let most = acronym.len() + 3;
    let length = 1 + words[start + 1..].iter().take(most).position(|word| word.gap != Gap::Space)?;
    Some(start..start + length).filter(|range| spells(&words[range.clone()], acronym))
}

/// Whether the first letters of the words give the acronym; small words ("of", "and") may be left out.
fn spells(words: &[Word<'_>], acronym: &str) -> bool {
    let mut letters = acronym.chars().peekable();
    for (index, word) in words.iter().enumerate() {
        if index > 0 && word.gap != Gap::Space {
            return false;
        }
        let mut matched = false;
        for part in word.lower.split('-') {
            let first = part.chars().next();
            if first.is_some() && letters.peek().copied() == first {
                letters.next();
                matched = true;
            }
        }
        let may_be_left_out = index > 0 && word.lower.len() <= 3;
        if !matched && !may_be_left_out {
            return false;
        }
    }
    letters.next().is_none()
}
