//! Which passages mention a name, and which are about it.

use crate::keys::Keys;
use crate::numbering::Numbering;
use crate::passage::Passage;
use std::ops::Range;

/// Passages are added in the order of their numbers, so every list is sorted.
#[derive(Default)]
pub struct Links {
    keys: Keys,
    names: Vec<Name>,
    /// The names in each passage.
    named_by: Vec<Box<[u32]>>,
}

#[derive(Default)]
pub struct Name {
    /// The passages that are about the name.
    pub about: Vec<u32>,
    /// How many passages mention the name.
    pub named_in: u32,
}

impl Links {
    /// Adds passages after all others.
    pub fn push(&mut self, passages: &[Passage<'_>]) {
        for passage in passages {
            let number = self.named_by.len() as u32;
            let mut names = Vec::with_capacity(passage.mentions.len());
            for mention in passage.mentions {
                let name = self.name(mention.key);
                names.push(name);
                let about = &mut self.names[name as usize].about;
                if mention.defines && about.last() != Some(&number) {
                    about.push(number);
                }
            }
            names.sort_unstable();
            names.dedup();
            names.iter().for_each(|name| self.names[*name as usize].named_in += 1);
            self.named_by.push(names.into());
        }
    }

    fn name(&mut self, key: &str) -> u32 {
        let name = self.keys.get_or_insert(key, self.names.len());
        if name as usize == self.names.len() {
            self.names.push(Name::default());
        }
        name
    }

    /// Removes passages.
    pub fn remove(&mut self, passages: Range<u32>) {
        for passage in passages {
            for name in std::mem::take(&mut self.named_by[passage as usize]) {
                let name = &mut self.names[name as usize];
                name.named_in -= 1;
                name.about.retain(|about| *about != passage);
            }
        }
    }

    /// Applies new numbers to the passages and frees the memory of removed ones.
    pub fn renumber(&mut self, passages: &Numbering) {
        let names = Numbering::of(self.names.iter().map(|name| name.named_in > 0));
        self.keys.renumber(&names);
        names.retain(&mut self.names);
        for name in &mut self.names {
            name.about.iter_mut().for_each(|passage| passages.renumber(passage));
            name.about.shrink_to_fit();
        }
        passages.retain(&mut self.named_by);
        self.named_by.iter_mut().flatten().for_each(|name| names.renumber(name));
    }

    pub fn bytes(&self) -> usize {
        let name = |name: &Name| size_of::<Name>() + 4 * name.about.capacity();
        let named = |names: &[u32]| size_of::<Box<[u32]>>() + size_of_val(names);
        self.names.iter().map(name).sum::<usize>()
            + self.keys.bytes()
            + self.named_by.iter().map(|names| named(names)).sum::<usize>()
    }

    pub fn named(&self, key: &str) -> Option<&Name> {
        self.keys.get(key).map(|name| &self.names[name as usize])
    }

    /// Returns the names in a passage, except those that the passage is about.
    pub fn named_by(&self, passage: u32) -> impl Iterator<Item = &Name> {
        let names = self.named_by[passage as usize].iter().map(|name| &self.names[*name as usize]);
        names.filter(move |name| name.about.binary_search(&passage).is_err())
    }
}
