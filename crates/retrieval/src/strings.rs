//! Strings in a mapped file.

use inference::arrays::{Array, ArrayReader, ArrayWriter, Damaged};
use std::io::{self, Write};

#[derive(Default)]
pub struct Strings {
    /// Where each string ends in `bytes`.
    ends: Array<u32>,
    bytes: Array<u8>,
}

impl Strings {
    pub fn write<'a>(
        to: &mut ArrayWriter<impl Write>,
        strings: impl Iterator<Item = &'a str> + Clone,
    ) -> io::Result<()> {
        write_ends(to, strings.clone().map(str::len))?;
        let bytes = strings.clone().map(str::len).sum();
        to.put_parts(bytes, strings.map(str::as_bytes))
    }

    pub fn read(from: &mut ArrayReader) -> Result<Self, Damaged> {
        Ok(Self { ends: from.take()?, bytes: from.take()? })
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a string; an empty one if the file is damaged.
    pub fn get(&self, number: usize) -> &str {
        str::from_utf8(part(&self.ends, &self.bytes, number)).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Returns the number of a string, if they are sorted.
    pub fn find(&self, string: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).cmp(string) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle as u32),
            }
        }
        None
    }
}

/// Writes where each of several consecutive lists ends.
pub fn write_ends(to: &mut ArrayWriter<impl Write>, lengths: impl Iterator<Item = usize>) -> io::Result<()> {
    let ends: Option<Vec<u32>> = lengths
        .scan(0u32, |end, length| {
            let next = u32::try_from(length).ok().and_then(|length| end.checked_add(length));
            *end = next.unwrap_or(u32::MAX);
            Some(next)
        })
        .collect();
    to.put(&ends.ok_or_else(|| io::Error::other("an index has too many words for one file"))?)
}

/// Returns the list of this number among consecutive ones; an empty one if the file is damaged.
pub fn part<'a, T>(ends: &[u32], all: &'a [T], number: usize) -> &'a [T] {
    let start = number.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    let end = ends.get(number).copied().unwrap_or(0);
    all.get(start as usize..end as usize).unwrap_or_default()
}
