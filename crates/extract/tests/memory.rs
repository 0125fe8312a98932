//! Memory that hostile PDFs cost the child that reads them. A test program of its own, so that no other test has
//! children.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use extract::{Excess, ExtractError, Extractor, Kind, Limits};
use flate2::Compression;
use flate2::read::ZlibEncoder;

const MEMORY: u64 = 256 << 20;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    ZlibEncoder::new(bytes, Compression::best()).read_to_end(&mut packed).unwrap();
    packed
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<<{entries}/Length {}>>stream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// Returns a file of these objects; the first is the catalog.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(file.len());
        file.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let start = file.len();
    let count = objects.len() + 1;
    file.extend_from_slice(format!("xref\n0 {count}\n0000000000 65535 f \n").as_bytes());
    for place in places {
        file.extend_from_slice(format!("{place:010} 00000 n \n").as_bytes());
    }
    file.extend_from_slice(
        format!("trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n").as_bytes(),
    );
    file
}

/// Returns a file of one page with this stream as its content.
fn page(content: Vec<u8>) -> Vec<u8> {
    pdf(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<<>>/Contents 4 0 R>>".to_vec(),
        content,
    ])
}

/// One file at a time, since the children of the other test belong to this process too.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns the answer, and the most memory in bytes that a child used during the call.
fn read(file: &[u8]) -> (Result<(), ExtractError>, u64) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let limits = Limits { memory: MEMORY, seconds: 60, ..Limits::default() };
    let extractor = Extractor::new(env!("CARGO_BIN_EXE_extract-worker").into(), Vec::new(), 1, limits);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = children().filter_map(|child| peak_of(&child)).fold(peak, u64::max);
                std::thread::sleep(Duration::from_micros(500));
            }
            peak
        });
        let answer = extractor.extract("a.pdf", file).map(drop);
        done.store(true, Ordering::Relaxed);
        (answer, watching.join().unwrap())
    })
}

fn children() -> impl Iterator<Item = String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map_while(Result::ok);
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn peak_of(child: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{child}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

#[test]
fn a_small_file_that_becomes_large_is_refused_and_costs_little() {
    let zeros = packed(&vec![0; 1 << 30]);
    let twice = stream("/Filter[/FlateDecode/FlateDecode]", &packed(&zeros));
    let objects = stream("/Type/ObjStm/N 1/First 4/Filter[/FlateDecode/FlateDecode]", &packed(&zeros));
    for bomb in [page(twice), page(objects)] {
        assert!(bomb.len() < 8000, "{}", bomb.len());
        let (answer, peak) = read(&bomb);
        let too_large =
            ExtractError::TooLarge { kind: Kind::Pdf, what: Excess::BytesInStream, limit: 64 << 20 };
        assert_eq!(answer, Err(too_large));
        assert!((1..200 << 20).contains(&peak), "{peak}");
    }
}

#[test]
fn a_file_that_takes_more_memory_than_it_may_is_refused_with_that_word() {
    // Each pair of letters is two operations of the page, which are far larger in memory.
    let many = packed(&b"q\nQ\n".repeat(12 << 20));
    let (answer, peak) = read(&page(stream("/Filter/FlateDecode", &many)));
    assert_eq!(answer, Err(ExtractError::TooMuchMemory { mebibytes: MEMORY >> 20 }));
    assert!((MEMORY / 2..MEMORY + (96 << 20)).contains(&peak), "{peak}");
}
