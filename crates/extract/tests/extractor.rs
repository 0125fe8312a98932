//! Untrusted files in real child processes.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::sync::Barrier;
use std::time::{Duration, Instant};

use extract::{ExtractError, Extractor, Kind, Limits};

const PAGE: &[u8] = b"<!doctype html><title>Pumps</title><h1>Pumps</h1><p>The main pump turns.</p>";

fn limits() -> Limits {
    Limits { seconds: 20, ..Limits::default() }
}

fn extractor(children: usize, limits: Limits) -> Extractor {
    Extractor::new(env!("CARGO_BIN_EXE_extract-worker").into(), Vec::new(), children, limits)
}

fn with_program(program: &str, arguments: &[&str]) -> Extractor {
    let limits = Limits { seconds: 1, ..limits() };
    Extractor::new(program.into(), arguments.iter().map(Into::into).collect(), 1, limits)
}

#[test]
fn a_child_gets_nothing_of_the_environment() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("environment");
    let worker = env!("CARGO_BIN_EXE_extract-worker");
    let script = format!("cat /proc/$$/environ > {}; exec {worker}", file.display());
    with_program("/bin/sh", &["-c", &script]).extract("a.html", PAGE).unwrap();
    let environment = std::fs::read_to_string(file).unwrap();
    let mut names: Vec<&str> = environment.split('\0').map(|pair| pair.split('=').next().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["", "HOME", "LANG", "PATH", "TMPDIR"]);
}

#[test]
fn a_child_reads_one_file_after_another() {
    let extractor = extractor(1, limits());
    for _ in 0..20 {
        let document = extractor.extract("a.html", PAGE).unwrap();
        assert_eq!((document.kind, document.text().as_str()), (Kind::Html, "The main pump turns."));
    }
    assert_eq!(
        extractor.extract("a.pdf", b"%PDF-1.4 nothing"),
        extract::extract("a.pdf", b"%PDF-1.4 nothing", &limits())
    );
}

#[test]
fn many_threads_share_few_children() {
    let extractor = extractor(2, limits());
    let together = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                together.wait();
                for _ in 0..10 {
                    extractor.extract("a.html", PAGE).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_child_that_hangs_is_ended_and_the_next_file_gets_another() {
    let extractor = with_program("/bin/sleep", &["600"]);
    for _ in 0..2 {
        let started = Instant::now();
        assert_eq!(extractor.extract("a.html", PAGE), Err(ExtractError::TooSlow { seconds: 1 }));
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_child_that_crashes_is_told_from_one_that_cannot_be_started() {
    let crashed =
        with_program("/bin/sh", &["-c", "head -c 1 >/dev/null; kill -SEGV $$"]).extract("a.html", PAGE);
    assert_eq!(crashed, Err(ExtractError::Crashed));
    for (program, arguments) in [("/no/such/program", &[][..]), ("/bin/sh", &["-c", "exit 0"])] {
        let missing = with_program(program, arguments).extract("a.html", PAGE).unwrap_err();
        assert!(!missing.is_bad_input(), "{missing}");
    }
}

#[test]
fn a_file_that_takes_too_much_memory_costs_only_its_child() {
    let extractor = extractor(1, Limits { memory: 48 << 20, ..limits() });
    let large = [PAGE, "<p>word</p>".repeat(3_000_000).as_bytes()].concat();
    assert_eq!(extractor.extract("a.html", &large), Err(ExtractError::TooMuchMemory { mebibytes: 48 }));
    assert!(extractor.extract("a.html", PAGE).is_ok());
}

#[test]
fn a_child_that_was_ended_while_idle_is_replaced_unseen() {
    let served = 33 << 20;
    let extractor = extractor(1, limits());
    let comment = [PAGE, b"<!--", "x".repeat(served).as_bytes(), b"-->"].concat();
    // The child ends after that many bytes; the next file must not notice.
    assert!(extractor.extract("a.html", &comment).is_ok());
    for _ in 0..3 {
        assert!(extractor.extract("a.html", PAGE).is_ok());
    }
}

#[test]
fn small_text_needs_no_child() {
    let extractor = with_program("/no/such/program", &[]);
    assert_eq!(extractor.extract("a.txt", b"Just words.").unwrap().text(), "Just words.");
}
