//! Which passages mention a name, and which are about it.

use crate::keys::Keys;
use crate::numbering::Numbering;
use crate::passage::Passage;
use crate::strings::{Strings, part, write_ends};
use inference::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

/// Passages are added in the order of their numbers, so every list is sorted. Passages and names of a file have the first
/// numbers.
#[derive(Default)]
pub struct Links {
    mapped: MappedLinks,
    /// The names that are not in the file.
    keys: Keys,
    /// How many passages mention each name.
    named_in: Vec<u32>,
    /// The added passages that are about a name.
    about: HashMap<u32, Vec<u32>>,
    /// The names in each added passage.
    named_by: Vec<Box<[u32]>>,
}

/// What a file has of it. Names are sorted.
#[derive(Default)]
struct MappedLinks {
    names: Strings,
    about_ends: Array<u32>,
    about: Array<u32>,
    named_by_ends: Array<u32>,
    named_by: Array<u32>,
}

#[derive(Clone, Copy)]
pub struct Name<'a> {
    about: [&'a [u32]; 2],
    /// How many passages mention the name.
    pub named_in: u32,
}

impl<'a> Name<'a> {
    /// Returns the passages that are about the name. Some of a file's may have been removed.
    pub fn about(&self) -> impl Iterator<Item = u32> + 'a {
        self.about.into_iter().flatten().copied()
    }

    fn is_about(&self, passage: u32) -> bool {
        self.about.iter().any(|about| about.binary_search(&passage).is_ok())
    }
}

impl Links {
    pub fn read(from: &mut ArrayReader, passages: usize) -> Result<Self, Damaged> {
        let names = Strings::read(from)?;
        let named_in = from.take_exactly::<u32>(names.len())?.to_vec();
        let about_ends = from.take_exactly(names.len())?;
        let about = from.take()?;
        let named_by_ends = from.take_exactly(passages)?;
        let mapped = MappedLinks { names, about_ends, about, named_by_ends, named_by: from.take()? };
        Ok(Self { mapped, named_in, ..Self::default() })
    }

    /// Writes the passages of these numbers under their new numbers.
    pub fn write(
        &self,
        to: &mut ArrayWriter<impl Write>,
        passages: &[u32],
        numbering: &Numbering,
    ) -> io::Result<()> {
        let mut names: Vec<(&str, u32)> =
            self.mapped.names.iter().zip(0..).chain(self.keys.entries()).collect();
        names.retain(|(_, name)| self.named_in[*name as usize] > 0);
        names.sort_unstable();
        Strings::write(to, names.iter().map(|(key, _)| *key))?;
        to.put(&names.iter().map(|(_, name)| self.named_in[*name as usize]).collect::<Vec<u32>>())?;
        let about = |name: u32| -> Vec<u32> {
            self.name(name).about().filter_map(|passage| numbering.new_number(passage)).collect()
        };
        write_ends(to, names.iter().map(|(_, name)| about(*name).len()))?;
        let all = names.iter().map(|(_, name)| about(*name).len()).sum();
        to.put_parts(all, names.iter().map(|(_, name)| about(*name)))?;
        let mut new_names = vec![0; self.named_in.len()];
        for (new, (_, old)) in (0..).zip(&names) {
            new_names[*old as usize] = new;
        }
        write_ends(to, passages.iter().map(|passage| self.names_in(*passage).len()))?;
        let all = passages.iter().map(|passage| self.names_in(*passage).len()).sum();
        let named_by = |passage: &u32| -> Vec<u32> {
            self.names_in(*passage)
                .iter()
                .map(|name| new_names.get(*name as usize).copied().unwrap_or_default())
                .collect()
        };
        to.put_parts(all, passages.iter().map(named_by))
    }

