//! Files that are broken, truncated, endless or malicious: each is answered quickly.

use std::time::{Duration, Instant};

use extract::{Document, ExtractError, Kind, Limits, extract, passages};

use crate::samples;

/// What would take hours if it grew with the square of a text takes seconds, and up to two minutes on a busy machine.
const TOO_LONG: Duration = Duration::from_secs(600);

fn read(name: &str, bytes: &[u8]) -> Result<Document, ExtractError> {
    extract(name, bytes, &Limits::default())
}

/// A simple generator that gives the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    /// Changes a few bytes, removes or doubles a stretch, or truncates the file.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut damaged = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(damaged.len());
            let end = (at + self.below(40)).min(damaged.len());
            match self.below(5) {
                0 if !damaged.is_empty() => damaged[at] = self.below(256) as u8,
                1 if !damaged.is_empty() => damaged[at] ^= 1 << self.below(8),
                2 => drop(damaged.drain(at..end)),
                3 => damaged.extend_from_within(at..end),
                _ => damaged.truncate(bytes.len() - self.below(bytes.len() / 2)),
            }
        }
        damaged
    }
}

#[test]
fn damaged_files_of_every_kind_are_answered_and_soon() {
    std::panic::set_hook(Box::new(|_| {}));
    for (name, bytes) in samples::all() {
        let mut random = Random(bytes.len() as u64);
        for round in 0..2000 {
            let damaged = random.damage(&bytes);
            let started = Instant::now();
            let read = read(name, &damaged);
            if let Ok(document) = read {
                for passage in passages(&document, "A title", 20, &|text| text.split_whitespace().count()) {
                    assert!(passage.embedded().split_whitespace().count() <= 20, "{name} {round}");
                }
            }
            assert!(started.elapsed() < Duration::from_secs(10), "{name} {round}");
        }
    }
    let _ = std::panic::take_hook();
}

