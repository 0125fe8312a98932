//! What passages name, and which passages are about what is named.

use crate::numbering::Numbering;
use crate::passage::Passage;
use std::collections::HashMap;
use std::ops::Range;

/// Passages are known by their numbers. Later ones have higher numbers, so every list is in order.
#[derive(Default)]
pub struct Links {
    keys: HashMap<Box<str>, u32>,
    names: Vec<Name>,
    /// What each passage names.
    named_by: Vec<Box<[u32]>>,
}

#[derive(Default)]
pub struct Name {
    /// The passages that are about it.
    pub about: Vec<u32>,
    /// How many passages name it, these included.
    pub named_in: u32,
}

impl Links {
    /// Adds passages behind all others.
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
        if let Some(name) = self.keys.get(key) {
            return *name;
        }
        let name = self.names.len() as u32;
        self.names.push(Name::default());
        self.keys.insert(key.into(), name);
        name
    }

    /// Takes passages out of all that is counted.
    pub fn remove(&mut self, passages: Range<u32>) {
        for passage in passages {
            for name in std::mem::take(&mut self.named_by[passage as usize]) {
                let name = &mut self.names[name as usize];
                name.named_in -= 1;
                name.about.retain(|about| *about != passage);
            }
        }
    }

    /// Gives the passages their new numbers, and back the memory that others had.
    pub fn renumber(&mut self, passages: &Numbering) {
        let names = Numbering::of(self.names.iter().map(|name| name.named_in > 0));
        self.keys.retain(|_, name| names.keeps(*name as usize));
        self.keys.values_mut().for_each(|name| names.renumber(name));
        self.keys.shrink_to_fit();
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
        let key = |key: &str| size_of::<(Box<str>, u32)>() + 1 + key.len();
        let named = |names: &[u32]| size_of::<Box<[u32]>>() + size_of_val(names);
        self.names.iter().map(name).sum::<usize>()
            + self.keys.keys().map(|text| key(text)).sum::<usize>()
            + self.named_by.iter().map(|names| named(names)).sum::<usize>()
    }

    pub fn named(&self, key: &str) -> Option<&Name> {
        self.keys.get(key).map(|name| &self.names[*name as usize])
    }

    /// What a passage names without being about it.
    pub fn named_by(&self, passage: u32) -> impl Iterator<Item = &Name> {
        let names = self.named_by[passage as usize].iter().map(|name| &self.names[*name as usize]);
        names.filter(move |name| name.about.binary_search(&passage).is_err())
    }
}
