//! Where in the text the encoder's tokens come from, for any text.

use crate::many_texts::many_texts;
use crate::wordpiece::{pieces, tokenizer};
use inference::tokenizer::WordPiece;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

const UNK: u32 = 100;

/// Returns the texts of the ranges.
fn parts<'a>(tokenizer: &WordPiece, text: &'a str) -> Vec<&'a str> {
    tokenizer.encode_with_ranges(text, 512).1.into_iter().map(|range| &text[range]).collect()
}

#[test]
fn ranges_are_those_of_the_words_as_they_are_written() {
    let tokenizer = tokenizer();
    let too_long = "X".repeat(3000);
    let cases: [(&str, &[&str]); 12] = [
        ("  The quick\tFOX. ", &["The", "quick", "FOX", "."]),
        ("Überraschung, CAFÉ!", &["Über", "ras", "chu", "ng", ",", "CAFÉ", "!"]),
        ("unaffable", &["una", "ffa", "ble"]),
        ("cafe\u{301} cafe\u{301}\u{302}s", &["cafe\u{301}", "cafe\u{301}\u{302}s"]),
        ("the\u{200b} \u{ad}old\0er\u{fffd}!", &["the", "old\0er", "!"]),
        ("日本語", &["日", "本", "語"]),
        ("가 나", &["가", "가", "나", "나"]),
        ("ΣΑΣ İstanbul", &["Σ", "Α", "Σ", "İstanbul"]),
        ("a [SEP] b[MASK]c", &["a", "[SEP]", "b", "[MASK]", "c"]),
        ("🦀x \u{1f469}\u{200d}\u{1f467}", &["🦀x", "\u{1f469}\u{200d}\u{1f467}"]),
        (&too_long, &[&too_long]),
        ("\u{301}", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(parts(&tokenizer, text), expected, "{text:?}");
    }
}

/// Removes a piece's characters from the text that it comes from, or returns none if they are not there in this order.
fn without(part: &str, piece: &str) -> Option<String> {
    let mut wanted = piece.chars().peekable();
    let rest = part.nfd().flat_map(char::to_lowercase).filter(|found| wanted.next_if_eq(found).is_none());
    let rest = rest.collect();
    wanted.peek().is_none().then_some(rest)
}

fn check(tokenizer: &WordPiece, pieces: &[String], text: &str) {
    let (tokens, ranges) = tokenizer.encode_with_ranges(text, usize::MAX);
    assert_eq!(tokens, tokenizer.encode(text, usize::MAX), "{text:?}");
    assert_eq!(ranges.len() + tokenizer.markers(), tokens.len(), "{text:?}");
    let mut end = 0;
    let mut before = 0..0;
    for (index, (range, token)) in ranges.iter().zip(&tokens[1..]).enumerate() {
        let Range { start, end: after } = range.clone();
        let is_on_boundaries = text.is_char_boundary(start) && text.is_char_boundary(after);
        assert!(is_on_boundaries && start < after, "{range:?} in {text:?}");
        assert!(before.start <= start && before.end <= after, "{before:?}, {range:?} in {text:?}");
        let part = &text[range.clone()];
        let is_complete = start <= end || tokenizer.count(&text[end..start]) == 0;
        assert!(is_complete, "nothing comes from {end}..{start} of {text:?}");
        let piece = &pieces[*token as usize];
        let piece = piece.strip_prefix("##").filter(|rest| !rest.is_empty()).unwrap_or(piece);
        if *token != UNK && part != piece {
            let rest = without(part, &piece.to_lowercase());
            assert!(rest.is_some(), "{piece:?} comes from {part:?} in {text:?}");
            // A character may become several pieces.
            let overlaps = start < end || ranges.get(index + 1).is_some_and(|next| next.start < after);
            let is_whole = overlaps || rest.is_some_and(|rest| tokenizer.count(&rest) == 0);
            assert!(is_whole, "{part:?} has more than {piece:?} in {text:?}");
        }
        (end, before) = (after, range.clone());
    }
    assert_eq!(tokenizer.count(&text[end..]), 0, "nothing comes from the end of {text:?}");
}

#[test]
fn ranges_are_in_order_and_hold_what_their_tokens_come_from() {
    let (tokenizer, pieces) = (tokenizer(), pieces());
    many_texts().for_each(|text| check(&tokenizer, &pieces, &text));
}

#[test]
fn so_they_are_for_every_character() {
    let (tokenizer, pieces) = (tokenizer(), pieces());
    for character in '\0'..='\u{32000}' {
        check(&tokenizer, &pieces, &format!("a{character}b {character}{character}\u{301}"));
    }
}

#[test]
fn a_limit_cuts_tokens_and_ranges_alike() {
    let tokenizer = tokenizer();
    let text = "one two unaffable three";
    let (all, ranges) = tokenizer.encode_with_ranges(text, 512);
    for limit in 0..9 {
        let (tokens, cut) = tokenizer.encode_with_ranges(text, limit);
        assert_eq!(tokens, tokenizer.encode(text, limit));
        assert_eq!(cut, ranges[..limit.min(all.len()).saturating_sub(2)], "at most {limit}");
    }
}
