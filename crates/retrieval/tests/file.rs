//! An index that was written and mapped answers as the one in memory does, also after further changes.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod common;

use common::{DIMENSION, Random, answers, ask, put_generated};
use retrieval::{FileError, Index, Mode, Passage};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stoa-index-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mapped(index: &Index, path: &Path) -> Index {
    let mut file = BufWriter::new(File::create(path).unwrap());
    index.write(b"a note", &mut file).unwrap();
    file.flush().unwrap();
    let (mapped, note) = Index::open(&File::open(path).unwrap()).unwrap();
    // A file that was removed stays mapped.
    fs::remove_file(path).unwrap();
    assert_eq!(note, b"a note");
    mapped
}

fn open(path: &Path) -> Result<Index, FileError> {
    Index::open(&File::open(path).unwrap()).map(|(index, _)| index)
}

fn change(index: &mut Index, random: &mut Random, step: u64) {
    let document = random.below(150);
    if random.next() < 0.7 {
        put_generated(index, document, step);
    } else {
        index.remove(&document.to_string());
    }
}

#[test]
fn a_mapped_index_answers_as_one_in_memory_through_many_changes() {
    let folder = Folder::new("changes");
    let (mut in_memory, mut in_file) = (Index::new(DIMENSION), Index::new(DIMENSION));
    let (mut one, mut other) = (Random(7), Random(7));
    for round in 0..8 {
        for step in round * 100..(round + 1) * 100 {
            change(&mut in_memory, &mut one, step);
            change(&mut in_file, &mut other, step);
        }
        assert_eq!(in_file.len(), in_memory.len());
        assert_eq!(answers(&in_file), answers(&in_memory), "before file {round}");
        in_file = mapped(&in_file, &folder.0.join(round.to_string()));
        assert_eq!(in_file.len(), in_memory.len());
        assert_eq!(answers(&in_file), answers(&in_memory), "file {round}");
        let mut ids: Vec<&str> = in_file.documents().collect();
        let mut expected: Vec<&str> = in_memory.documents().collect();
        ids.sort_unstable();
        expected.sort_unstable();
        assert_eq!(ids, expected);
    }
    assert!(in_file.bytes() < in_memory.bytes() / 4, "{} of {}", in_file.bytes(), in_memory.bytes());
}

#[test]
fn an_empty_index_can_be_written() {
    let folder = Folder::new("empty");
    let mut index = mapped(&Index::new(DIMENSION), &folder.0.join("empty"));
    assert!(index.is_empty() && answers(&index).is_empty());
    put_generated(&mut index, 1, 1);
    assert!(!answers(&index).is_empty());
}

#[test]
fn many_passages_are_scanned_by_several_threads_with_the_same_result() {
    let folder = Folder::new("many");
    let (mut index, mut random) = (Index::new(DIMENSION), Random(3));
    let vectors: Vec<Vec<f32>> = (0..70_000).map(|_| random.vector(DIMENSION)).collect();
    for (number, vectors) in vectors.chunks(1000).enumerate() {
        let passages: Vec<Passage<'_>> =
            vectors.iter().map(|vector| Passage { vector, ..Passage::default() }).collect();
        index.put(&number.to_string(), &passages);
    }
    let query = random.vector(DIMENSION);
    let cosine = |vector: &Vec<f32>| -> f64 {
        vector.iter().zip(&query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let mut expected: Vec<(f64, usize)> = vectors.iter().map(cosine).zip(0..).collect();
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    let expected: Vec<(String, u32)> = expected[..10]
        .iter()
        .map(|(_, number)| ((number / 1000).to_string(), (number % 1000) as u32))
        .collect();
    for index in [mapped(&index, &folder.0.join("many")), index] {
        let hits = index.search(&ask("", &query, Mode::Dense));
        let found: Vec<(String, u32)> = hits.into_iter().map(|hit| (hit.document, hit.passage)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_file_that_is_cut_or_of_another_version_is_refused() {
    let folder = Folder::new("damaged");
    let path = folder.0.join("index");
    let mut index = Index::new(DIMENSION);
    (0..20).for_each(|document| put_generated(&mut index, document, 0));
    let mut whole = Vec::new();
    index.write(b"", &mut whole).unwrap();
    // The last array may lack the zeros behind it.
    for length in (0..whole.len() - 64).step_by(whole.len() / 40) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(open(&path).is_err(), "{length} of {} bytes", whole.len());
    }
    whole[64] ^= 1;
    fs::write(&path, &whole).unwrap();
    assert!(matches!(open(&path), Err(FileError::OtherVersion)));
}

#[test]
fn a_file_from_before_words_were_stemmed_by_language_is_refused() {
    let folder = Folder::new("version");
    let path = folder.0.join("index");
    let mut index = Index::new(DIMENSION);
    put_generated(&mut index, 1, 0);
    let mut whole = Vec::new();
    index.write(b"", &mut whole).unwrap();
    let stamp = whole.windows(11).position(|bytes| bytes == b"stoa index ").unwrap();
    whole[stamp + 11] = b'1';
    fs::write(&path, &whole).unwrap();
    assert!(matches!(open(&path), Err(FileError::OtherVersion)));
}

#[test]
fn a_damaged_file_gives_wrong_answers_at_worst() {
    let folder = Folder::new("mutated");
    let path = folder.0.join("index");
    let mut index = Index::new(DIMENSION);
    (0..12).for_each(|document| put_generated(&mut index, document, 0));
    let mut whole = Vec::new();
    index.write(b"", &mut whole).unwrap();
    let mut opened = 0;
    mutations::mutations(&whole, 400, |bytes| {
        fs::write(&path, &bytes).unwrap();
        if let Ok(mut index) = open(&path) {
            answers(&index);
            index.remove("3");
            put_generated(&mut index, 5, 1);
            answers(&index);
            opened += 1;
        }
    });
    assert!(opened > 50, "{opened} were opened: the mutations are no test");
}
