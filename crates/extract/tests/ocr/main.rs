//! Text recognition by `tesseract`, on pages that are typeset here and drawn by `pdftoppm`. Without these programs the
//! tests say so and pass.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops where it fails, and says what it skips"
)]

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use extract::{Document, ExtractError, Extractor, Kind, Limits, Ocr, Progress, extract};

mod pages;

use pages::{Gray, Scan, drawn, gray, pdf, tiff, typeset};

const TEXT: [&str; 12] = [
    "The main pump of the cooling circuit turns at a constant speed of 3000",
    "revolutions per minute. Its bearings are lubricated with mineral oil, which",
    "has to be replaced every 4000 hours of operation or once a year, whichever",
    "comes first. Before the housing is opened, close both valves and wait until",
    "the pressure gauge shows zero. A leaking seal is the most frequent fault; it",
    "is recognised by drops below the shaft and by a falling level in the tank.",
    "Spare parts are ordered from the workshop in Leeds with the number on the",
    "plate, for example P-204 or P-205. Technicians record each repair with date,",
    "cause and working time, so that the yearly report can compare the machines.",
    "In winter the tank is heated, because thick oil damages the gears within a",
    "few days. Visitors must not enter the engine room without ear protection,",
    "and children are not allowed inside at any time of the day or the night.",
];

/// Returns whether the programs are there, and says so if not.
fn is_ready() -> bool {
    let missing: Vec<&str> = ["tesseract", "pdftoppm"]
        .into_iter()
        .filter(|program| {
            Command::new(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
        })
        .collect();
    if !missing.is_empty() {
        println!(
            "SKIPPED: text recognition is not tested, because {} is not installed",
            missing.join(" and ")
        );
    }
    missing.is_empty()
}

/// Returns the part of the words of `lines` that a text has, each as often as it occurs.
fn recall(lines: &[&str], text: &str) -> f64 {
    let words = |text: &str| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
        counts
    };
    let (wanted, found) = (words(&lines.join(" ")), words(text));
    let hits: usize =
        wanted.iter().map(|(word, count)| found.get(word).copied().unwrap_or(0).min(*count)).sum();
    hits as f64 / wanted.values().sum::<usize>() as f64
}

fn limits(languages: &str) -> Limits {
    Limits { ocr: Ocr { languages: languages.to_owned(), ..Ocr::default() }, ..Limits::default() }
}

fn extractor(program: &str, arguments: &[&str]) -> Extractor {
    Extractor::new(program.into(), arguments.iter().map(Into::into).collect(), 1, limits("eng"))
}

fn pages(document: &Document) -> Vec<u32> {
    let mut pages: Vec<u32> = document.blocks.iter().filter_map(|block| block.page).collect();
    pages.dedup();
    pages
}

#[test]
fn a_clean_scan_is_read_with_its_heading() {
    if !is_ready() {
        return;
    }
    let page = typeset("Maintenance", &TEXT);
    for (name, options) in [
        ("a.png", ["-png", "-r", "150"]),
        ("a.jpg", ["-jpeg", "-r", "150"]),
        ("a.png", ["-png", "-r", "300"]),
    ] {
        let picture = drawn(&page, &options);
        let document = extract(name, &picture, &limits("eng")).unwrap();
        assert_eq!(document.kind, Kind::Picture);
        let recall = recall(&TEXT, &document.text());
        println!("{name} {}: {recall:.3} of the words", options[2]);
        assert!(recall > 0.97, "{name} {recall} {}", document.text());
        assert!(
            document.blocks.iter().all(|block| block.headings == ["Maintenance"]),
            "{:?}",
            document.blocks
        );
        assert_eq!(pages(&document), [1]);
    }
}

