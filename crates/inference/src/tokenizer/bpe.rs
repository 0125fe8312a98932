//! Byte-level byte-pair encoding: the bytes of a word, merged pair by pair in the order in which the merges were
//! learned.

mod alphabet;

use std::collections::HashMap;

use super::hash::QuickMap;
use super::merge::{Merge, Symbol, merge_all};
use super::split::Splitter;
use crate::ModelError;
use alphabet::byte_character;
pub use alphabet::token_bytes;

#[derive(Debug)]
pub struct BytePairs {
    splitter: Splitter,
    bytes: [Option<u32>; 256],
    merges: QuickMap<u64, Learned>,
    /// Whole words that are tokens regardless of the merges, for the vocabularies that require it.
    words: Option<QuickMap<Box<[u8]>, u32>>,
}

#[derive(Debug, Clone, Copy)]
struct Learned {
    rank: u32,
    merged: u32,
}

impl BytePairs {
    pub fn new(splitter: Splitter, tokens: &[&str], merges: &[&str]) -> Result<Self, ModelError> {
        let mut ids: HashMap<&str, u32> = HashMap::with_capacity(tokens.len());
        for (id, token) in (0..).zip(tokens) {
            ids.entry(token).or_insert(id);
        }
        let bytes = std::array::from_fn(|byte| {
            ids.get(byte_character(byte as u8).encode_utf8(&mut [0; 4]) as &str).copied()
        });
        let words = (splitter == Splitter::Llama3)
            .then(|| ids.iter().map(|(token, id)| (token_bytes(token).into(), *id)).collect());
        Ok(Self { splitter, bytes, merges: learned(&ids, merges)?, words })
    }

    pub fn encode(&self, text: &str, tokens: &mut Vec<u32>) {
        self.splitter.split(text, |word| self.encode_word(word.as_bytes(), tokens));
    }

    fn encode_word(&self, word: &[u8], tokens: &mut Vec<u32>) {
        if let Some(words) = &self.words
            && let Some(id) = words.get(word)
        {
            return tokens.push(*id);
        }
        let symbols = (0..).zip(word).map(|(start, byte)| Symbol {
            id: self.bytes[usize::from(*byte)],
            start,
            end: start + 1,
        });
        let merged = merge_all(symbols, |left, right| {
            let learned = self.merges.get(&pair(left.id?, right.id?))?;
            Some(Merge { order: learned.rank, id: learned.merged })
        });
        // A byte that is not in the vocabulary kept its neighbours apart, and is dropped here.
        tokens.extend(merged.filter_map(|symbol| symbol.id));
    }
}

/// Leaves out merges whose parts are not tokens, since they cannot happen.
fn learned(ids: &HashMap<&str, u32>, merges: &[&str]) -> Result<QuickMap<u64, Learned>, ModelError> {
    let mut learned = QuickMap::with_capacity_and_hasher(merges.len(), Default::default());
    for (rank, merge) in (0..).zip(merges) {
        let Some((left, right)) = merge.split_once(' ') else {
            return Err(ModelError::malformed(format!(
                "merge `{merge}` is not two tokens with a space between"
            )));
        };
        let merged = ids.get(format!("{left}{right}").as_str());
        if let (Some(left), Some(right), Some(merged)) = (ids.get(left), ids.get(right), merged) {
            learned.entry(pair(*left, *right)).or_insert(Learned { rank, merged: *merged });
        }
    }
    Ok(learned)
}

fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
