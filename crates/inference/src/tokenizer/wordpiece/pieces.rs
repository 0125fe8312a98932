//! Word pieces by their bytes: a hash table that compares sixteen bytes at once.

use std::collections::HashMap;

const SHORT: usize = 16;
const LENGTHS: usize = 1 << 12;

#[derive(Debug)]
pub struct Pieces {
    slots: Vec<Slot>,
    /// The few pieces of more than [`SHORT`] bytes.
    long: HashMap<Box<[u8]>, u32>,
    longest: usize,
    /// For the first two bytes of a word, the lengths up to [`SHORT`] of the pieces that begin so, one bit each.
    /// Saves most of the lookups that would find nothing.
    lengths: Vec<u16>,
}

/// Free if `len` is 0.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    key: [u64; 2],
    len: u32,
    id: u32,
}

impl Pieces {
    /// The first `cut` bytes of every token are not part of its piece.
    pub fn new<'a>(tokens: impl Iterator<Item = (&'a String, &'a u32)>, cut: usize) -> Self {
        let tokens: Vec<(&[u8], u32)> = tokens.map(|(token, id)| (&token.as_bytes()[cut..], *id)).collect();
        let slots = (tokens.len() * 4 / 3 + 1).next_power_of_two();
        let longest = tokens.iter().map(|(bytes, _)| bytes.len()).max().unwrap_or(0);
        let mut pieces = Self {
            slots: vec![Slot::default(); slots],
            long: HashMap::new(),
            longest,
            // A piece of one byte fits any second byte.
            lengths: vec![1; LENGTHS],
        };
        for (bytes, id) in tokens {
            pieces.insert(bytes, id);
        }
        pieces
    }

    fn insert(&mut self, bytes: &[u8], id: u32) {
        match bytes.len() {
            0 => {}
            1..=SHORT => {
                let key = first_bytes(bytes);
                let mut place = self.place(key);
                while self.slots[place].len != 0 {
                    place = (place + 1) & (self.slots.len() - 1);
                }
                self.slots[place] = Slot { key, len: bytes.len() as u32, id };
                self.lengths[two_bytes(key)] |= 1 << (bytes.len() - 1);
            }
            _ => {
                self.long.insert(bytes.into(), id);
            }
        }
    }

    /// Returns the length and token of the longest piece at the start of `bytes`.
    pub fn longest_prefix(&self, bytes: &[u8]) -> Option<(usize, u32)> {
        for len in (SHORT + 1..=self.longest.min(bytes.len())).rev() {
            if let Some(id) = self.long.get(&bytes[..len]) {
                return Some((len, *id));
            }
        }
        let key = first_bytes(bytes);
        let mut lengths = self.lengths[two_bytes(key)];
        if bytes.len() < SHORT {
            lengths &= (1 << bytes.len()) - 1;
        }
        while let Some(highest) = lengths.checked_ilog2() {
            lengths ^= 1 << highest;
            let len = highest as usize + 1;
            if let Some(id) = self.find(keep(key, len), len as u32) {
                return Some((len, id));
            }
        }
        None
    }

    /// Ends at a free slot, of which there is always one.
    fn find(&self, key: [u64; 2], len: u32) -> Option<u32> {
        let mut place = self.place(key);
        loop {
            let slot = &self.slots[place];
            if slot.len == 0 {
                return None;
            }
            if slot.key == key && slot.len == len {
                return Some(slot.id);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    fn place(&self, key: [u64; 2]) -> usize {
        let product = u128::from(key[0] ^ 0x9e37_79b9_7f4a_7c15) * u128::from(key[1] ^ 0xd1b5_4a32_d192_ed03);
        let folded = (product ^ (product >> 64)) as u64;
        (folded ^ (folded >> 32)) as usize & (self.slots.len() - 1)
    }
}

/// Returns up to sixteen bytes as two numbers, padded with zeros.
fn first_bytes(bytes: &[u8]) -> [u64; 2] {
    let mut padded = [0; SHORT];
    let len = bytes.len().min(SHORT);
    padded[..len].copy_from_slice(&bytes[..len]);
    let (low, high) = padded.split_at(8);
    [low, high].map(|half| half.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn two_bytes(key: [u64; 2]) -> usize {
    let pair = key[0] as usize & 0xffff;
    (pair ^ pair >> 5) & (LENGTHS - 1)
}

fn keep(key: [u64; 2], len: usize) -> [u64; 2] {
    match len {
        0..8 => [key[0] & ((1 << (len * 8)) - 1), 0],
        8 => [key[0], 0],
        9..16 => [key[0], key[1] & ((1 << (len * 8 - 64)) - 1)],
        _ => key,
    }
}
