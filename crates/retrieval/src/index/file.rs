//! An index as a file: written whole, then mapped, so that it is there at once and its memory can be taken back.

use super::{DocumentEntry, Index};
use crate::dense::Dense;
use crate::lexical::Lexical;
use crate::links::Links;
use crate::numbering::Numbering;
use crate::strings::Strings;
use inference::arrays::{ArrayReader, ArrayWriter, Damaged};
use std::fs::File;
use std::io::{self, Write};
use words::Language;

/// Changes with the layout of the file, and with how words are taken from texts.
const STAMP: &[u8] = b"stoa index 4";

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("the index file cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("the index file is damaged")]
    Damaged,
    #[error("the index file is of another version of the program")]
    OtherVersion,
}

impl From<Damaged> for FileError {
    fn from(_: Damaged) -> Self {
        Self::Damaged
    }
}

impl Index {
    /// Writes all passages, and what the caller wants to know of them later.
    pub fn write(&self, note: &[u8], to: impl Write) -> io::Result<()> {
        let is_stored = |passage: usize| {
            let owner = self.owner(passage as u32) as usize;
            self.entries.get(owner).is_some_and(Option::is_some)
        };
        let numbering = Numbering::of((0..self.numbers()).map(is_stored));
        let passages: Vec<u32> = (0..self.numbers())
            .filter(|passage| numbering.keeps(*passage))
            .map(|passage| passage as u32)
            .collect();
        let entries = || self.entries.iter().flatten();
        let to = &mut ArrayWriter::new(to);
        to.put(STAMP)?;
        to.put(note)?;
        to.put(&[self.dense.dimension() as u32, passages.len() as u32])?;
        Strings::write(to, entries().map(|entry| entry.document.as_str()))?;
        to.put(&entries().map(|entry| entry.passages.len() as u32).collect::<Vec<u32>>())?;
        to.put(&entries().map(|entry| entry.language as u8).collect::<Vec<u8>>())?;
        let owners = (0..).zip(entries()).map(|(number, entry)| vec![number; entry.passages.len()]);
        to.put_parts(passages.len(), owners)?;
        self.dense.write(to, &passages)?;
        self.lexical.write(to, &passages, &numbering)?;
        self.links.write(to, &passages, &numbering)
    }

    /// Maps a file that [`Self::write`] made and that is never changed in place. Returns the index and the caller's note.
    pub fn open(file: &File) -> Result<(Self, Vec<u8>), FileError> {
        let from = &mut ArrayReader::open(file)?;
        if *from.take::<u8>()? != *STAMP {
            return Err(FileError::OtherVersion);
        }
        let note = from.take::<u8>()?.to_vec();
        let [dimension, passages] = from.take::<u32>()?[..] else { return Err(FileError::Damaged) };
        let (dimension, passages) = (dimension as usize, passages as usize);
        let documents = Strings::read(from)?;
        let lengths = from.take_exactly::<u32>(documents.len())?;
        let languages = from.take_exactly::<u8>(documents.len())?;
        let mapped_owners = from.take_exactly(passages)?;
        let mut index = Self {
            mapped_owners,
            dense: Dense::read(from, dimension, passages)?,
            lexical: Lexical::read(from, passages)?,
            links: Links::read(from, passages)?,
            ..Self::new(dimension)
        };
        let mut start = 0u32;
        for (number, document) in documents.iter().enumerate() {
            let end = start.checked_add(lengths[number]).ok_or(FileError::Damaged)?;
            let language = Language::from_repr(languages[number]).ok_or(FileError::Damaged)?;
            index.languages.add(language);
            index.entries.push(Some(DocumentEntry {
                document: document.to_owned(),
                language,
                passages: start..end,
                terms: Box::default(),
            }));
            index.documents.insert(document.to_owned(), number as u32);
            start = end;
        }
        if start as usize != passages {
            return Err(FileError::Damaged);
        }
        Ok((index, note))
    }
}
