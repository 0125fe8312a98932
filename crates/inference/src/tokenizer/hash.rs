//! A fast hash for maps whose keys come only from the model's file, so that no text can cause collisions.

use std::hash::{BuildHasherDefault, Hasher};

pub type QuickMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<QuickHasher>>;

#[derive(Debug, Default, Clone, Copy)]
pub struct QuickHasher(u64);

impl QuickHasher {
    fn mix(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03;
        self.0 = (product ^ (product >> 64)) as u64;
    }
}

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            self.mix(part.iter().fold(part.len() as u64, |number, byte| number << 8 | u64::from(*byte)));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }
}
