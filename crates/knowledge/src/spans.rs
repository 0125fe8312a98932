//! Places in a text as clients count them: in UTF-16 code units, as `slice` of JavaScript does. Stored places are in
//! characters.

use crate::tables::chunks::ChunkPlace;
use serde::Serialize;
use std::collections::HashSet;
use std::ops::Range;
use utoipa::ToSchema;
use words::{Language, Term};

/// A part of a text, in UTF-16 code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Span {
    #[schema(example = 4)]
    pub start: usize,
    /// Where it ends, exclusive.
    #[schema(example = 8)]
    pub end: usize,
}

/// Goes through a text once, and converts places that are asked for in ascending order.
pub struct Utf16<'t> {
    text: &'t str,
    characters: usize,
    bytes: usize,
    units: usize,
}

impl<'t> Utf16<'t> {
    pub fn of(text: &'t str) -> Self {
        Self { text, characters: 0, bytes: 0, units: 0 }
    }

    /// Converts a place in characters. Places beyond the end are the end.
    pub fn at_character(&mut self, place: usize) -> usize {
        let rest = self.text[self.bytes..].chars().take(place.saturating_sub(self.characters));
        for character in rest {
            self.characters += 1;
            self.bytes += character.len_utf8();
            self.units += character.len_utf16();
        }
        self.units
    }

    /// Converts a place in bytes, which lies between two characters.
    pub fn at_byte(&mut self, place: usize) -> usize {
        let piece = self.text.get(self.bytes..place).unwrap_or_default();
        self.units += piece.encode_utf16().count();
        self.bytes += piece.len();
        self.units
    }

    fn is_at_end(&self) -> bool {
        self.bytes == self.text.len()
    }
}

/// Returns the spans of chunks in the text of their document; those that are not in the text are left out. A chunk ends
/// before the white space that separates it from the next one. Its own text may differ: tiny sections are joined with
/// their headings.
pub fn of_chunks(text: &str, places: &[ChunkPlace]) -> Vec<Span> {
    let (mut starts, mut spans) = (Utf16::of(text), Vec::with_capacity(places.len()));
    let mut places = places.iter().map(|place| usize::try_from(place.start).unwrap_or(0)).peekable();
    while let Some(place) = places.next() {
        let start = starts.at_character(place);
        if starts.is_at_end() {
            break;
        }
        let from = starts.bytes;
        let next = places.peek().map_or(usize::MAX, |next| *next);
        starts.at_character(next);
        let own = text[from..starts.bytes].trim_end();
        spans.push(Span { start, end: start + own.encode_utf16().count() });
    }
    spans
}

/// Returns where a text has words of a question, in any of their forms. Words next to each other stay apart.
pub fn matches(text: &str, question: &str) -> Vec<Span> {
    let language = Language::of(text).unwrap_or_default();
    let terms = words::terms(question, Language::of(question), &[language]);
    let asked: HashSet<&str> = terms.iter().flat_map(Term::stems).map(String::as_str).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let (mut places, mut found) = (Utf16::of(text), Vec::new());
    for (offset, token) in words::tokens(text) {
        let mut marked: Vec<Range<usize>> = Vec::new();
        for part in parts(token) {
            let mut is_match = false;
            words::for_each_stem(&token[part.clone()], language, |stem| is_match |= asked.contains(stem));
            match marked.last_mut().filter(|last| part.start <= last.end) {
                _ if !is_match => {}
                Some(last) => last.end = last.end.max(part.end),
                None => marked.push(part),
            }
        }
        for part in marked {
            let start = places.at_byte(offset + part.start);
            found.push(Span { start, end: places.at_byte(offset + part.end) });
        }
    }
    found
}

/// Returns the parts of a token that can match: each ideograph, alone and with the next one, and what is between them.
fn parts(token: &str) -> Vec<Range<usize>> {
    let letters: Vec<Range<usize>> =
        words::ideographs(token).map(|(start, letter)| start..start + letter.len()).collect();
    let mut parts = Vec::new();
    let mut done = 0;
    for (at, letter) in letters.iter().enumerate() {
        parts.push(done..letter.start);
        parts.push(letter.clone());
        let next = letters.get(at + 1).filter(|next| next.start == letter.end);
        parts.extend(next.map(|next| letter.start..next.end));
        done = letter.end;
    }
    parts.push(done..token.len());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(text: &str, span: Span) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        String::from_utf16(&units[span.start..span.end]).unwrap()
    }

    fn slices(text: &str, spans: &[Span]) -> Vec<String> {
        spans.iter().map(|span| slice(text, *span)).collect()
    }

    fn places(text: &str, starts: &[&str]) -> Vec<ChunkPlace> {
        let place = |(position, start): (usize, &&str)| ChunkPlace {
            position: position as i64,
            page: None,
            start: text[..text.find(start).unwrap()].chars().count() as i64,
        };
        starts.iter().enumerate().map(place).collect()
    }

    #[test]
    fn chunks_end_before_the_white_space_between_them() {
        let text = "😀 eins.\n\nzwölf 😀.  drei";
        let spans = of_chunks(text, &places(text, &["😀 eins", "zwölf", "drei"]));
        assert_eq!(slices(text, &spans), ["😀 eins.", "zwölf 😀.", "drei"]);
    }

    #[test]
    fn chunks_beyond_a_text_that_was_cut_are_left_out() {
        let text = "one two three";
        let mut places = places(text, &["one", "two"]);
        for start in [13, 900, -1] {
            places.push(ChunkPlace { position: 9, page: None, start });
        }
        assert_eq!(slices(text, &of_chunks(text, &places)), ["one", "two three"]);
        assert!(of_chunks("", &places).is_empty());
    }

    #[test]
    fn words_match_in_all_their_forms() {
        let text = "😀 The Pumps pumped; a pömp, P-204 and 東京";
        let question = "does the pump P-204 stop in 京?";
        assert_eq!(slices(text, &matches(text, question)), ["Pumps", "pumped", "P", "204", "京"]);
        assert!(matches(text, "").is_empty());
        let text = "Die Häuser stehen am Hafen und nicht im Tal.";
        assert_eq!(slices(text, &matches(text, "Wo ist das Haus am Hafen?")), ["Häuser", "Hafen"]);
        let text = "水泵P-204的密封圈每年更换一次。";
        assert_eq!(slices(text, &matches(text, "密封圈多久更换？P")), ["P", "密封圈", "更换"]);
    }
}