#[test]
fn parts_of_archives_may_be_damaged_too() {
    let mut random = Random(7);
    for _ in 0..3000 {
        let body = random.damage(br#"<w:p><w:pPr><w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>A&lt;&#65;</w:t></w:r></w:p><w:tbl><w:tr><w:tc/></w:tr></w:tbl>"#);
        let _ = read("a.docx", &samples::docx_with(&String::from_utf8_lossy(&body)));
    }
}

#[test]
fn nothing_is_empty_and_pictures_hold_no_text() {
    assert_eq!(read("a.pdf", b""), Err(ExtractError::Empty));
    assert_eq!(read("a.docx", &samples::docx_with("")), Err(ExtractError::NoText(Kind::Docx)));
    assert_eq!(read("a.pdf", &samples::pdf(&["0 0 100 100 re f"])), Err(ExtractError::NoText(Kind::Pdf)));
    assert_eq!(read("a.txt", b"--- ***\n..."), Err(ExtractError::NoText(Kind::Text)));
}

#[test]
fn an_encrypted_pdf_is_refused_with_that_word() {
    let key = "0".repeat(64);
    let mut objects =
        vec!["<</Type/Catalog/Pages 2 0 R>>".to_owned(), "<</Type/Pages/Count 0/Kids[]>>".to_owned()];
    objects.push(format!("<</Filter/Standard/V 2/R 3/Length 128/P -44/O<{key}>/U<{key}>>>"));
    let file = String::from_utf8(samples::pdf_of(&objects)).unwrap();
    let file = file.replace("/Info 4 0 R", "/Encrypt 3 0 R/ID[<00><00>]");
    let error = read("a.pdf", file.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "the PDF is encrypted: remove its password and upload it again");
}

#[test]
fn zip_bombs_are_stopped() {
    let zeros = " ".repeat(40 << 20);
    let bomb = samples::docx_with(&zeros);
    assert!(bomb.len() < 100_000);
    let error = read("a.docx", &bomb).unwrap_err();
    assert!(matches!(error, ExtractError::TooLarge { kind: Kind::Docx, .. }), "{error}");

    let names: Vec<String> = (0..100).map(|number| format!("word/{number}")).collect();
    let mut parts = vec![("word/document.xml", "<w:t>x</w:t>")];
    parts.extend(names.iter().map(|name| (name.as_str(), "")));
    let error =
        extract("a.docx", &samples::zip(&parts), &Limits { entries: 50, ..Limits::default() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the DOCX document has more than 50 files inside: split it and upload the parts"
    );
}

#[test]
fn entities_of_a_document_are_not_expanded() {
    let lol = (1..20)
        .map(|n| format!("<!ENTITY l{n} \"&l{0};&l{0};&l{0};&l{0};&l{0};\">", n - 1))
        .collect::<String>();
    let document =
        format!("<?xml version='1.0'?><!DOCTYPE x [<!ENTITY l0 \"lol\">{lol}]><w:p><w:t>a&l19;b</w:t></w:p>");
    let file = samples::zip(&[("word/document.xml", &document)]);
    assert_eq!(read("a.docx", &file).unwrap().text(), "ab");
}

#[test]
fn depth_costs_nothing() {
    let deep = |open: &str, close: &str| format!("{}word{}", open.repeat(100_000), close.repeat(100_000));
    assert_eq!(
        read("a.docx", &samples::docx_with(&deep("<w:p><w:t>", "</w:t></w:p>"))).unwrap().text(),
        "word"
    );
    assert!(read("a.json", deep("[", "]").as_bytes()).is_ok());
    assert!(read("a.md", deep("> ", "").as_bytes()).is_ok());
    assert!(read("a.md", format!("{}word", "- ".repeat(20_000)).as_bytes()).is_ok());
    assert!(read("a.md", deep("[", "](x)").as_bytes()).is_ok());
}

#[test]
fn a_pdf_whose_pages_go_round_in_circles_ends() {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        "<</Type/Pages/Count 1/Kids[2 0 R]/Parent 2 0 R>>",
        "<<>>",
    ];
    let file = samples::pdf_of(&objects.map(str::to_owned));
    assert!(read("a.pdf", &file).is_err());
}

#[test]
fn one_page_that_cannot_be_read_does_not_cost_the_others() {
    let good = |text: &str| format!("BT /F1 10 Tf 72 700 Td ({text}) Tj ET");
    // Text without a font makes the parser stop.
    let file = samples::pdf(&[&good("First page."), "BT 72 700 Td (x) Tj ET", &good("Third page.")]);
    let document = read("a.pdf", &file).unwrap();
    let pages: Vec<(Option<u32>, &str)> =
        document.blocks.iter().map(|block| (block.page, block.text.as_str())).collect();
    assert_eq!(pages, [(Some(1), "First page."), (Some(3), "Third page.")]);
}

#[test]
fn a_line_of_fifty_megabytes_is_refused_at_once_and_one_of_two_is_cut() {
    let started = Instant::now();
    let error = read("a.txt", &b"word ".repeat(10 << 20)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the text file has more than 20000000 characters of text: split it and upload the parts, or have \
         MAX_TEXT_CHARACTERS raised"
    );
    for line in [b"word ".repeat(2 << 18), b"x".repeat(2 << 20)] {
        let document = read("a.txt", &line).unwrap();
        let count = |text: &str| text.split_whitespace().map(|word| word.len().div_ceil(4)).sum();
        let passages = passages(&document, "", 256, &count);
        assert!(passages.len() > 1000);
        assert!(passages.iter().all(|passage| count(&passage.text) <= 256));
    }
    assert!(started.elapsed() < TOO_LONG, "{:?}", started.elapsed());
}

#[test]
fn brackets_and_conditions_that_never_end_take_little_time() {
    let started = Instant::now();
    for part in ["\\label{", "\\section[", "$x$", "$", "\\begin{a}", "\\verb+", "\\item[", "%"] {
        let _ = read("a.tex", part.repeat((1 << 18) / part.len()).as_bytes());
    }
    for part in [
        ".if n \\{\\\n",
        ".ie n .if n .el ",
        ".RS\n.TP\nx\n",
        "\\*[",
        ".TS\nT{\n",
        ".ig\n",
        ".Op Fl ",
        "\\(bu\\f[",
    ] {
        let _ = read("a.1", format!(".TH A 1\n.SH B\n{}", part.repeat((1 << 18) / part.len())).as_bytes());
    }
    for part in ["a : b\n", "- x\n  y\n", "|a|\n", "x\ty\n", "# a\n\n", "1. A\n\nb\n\n", "```\n", ">> a\n"] {
        let _ = read("a.txt", part.repeat((1 << 18) / part.len()).as_bytes());
    }
    for part in ["<dl><dt>a<dd>b", "<ol><li><pre>a", "<table><tr><td rowspan=999 colspan=999>a", "<br><br>"] {
        let _ = read("a.html", format!("<html>{}", part.repeat((1 << 18) / part.len())).as_bytes());
    }
    assert!(started.elapsed() < TOO_LONG, "{:?}", started.elapsed());
}

#[test]
fn zeros_and_marks_in_a_text_are_dropped() {
    let text = read("a.txt", b"\xef\xbb\xbfThe \0pump turns and turns and turns.").unwrap().text();
    assert_eq!(text, "The pump turns and turns and turns.");
    let noise: Vec<u8> = (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert_eq!(read("a.txt", &noise), Err(ExtractError::Unsupported("a binary file".to_owned())));
}

#[test]
fn a_text_of_millions_of_paragraphs_is_refused() {
    let error = read("a.md", "a\n\n".repeat(1_000_001).as_bytes()).unwrap_err();
    let (kind, what) = (Kind::Markdown, extract::Excess::Paragraphs);
    assert_eq!(error, ExtractError::TooLarge { kind, what, limit: 1_000_000 });
    assert!(error.to_string().ends_with("more than 1000000 paragraphs: split it and upload the parts"));
}
