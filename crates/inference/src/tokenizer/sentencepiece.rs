//! SentencePiece as in the first Llama models: characters, merged to the token with the highest score, and bytes for
//! characters that are in no token.

use super::hash::QuickMap;
use super::merge::{Merge, Symbol, merge_all};
use super::vocabulary::{TokenKind, Vocabulary};
use crate::ModelError;

/// A space in these vocabularies.
const SPACE: &str = "\u{2581}";

#[derive(Debug)]
pub struct SentencePiece {
    ids: QuickMap<Box<str>, u32>,
    scores: Vec<f32>,
    bytes: [Option<u32>; 256],
    unknown: Option<u32>,
    space_first: bool,
    longest: usize,
}

impl SentencePiece {
    pub fn new(
        vocabulary: &Vocabulary<'_>,
        scores: Vec<f32>,
        unknown: Option<u32>,
        space_first: bool,
    ) -> Result<Self, ModelError> {
        let tokens = &vocabulary.tokens;
        if scores.len() != tokens.len() {
            return Err(ModelError::malformed(format!(
                "{} scores for {} tokens",
                scores.len(),
                tokens.len()
            )));
        }
        let mut ids: QuickMap<Box<str>, u32> = QuickMap::default();
        let mut bytes = [None; 256];
        for ((id, token), kind) in (0..).zip(tokens).zip(&vocabulary.kinds) {
            match kind {
                TokenKind::Byte => {
                    if let Some(byte) = byte_of(token) {
                        bytes[usize::from(byte)].get_or_insert(id);
                    }
                }
                // So that no text of a user can become a control token.
                TokenKind::Control | TokenKind::Unknown => {}
                TokenKind::Text | TokenKind::UserDefined => {
                    ids.entry((*token).into()).or_insert(id);
                }
            }
        }
        let longest = ids.keys().map(|token| str::len(token)).max().unwrap_or(0);
        Ok(Self { ids, scores, bytes, unknown, space_first, longest })
    }

    /// `begins` is true at the start of the text and after a special token.
    pub fn encode(&self, text: &str, begins: bool, tokens: &mut Vec<u32>) {
        let mut written = String::with_capacity(text.len() + text.len() / 4);
        if begins && self.space_first {
            written.push_str(SPACE);
        }
        written.push_str(&text.replace(' ', SPACE));

        let symbols = written.char_indices().map(|(start, character)| {
            let end = start + character.len_utf8();
            let id = self.ids.get(&written[start..end]).copied();
            Symbol { id, start: start as u32, end: end as u32 }
        });
        let between = |left: &Symbol, right: &Symbol| &written[left.start as usize..right.end as usize];
        for symbol in merge_all(symbols, |left, right| self.merge(between(left, right))) {
            match symbol.id {
                Some(id) => tokens.push(id),
                None => tokens.extend(between(&symbol, &symbol).bytes().filter_map(|byte| self.byte(byte))),
            }
        }
    }

    fn merge(&self, text: &str) -> Option<Merge> {
        if text.len() > self.longest {
            return None;
        }
        let id = *self.ids.get(text)?;
        Some(Merge { order: highest_first(self.scores[id as usize]), id })
    }

    fn byte(&self, byte: u8) -> Option<u32> {
        self.bytes[usize::from(byte)].or(self.unknown)
    }
}

/// Returns the bytes of a token.
pub fn token_bytes(token: &str, kind: TokenKind) -> Vec<u8> {
    match kind {
        TokenKind::Byte => byte_of(token).into_iter().collect(),
        TokenKind::UserDefined => token.as_bytes().to_vec(),
        _ => token.replace(SPACE, " ").into_bytes(),
    }
}

/// Returns the byte of a byte token: `<0x0A>` is a newline.
fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok()
}

/// Returns a number that is the lower the higher the score is.
fn highest_first(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits >> 31 == 0 { !(bits | 1 << 31) } else { bits }
}
