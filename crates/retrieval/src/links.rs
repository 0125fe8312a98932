//! What passages name, and which passages are about what is named.

use crate::index::{Mention, Passage};
use std::collections::HashMap;
use std::ops::Range;

/// Passages are known by their numbers. Later ones have higher numbers, so every list is in order.
#[derive(Default)]
pub struct Links {
    keys: HashMap<Box<str>, u32>,
    names: Vec<Name>,
    /// Names that no key has any more.
    free: Vec<u32>,
    /// What each passage names.
    named_by: Vec<Box<[u32]>>,
}

#[derive(Default)]
pub struct Name {
    /// The passages that are about it.
    pub about: Vec<About>,
    /// How many passages name it, these included.
    pub named_in: u32,
}

pub struct About {
    pub passage: u32,
    /// How much it is about it, beside the other things that it names: from 0 to 1.
    pub weight: f32,
}

impl Links {
    /// Adds passages behind all others.
    pub fn push(&mut self, passages: &[Passage<'_>]) {
        for passage in passages {
            let number = self.named_by.len() as u32;
            let highest = passage.mentions.iter().map(weight).fold(f32::MIN_POSITIVE, f32::max);
            let mut names = Vec::with_capacity(passage.mentions.len());
            for mention in passage.mentions {
                let name = self.name(mention.key);
                names.push(name);
                if mention.defines {
                    self.names[name as usize].add_about(number, weight(mention) / highest);
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
        let name = self.free.pop().unwrap_or_else(|| {
            self.names.push(Name::default());
            self.names.len() as u32 - 1
        });
        self.keys.insert(key.into(), name);
        name
    }

    /// Takes passages out of all that is counted.
    pub fn remove(&mut self, passages: Range<u32>) {
        for passage in passages.clone() {
            for name in std::mem::take(&mut self.named_by[passage as usize]) {
                let name = &mut self.names[name as usize];
                name.named_in -= 1;
                name.about.retain(|about| about.passage != passage);
            }
        }
    }

    /// Gives every passage its new number, if it has one, and the memory back that the others had.
    pub fn renumber(&mut self, numbers: &[Option<u32>]) {
        for about in self.names.iter_mut().flat_map(|name| &mut name.about) {
            about.passage = numbers[about.passage as usize].unwrap_or_default();
        }
        let (names, free) = (&self.names, &mut self.free);
        self.keys.retain(|_, name| {
            let is_used = names[*name as usize].named_in > 0;
            if !is_used {
                free.push(*name);
            }
            is_used
        });
        self.keys.shrink_to_fit();
        let mut kept = numbers.iter().map(Option::is_some);
        self.named_by.retain(|_| kept.next().unwrap_or_default());
        self.named_by.shrink_to_fit();
    }

    pub fn bytes(&self) -> usize {
        let name = |name: &Name| size_of::<Name>() + size_of::<About>() * name.about.capacity();
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
        names.filter(move |name| name.about.binary_search_by_key(&passage, |about| about.passage).is_err())
    }
}

impl Name {
    fn add_about(&mut self, passage: u32, weight: f32) {
        match self.about.last_mut().filter(|last| last.passage == passage) {
            Some(last) => last.weight = last.weight.max(weight),
            None => self.about.push(About { passage, weight }),
        }
    }
}

/// What is no weight weighs nothing.
fn weight(mention: &Mention<'_>) -> f32 {
    if mention.weight.is_finite() { mention.weight.max(0.0) } else { 0.0 }
}
