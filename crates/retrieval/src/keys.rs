//! Numbers for strings, given out in order.

use crate::numbering::Numbering;
use std::collections::HashMap;

#[derive(Default)]
pub struct Keys(HashMap<Box<str>, u32>);

impl Keys {
    pub fn get(&self, key: &str) -> Option<u32> {
        self.0.get(key).copied()
    }

    /// Returns the number of a key; a new key gets `next`.
    pub fn get_or_insert(&mut self, key: &str, next: usize) -> u32 {
        if let Some(number) = self.get(key) {
            return number;
        }
        self.0.insert(key.into(), next as u32);
        next as u32
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    /// Returns the keys with their numbers, in any order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(key, number)| (key.as_ref(), *number))
    }

    /// Applies new numbers and forgets the keys that are not kept.
    pub fn renumber(&mut self, numbering: &Numbering) {
        self.0.retain(|_, number| numbering.keeps(*number as usize));
        self.0.values_mut().for_each(|number| numbering.renumber(number));
        self.0.shrink_to_fit();
    }

    /// Returns an estimate of the memory used, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.keys().map(|key| size_of::<(Box<str>, u32)>() + 1 + key.len()).sum()
    }
}