#[test]
fn a_page_that_lies_on_its_side_or_upside_down_is_turned() {
    if !is_ready() {
        return;
    }
    let mut page = gray(&typeset("Maintenance", &TEXT), "150");
    for turns in 1..4 {
        page = page.turned();
        let document = extract("a.tiff", &tiff(&[page.clone()]), &limits("eng")).unwrap();
        let recall = recall(&TEXT, &document.text());
        println!("after {turns} quarter turns: {recall:.3} of the words");
        assert!(recall > 0.97, "{turns} {recall} {}", document.text());
        let (first, last) = (document.text().find("3000"), document.text().find("children"));
        assert!(first < last, "{}", document.text());
        assert_eq!(document.blocks[0].headings, ["Maintenance"], "{:?}", document.blocks);
    }
}

#[test]
fn every_page_of_a_tiff_is_read_and_counted() {
    if !is_ready() {
        return;
    }
    let scans = [gray(&typeset("First", &TEXT[..6]), "150"), gray(&typeset("Second", &TEXT[6..]), "150")];
    let mut seen = Vec::new();
    let worker = extractor(env!("CARGO_BIN_EXE_extract-worker"), &[]);
    let document = worker.extract_with_progress("a.tiff", &tiff(&scans), &mut |at| seen.push(at)).unwrap();
    assert_eq!(seen, [Progress { done: 0, of: 2 }, Progress { done: 1, of: 2 }]);
    assert_eq!(pages(&document), [1, 2]);
    let of_page = |number: u32| {
        let blocks = document.blocks.iter().filter(|block| block.page == Some(number));
        blocks.map(|block| block.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert!(recall(&TEXT[..6], &of_page(1)) > 0.97 && recall(&TEXT[6..], &of_page(2)) > 0.97, "{document:?}");

    let few = Limits { ocr: Ocr { pages: 1, ..Ocr::default() }, ..Limits::default() };
    let error = extract("a.tiff", &tiff(&scans), &few).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the picture has more than 1 scanned pages: split it and upload the parts, or have MAX_OCR_PAGES raised"
    );
}

#[test]
fn only_pages_without_text_are_recognised() {
    if !is_ready() {
        return;
    }
    let scan = Scan::of(&gray(&typeset("Scanned", &TEXT), "150"));
    let last = Scan::of(&gray(&typeset("Last", &TEXT[6..9]), "150"));
    let pages =
        [Ok("This page has text of its own."), Err(&scan), Ok("And so has the third page."), Err(&last)];
    let file = pdf(&pages);
    let mut seen = Vec::new();
    let worker = extractor(env!("CARGO_BIN_EXE_extract-worker"), &[]);
    let document = worker.extract_with_progress("a.pdf", &file, &mut |at| seen.push(at)).unwrap();
    assert_eq!(seen, [Progress { done: 0, of: 2 }, Progress { done: 1, of: 2 }]);
    let of_page = |number: u32| {
        let blocks = document.blocks.iter().filter(|block| block.page == Some(number));
        blocks.map(|block| block.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of_page(1), "This page has text of its own.");
    assert_eq!(of_page(3), "And so has the third page.");
    assert!(recall(&TEXT, &of_page(2)) > 0.97 && recall(&TEXT[6..9], &of_page(4)) > 0.97, "{document:?}");
}

#[test]
fn photographs_are_read_without_the_program_that_draws_pages() {
    if !is_ready() {
        return;
    }
    let programs = tempfile::tempdir().unwrap();
    let found = Command::new("sh").args(["-c", "command -v tesseract"]).output().unwrap().stdout;
    let tesseract = String::from_utf8(found).unwrap();
    std::os::unix::fs::symlink(tesseract.trim(), programs.path().join("tesseract")).unwrap();
    let path = format!("PATH={}", programs.path().display());
    let bare = extractor("/usr/bin/env", &[&path, env!("CARGO_BIN_EXE_extract-worker")]);
    let page = typeset("Scanned", &TEXT);
    let document = bare.extract("a.pdf", &pdf(&[Err(&Scan::photograph(&page))])).unwrap();
    assert!(recall(&TEXT, &document.text()) > 0.97, "{}", document.text());
    let error = bare.extract("a.pdf", &pdf(&[Err(&Scan::of(&gray(&page, "150")))])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the PDF cannot be read yet: have `poppler-utils` installed on the server, which draws scanned pages"
    );
}

#[test]
fn without_the_program_the_error_says_what_to_install() {
    let scan = Scan::of(&Gray { width: 2, height: 2, pixels: vec![255; 4] });
    let worker = env!("CARGO_BIN_EXE_extract-worker");
    let bare = extractor("/usr/bin/env", &["PATH=/nowhere", worker]);
    let message = |kind: &str| {
        format!(
            "the {kind} cannot be read yet: have `tesseract-ocr` installed on the server, which recognises text in pictures"
        )
    };
    let picture = bare.extract("a.png", b"\x89PNG\r\n\x1a\n").unwrap_err();
    assert_eq!(picture.to_string(), message("picture"));
    assert_eq!(bare.extract("a.pdf", &pdf(&[Err(&scan)])).unwrap_err().to_string(), message("PDF"));
    // What can be read is read.
    let mixed = bare.extract("a.pdf", &pdf(&[Ok("This page has text of its own."), Err(&scan)])).unwrap();
    assert_eq!(mixed.text(), "This page has text of its own.");
}

#[test]
fn a_missing_language_and_a_damaged_picture_are_named() {
    if !is_ready() {
        return;
    }
    let missing = extract("a.png", b"\x89PNG\r\n\x1a\n", &limits("eng+xyz")).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "the picture cannot be read yet: have `tesseract-ocr-xyz` installed on the server, which recognises the language `xyz`"
    );
    let damaged = extract("a.png", b"\x89PNG\r\n\x1a\nxxxx", &limits("eng")).unwrap_err();
    assert!(matches!(damaged, ExtractError::Damaged { kind: Kind::Picture, .. }), "{damaged}");
    let blank = tiff(&[Gray { width: 400, height: 300, pixels: vec![255; 120_000] }]);
    assert_eq!(extract("a.tiff", &blank, &limits("eng")), Err(ExtractError::NoText(Kind::Picture)));
}

#[test]
fn a_page_that_cannot_be_recognised_does_not_cost_the_text_of_the_others() {
    let scan = Scan::of(&Gray { width: 2, height: 2, pixels: vec![255; 4] });
    let at_once = Limits { ocr: Ocr { seconds_per_page: 0, ..Ocr::default() }, ..Limits::default() };
    let mixed = pdf(&[Ok("This page has text of its own."), Err(&scan)]);
    assert_eq!(extract("a.pdf", &mixed, &at_once).unwrap().text(), "This page has text of its own.");
    assert!(extract("a.pdf", &pdf(&[Err(&scan)]), &at_once).is_err());
}

#[test]
fn pages_that_are_all_too_slow_are_not_all_tried() {
    if !is_ready() {
        return;
    }
    // Noise, in which a page of text is looked for in vain.
    let mut number = 1_u32;
    let mut noise = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if number >> 31 == 0 { 0 } else { 255 }
    };
    let pixels: Vec<u8> = (0..2_000 * 2_000).map(|_| noise()).collect();
    let page = || Gray { width: 2_000, height: 2_000, pixels: pixels.clone() };
    let hasty = Limits { ocr: Ocr { seconds_per_page: 1, ..Ocr::default() }, ..Limits::default() };
    let worker = env!("CARGO_BIN_EXE_extract-worker");
    let extractor = Extractor::new(worker.into(), Vec::new(), 1, hasty);
    let mut seen = 0;
    let pages: Vec<Gray> = (0..6).map(|_| page()).collect();
    let refused = extractor.extract_with_progress("a.tiff", &tiff(&pages), &mut |_| seen += 1);
    assert_eq!((refused, seen), (Err(ExtractError::TooSlow { seconds: 1 }), 3));
}
