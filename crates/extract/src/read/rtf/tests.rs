//! Small RTF files, and what is read from them.

use super::*;
use crate::{Document, Kind, Limits};

fn document(body: &str) -> Document {
    let mut builder = Builder::new(Kind::Rtf, &Limits::default());
    read(format!("{{\\rtf1\\ansi\\ansicpg1252 {body}}}").as_bytes(), &mut builder).unwrap();
    builder.finish().unwrap()
}

/// Compares headings and text of each block.
fn check(body: &str, expected: &[(&str, &str)]) {
    let document = document(body);
    let found: Vec<(String, &str)> =
        document.blocks.iter().map(|block| (block.headings.join(" > "), block.text.as_str())).collect();
    let expected: Vec<(String, &str)> =
        expected.iter().map(|(heads, text)| (heads.to_string(), *text)).collect();
    assert_eq!(found, expected);
}

fn text(body: &str) -> String {
    document(body).text()
}

#[test]
fn bytes_are_in_the_code_page_of_their_font() {
    let fonts = "{\\fonttbl{\\f0\\fnil Arial;}{\\f1\\fcharset204 Times;}{\\f2\\fcharset128 Gothic;}{\\f3\\fcharset2 Symbol;}}";
    let words = "Gr\\'f6\\'dfe {\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2} {\\f2 \\'93\\'fa\\'96\\'7b} {\\f2 \\'83A} {\\f3 \\'b7} end";
    assert_eq!(text(&format!("{fonts}\\f0 {words}\\par")), "Größe Привет 日本 ア • end");
}

#[test]
fn unicode_replaces_what_is_written_for_old_readers() {
    assert_eq!(
        text("a\\u8364?b \\uc2\\u8211\\'96\\'96c \\uc0\\u246 d\\uc1\\u-10179?\\u-8704?"),
        "a€b –c öd😀"
    );
    // A group ends what is passed over.
    assert_eq!(text("\\uc3\\u228 a{b}c"), "äbc");
}

#[test]
fn what_is_not_text_is_left_out() {
    let picture = "{\\pict\\pngblip 89504e470d0a}{\\*\\blipuid aa}{\\pict\\bin5 {{}{\\}";
    let fields = "{\\field{\\*\\fldinst HYPERLINK \"http://x\"}{\\fldrslt link}}";
    let hidden =
        "{\\v secret}{\\deleted gone}{\\header Head\\par}{\\footer Foot\\par}{\\*\\generator Riched20;}";
    assert_eq!(text(&format!("{hidden}See {fields}{picture} here.\\par")), "See link here.");
}

#[test]
fn styles_make_headings_and_code_and_the_file_names_its_author() {
    let head = "{\\stylesheet{\\s0 Normal;}{\\s1\\sbasedon0 heading 1;}{\\s7\\outlinelevel1 Mine;}{\\s9 Preformatted Text;}{\\s4 toc 1;}{\\*\\cs3 Code;}}\
        {\\info{\\title Pump report}{\\author Ann}{\\creatim\\yr2020}}";
    let body = "\\pard\\s4 Pumps\\tab 7\\par\\pard\\s1 Pumps\\par\\pard They turn.\\par\\pard\\s7 Oil\\par\\pard\\s9 pump  stop\\par   now\\par\\pard End.{\\footnote\\pard It is old.\\par} Yes.\\par";
    let found = document(&format!("{head}{body}"));
    assert_eq!((found.title.as_deref(), found.author.as_deref()), (Some("Pump report"), Some("Ann")));
    check(
        &format!("{head}{body}"),
        &[
            ("Pumps", "They turn."),
            ("Pumps > Oil", "```\npump  stop\n  now\n```"),
            ("Pumps > Oil", "End. Yes."),
            ("Pumps > Oil", "It is old."),
        ],
    );
}

#[test]
fn rows_of_tables_stay_together_and_lists_have_their_marks() {
    let row =
        |one: &str, two: &str| format!("\\trowd\\cellx1\\cellx2\\pard\\intbl {one}\\cell {two}\\cell\\row ");
    let table = format!("{}{}", row("Name", "Speed"), row("P-204", "3000\\par rpm"));
    let list = "{\\listtext 1.\\tab}\\ls1 Stop.\\par\\pard{\\listtext\\'b7\\tab}\\ilvl1 slowly\\par\\pard{\\pntext 2.\\tab}Open.\\par\\pard";
    check(
        &format!("Before.\\par {table}\\pard {list} After."),
        &[
            ("", "Before."),
            ("", "Name: P-204; Speed: 3000 rpm"),
            ("", "1. Stop.\n  - slowly\n2. Open."),
            ("", "After."),
        ],
    );
}

#[test]
fn a_file_that_is_cut_off_or_too_deep_gives_what_it_has() {
    let mut builder = Builder::new(Kind::Rtf, &Limits::default());
    read(b"{\\rtf1 One.\\par{\\b Two {\\i three", &mut builder).unwrap();
    assert_eq!(builder.finish().unwrap().text(), "One.\n\nTwo three");
    let deep = format!("a{}b{}c", "{".repeat(100_000), "}".repeat(100_000));
    assert_eq!(text(&deep), "ac");
}
