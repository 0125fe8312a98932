//! What passages name, and which passages are about what is named.

use crate::index::Passage;
use std::collections::HashMap;
use std::ops::Range;

#[derive(Default)]
pub struct Links {
    keys: HashMap<Box<str>, u32>,
    names: Vec<Name>,
    /// Names that no key has any more.
    free: Vec<u32>,
    /// What each passage names.
    mentions: Vec<Box<[Named]>>,
}

#[derive(Default)]
pub struct Name {
    /// The passages that are about it, in order.
    pub defined_in: Vec<u32>,
    /// How many passages name it.
    pub named_in: u32,
}

#[derive(Clone, Copy)]
pub struct Named {
    name: u32,
    pub defines: bool,
    pub weight: f32,
}

impl Links {
    /// Adds passages behind all others.
    pub fn push(&mut self, passages: &[Passage<'_>]) {
        for passage in passages {
            let number = self.mentions.len() as u32;
            let mut mentions: Vec<Named> = Vec::with_capacity(passage.mentions.len());
            for mention in passage.mentions {
                let name = self.name(mention.key);
                let weight = if mention.weight.is_finite() { mention.weight.max(0.0) } else { 0.0 };
                mentions.push(Named { name, defines: mention.defines, weight });
            }
            mentions.sort_by_key(|mention| (mention.name, !mention.defines));
            mentions.dedup_by_key(|mention| mention.name);
            for mention in &mentions {
                let name = &mut self.names[mention.name as usize];
                name.named_in += 1;
                if mention.defines {
                    name.defined_in.push(number);
                }
            }
            self.mentions.push(mentions.into());
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

    pub fn remove(&mut self, passages: Range<u32>) {
        for passage in passages {
            for mention in std::mem::take(&mut self.mentions[passage as usize]) {
                let name = &mut self.names[mention.name as usize];
                name.named_in -= 1;
                name.defined_in.retain(|defined_in| *defined_in != passage);
            }
        }
    }

    /// Gives every passage its new number, if it has one, and the memory back that the others had.
    pub fn renumber(&mut self, numbers: &[Option<u32>]) {
        for name in &mut self.names {
            name.defined_in
                .iter_mut()
                .for_each(|passage| *passage = numbers[*passage as usize].unwrap_or_default());
            name.defined_in.shrink_to_fit();
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
        self.mentions.retain(|_| kept.next().unwrap_or_default());
        self.mentions.shrink_to_fit();
    }

    pub fn bytes(&self) -> usize {
        let name = |name: &Name| size_of::<Name>() + 4 * name.defined_in.capacity();
        let key = |key: &str| size_of::<(Box<str>, u32)>() + 1 + key.len();
        let named = |named: &[Named]| size_of::<Box<[Named]>>() + size_of_val(named);
        self.names.iter().map(name).sum::<usize>()
            + self.keys.keys().map(|text| key(text)).sum::<usize>()
            + self.mentions.iter().map(|mentions| named(mentions)).sum::<usize>()
    }

    /// What a passage names.
    pub fn named_by(&self, passage: u32) -> impl Iterator<Item = (&Name, Named)> {
        self.mentions[passage as usize].iter().map(|named| (&self.names[named.name as usize], *named))
    }

    pub fn named(&self, key: &str) -> Option<&Name> {
        self.keys.get(key).map(|name| &self.names[*name as usize])
    }
}
