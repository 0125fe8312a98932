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
fn a_small_text_does_not_wait_for_files_that_take_long() {
    // The child of other files hangs, and that of small texts answers.
    let place = tempfile::tempdir().unwrap();
    let (first, worker) = (place.path().join("first"), env!("CARGO_BIN_EXE_extract-worker"));
    let script = format!("mkdir {} && exec sleep 600; exec {worker}", first.display());
    let limits = Limits { seconds: 3_600, ..limits() };
    let extractor = Extractor::new("/bin/sh".into(), vec!["-c".into(), script.into()], 1, limits);
    let (extractor, place) = (Box::leak(Box::new(extractor)), first);
    std::thread::spawn(|| extractor.extract("a.html", PAGE));
    while !place.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(extractor.extract("a.txt", b"Just words.").unwrap().text(), "Just words.");
}

#[test]
fn a_small_text_gets_more_memory_if_it_needs_it() {
    let limits = Limits { memory: 512 << 20, ..limits() };
    let extractor = extractor(1, limits);
    let row = format!("[{}]", "0,".repeat(1_000).trim_end_matches(','));
    let json = format!("{{\"a\": [{}]}}", vec![row; 500].join(","));
    assert!(json.len() <= 1 << 20);
    assert!(extractor.extract("a.json", json.as_bytes()).is_ok());
}

/// Files of one mebibyte that careless readers take minutes for.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let filled = |part: &str| part.repeat((1 << 20) / part.len());
    let notebook = |source: &str| {
        let source = serde_json::to_string(source).unwrap();
        format!("{{\"cells\": [{{\"cell_type\": \"markdown\", \"source\": {source}}}]}}").into_bytes()
    };
    let mail = |part: &str| {
        let head = "From: a@b\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n";
        [head.as_bytes(), filled(part).as_bytes()].concat()
    };
    vec![
        ("brackets.md", filled("[").into_bytes()),
        ("links.md", filled("[a](").into_bytes()),
        ("emphasis.md", filled("*a **b _c ").into_bytes()),
        ("stars.md", filled("a**b").into_bytes()),
        ("quotes.md", filled("> ").into_bytes()),
        (
            "lists.md",
            (0..1_400).map(|depth| format!("{}- a\n", " ".repeat(depth))).collect::<String>().into_bytes(),
        ),
        ("references.md", filled("[a]: b\n[a]").into_bytes()),
        ("notes.md", filled("[^a]: [^a]\n").into_bytes()),
        ("pictures.md", filled("![").into_bytes()),
        (
            "pipes.md",
            format!("{}\n{}\n", filled("|a")[..500_000].to_owned(), "|-".repeat(250_000)).into_bytes(),
        ),
        ("html.md", filled("<a b ").into_bytes()),
        (
            "codes.md",
            (1..1_400).map(|ticks| format!("{} ", "`".repeat(ticks))).collect::<String>().into_bytes(),
        ),
        ("closed.md", ["[".repeat(500_000), "]".repeat(500_000)].concat().into_bytes()),
        ("inline.md", filled("[a](b").into_bytes()),
        ("titles.md", filled("[a](b \"c ").into_bytes()),
        ("under.md", filled("_a__b").into_bytes()),
        ("mixed.md", filled("*_").into_bytes()),
        ("nested.md", ["*a **a ".repeat(75_000), " a** a*".repeat(75_000)].concat().into_bytes()),
        ("depth.md", format!("{}a\n", ">".repeat(500)).repeat(2_000).into_bytes()),
        ("items.md", format!("{}a\n", "- ".repeat(250)).repeat(2_000).into_bytes()),
        ("comments.md", filled("a <!-- ").into_bytes()),
        ("instructions.md", filled("a <? ").into_bytes()),
        ("cdata.md", filled("a <![CDATA[").into_bytes()),
        ("setext.md", [filled("a\n").as_str(), "==="].concat().into_bytes()),
        ("defined.md", (0..60_000).map(|n| format!("[a{n}]: b\n[a{n}]")).collect::<String>().into_bytes()),
        (
            "defined-notes.md",
            (0..60_000).map(|n| format!("[^{n}]: a[^{n}]\n")).collect::<String>().into_bytes(),
        ),
        ("escaped.json", format!("{{\"a\": \"{}\"}}", filled("\\u0041")).into_bytes()),
        ("paths.json", format!("{{\"a\": [{}1]}}", filled("[[{\"b\": 1}]], ")).into_bytes()),
        (
            "cells.ipynb",
            format!(
                "{{\"cells\": [{}{{}}]}}",
                filled("{\"cell_type\": \"heading\", \"level\": 1, \"source\": \"a\"}, ")
            )
            .into_bytes(),
        ),
        (
            "attributes.html",
            format!("<html><a {}", (0..140_000).map(|n| format!("a{n} ")).collect::<String>()).into_bytes(),
        ),
        (
            "attributes.eml",
            format!(
                "From: a@b\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n<a {}",
                (0..140_000).map(|n| format!("a{n} ")).collect::<String>()
            )
            .into_bytes(),
        ),
        ("deep.json", filled("{\"a\":").into_bytes()),
        ("lists.json", filled("[").into_bytes()),
        ("keys.json", format!("{{{}\"z\": 1}}", filled("\"a\": {\"b\": 1}, ")).into_bytes()),
        ("levels.json", format!("{}1{}", "{\"a\": [".repeat(60), "]}".repeat(60)).into_bytes()),
        ("flow.yaml", [b"- { a: ".as_slice(), filled("[").as_bytes()].concat()),
        ("anchors.yaml", [b"- { a: &a [1] }\n".as_slice(), filled("- { a: *a }\n").as_bytes()].concat()),
        ("cell.ipynb", notebook(&filled("["))),
        ("emphasis.ipynb", notebook(&filled("*a **b _c "))),
        ("parts.eml", mail("--b\r\nContent-Disposition: attachment; filename=a\r\n\r\nx\r\n")),
        ("nested.eml", mail("--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n")),
        ("messages.eml", mail("--b\r\nContent-Type: message/rfc822\r\n\r\nFrom: a@b\r\n\r\n")),
        (
            "addresses.eml",
            [b"From: a@b\r\nSubject: x\r\nTo: ".as_slice(), filled("a@b, ").as_bytes(), b"\r\n\r\nx"]
                .concat(),
        ),
        (
            "headers.eml",
            [b"From: a@b\r\nMIME-Version: 1.0\r\nSubject: x\r\n".as_slice(), filled("a: b\r\n").as_bytes()]
                .concat(),
        ),
    ]
}

#[test]
fn texts_that_are_made_to_take_minutes_end_within_their_limit() {
    let extractor = extractor(2, limits());
    for (name, bytes) in hostile() {
        let started = Instant::now();
        let read = extractor.extract(name, &bytes);
        println!(
            "{name:<20} {:>8.3} s  {}",
            started.elapsed().as_secs_f64(),
            match &read {
                Ok(document) => format!("{} blocks", document.blocks.len()),
                Err(error) => error.to_string(),
            }
        );
        // Ended by its limit at the latest, and told so.
        assert!(started.elapsed() < Duration::from_secs(25), "{name}");
        assert!(read.is_ok() || read.as_ref().is_err_and(ExtractError::is_bad_input), "{name}: {read:?}");
    }
}