    /// Adds passages after all others.
    pub fn push(&mut self, passages: &[Passage<'_>]) {
        for passage in passages {
            let number = (self.mapped.named_by_ends.len() + self.named_by.len()) as u32;
            let mut names = Vec::with_capacity(passage.mentions.len());
            for mention in passage.mentions {
                let name = self.number_of(mention.key);
                names.push(name);
                if mention.defines {
                    let about = self.about.entry(name).or_default();
                    if about.last() != Some(&number) {
                        about.push(number);
                    }
                }
            }
            names.sort_unstable();
            names.dedup();
            names.iter().for_each(|name| self.named_in[*name as usize] += 1);
            self.named_by.push(names.into());
        }
    }

    /// Returns the number of a name; a new name gets the next one.
    fn number_of(&mut self, key: &str) -> u32 {
        if let Some(name) = self.mapped.names.find(key) {
            return name;
        }
        let name = self.keys.get_or_insert(key, self.named_in.len());
        if name as usize == self.named_in.len() {
            self.named_in.push(0);
        }
        name
    }

    /// Removes passages. Those of a file stay in its lists, and are not counted.
    pub fn remove(&mut self, passages: Range<u32>) {
        let mapped = self.mapped.named_by_ends.len();
        for passage in passages {
            for name in self.names_in(passage).to_vec() {
                if let Some(named_in) = self.named_in.get_mut(name as usize) {
                    *named_in = named_in.saturating_sub(1);
                }
                if let Some(about) = self.about.get_mut(&name) {
                    about.retain(|about| *about != passage);
                }
            }
            if let Some(added) = (passage as usize).checked_sub(mapped) {
                self.named_by[added] = Box::default();
            }
        }
    }

    /// Applies new numbers to the passages and frees the memory of removed ones. None of them may be in a file.
    pub fn renumber(&mut self, passages: &Numbering) {
        let names = Numbering::of(self.named_in.iter().map(|named_in| *named_in > 0));
        self.keys.renumber(&names);
        names.retain(&mut self.named_in);
        let about = std::mem::take(&mut self.about).into_iter().filter_map(|(name, mut about)| {
            about.iter_mut().for_each(|passage| passages.renumber(passage));
            about.shrink_to_fit();
            Some((names.new_number(name)?, about))
        });
        self.about = about.collect();
        passages.retain(&mut self.named_by);
        self.named_by.iter_mut().flatten().for_each(|name| names.renumber(name));
    }

    pub fn bytes(&self) -> usize {
        let about = |about: &Vec<u32>| size_of::<(u32, Vec<u32>)>() + 1 + 4 * about.capacity();
        let named = |names: &[u32]| size_of::<Box<[u32]>>() + size_of_val(names);
        self.about.values().map(about).sum::<usize>()
            + 4 * self.named_in.capacity()
            + self.keys.bytes()
            + self.named_by.iter().map(|names| named(names)).sum::<usize>()
    }

    fn name(&self, name: u32) -> Name<'_> {
        Name {
            about: [
                part(&self.mapped.about_ends, &self.mapped.about, name as usize),
                self.about.get(&name).map(Vec::as_slice).unwrap_or_default(),
            ],
            named_in: self.named_in.get(name as usize).copied().unwrap_or_default(),
        }
    }

    pub fn named(&self, key: &str) -> Option<Name<'_>> {
        let name = self.mapped.names.find(key).or_else(|| self.keys.get(key))?;
        Some(self.name(name))
    }

    /// Returns the names in a passage, except those that the passage is about.
    pub fn named_by(&self, passage: u32) -> impl Iterator<Item = Name<'_>> {
        let names = self.names_in(passage).iter().map(|name| self.name(*name));
        names.filter(move |name| !name.is_about(passage))
    }

    fn names_in(&self, passage: u32) -> &[u32] {
        let mapped = self.mapped.named_by_ends.len();
        match (passage as usize).checked_sub(mapped) {
            None => part(&self.mapped.named_by_ends, &self.mapped.named_by, passage as usize),
            Some(added) => &self.named_by[added],
        }
    }
}
