//! Detects the kind of a file by its content, and by its name if the content could be of several kinds.

mod containers;

use memchr::memmem;

use crate::read::{csv, eml, json, log, man, notebook, subtitles, tex};
use crate::{ExtractError, Kind, gzip};
use containers::{compound_file, flat_open_document, is_tar, zip_archive};

/// Looks for signatures, at the names in a ZIP archive and at the start of a text, and reads no content. Of a file packed
/// with gzip, the kind of its content is returned.
pub fn detect(name: &str, bytes: &[u8]) -> Result<Kind, ExtractError> {
    match gzip::start(bytes) {
        Some(start) if is_tar(&start) => Ok(Kind::Archive),
        Some(start) => detect_unpacked(gzip::inner_name(name), &start),
        None => detect_unpacked(name, bytes),
    }
}

fn detect_unpacked(name: &str, bytes: &[u8]) -> Result<Kind, ExtractError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ExtractError::Empty);
    }
    let head = &bytes[..bytes.len().min(1024)];
    if memmem::find(head, b"%PDF-").is_some() {
        return Ok(Kind::Pdf);
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return zip_archive(bytes);
    }
    if is_tar(bytes) {
        return Ok(Kind::Archive);
    }
    if bytes.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return compound_file(&extension(name), bytes);
    }
    if bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Ok(Kind::Rtf);
    }
    if is_picture(bytes) {
        return Ok(Kind::Picture);
    }
    if let Some(kind) = flat_open_document(bytes) {
        return kind;
    }
    if let Some((_, what)) = FOREIGN.iter().find(|(signature, _)| bytes.starts_with(signature)) {
        return Err(ExtractError::Unsupported((*what).to_owned()));
    }
    if is_media_container(bytes) {
        return Err(ExtractError::Unsupported("a film or a recording".to_owned()));
    }
    Ok(text(name, bytes))
}

const FOREIGN: [(&[u8], &str); 19] = [
    (b"GIF8", "an animated picture"),
    (b"8BPS", "a picture"),
    (b"%!PS", "a PostScript file"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"\0asm", "a program"),
    (b"SQLite format 3", "a database"),
    (b"ID3", "a recording"),
    (b"OggS", "a recording"),
    (b"fLaC", "a recording"),
    (b"\x1aE\xdf\xa3", "a film"),
];

/// Returns whether a file is a picture of a kind in which text can be recognised.
fn is_picture(bytes: &[u8]) -> bool {
    let signatures: [&[u8]; 4] = [b"\x89PNG\r\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*"];
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    is_webp || signatures.iter().any(|signature| bytes.starts_with(signature))
}

fn is_media_container(bytes: &[u8]) -> bool {
    let mark = bytes.get(4..8).unwrap_or_default();
    mark == b"ftyp" || (bytes.starts_with(b"RIFF") && bytes.get(8..11).is_some_and(|kind| kind != b"CDR"))
}

fn text(name: &str, bytes: &[u8]) -> Kind {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let extension = extension(name);
    if is_html(head) || (matches!(extension.as_str(), "html" | "htm" | "xhtml") && head.contains('<')) {
        return Kind::Html;
    }
    if matches!(extension.as_str(), "srt" | "vtt") || subtitles::looks_like(head) {
        return Kind::Subtitles;
    }
    if extension == "eml" || eml::looks_like(head) {
        return Kind::Eml;
    }
    match extension.as_str() {
        "md" | "markdown" | "mdx" | "mkd" => return Kind::Markdown,
        "rst" | "rest" => return Kind::Rst,
        "csv" | "tsv" | "tab" => return Kind::Csv,
        "ipynb" => return Kind::Notebook,
        "json" if notebook::looks_like(head) => return Kind::Notebook,
        "json" | "jsonl" | "ndjson" | "geojson" => return Kind::Json,
        "yaml" | "yml" if json::has_flow_entries(head) => return Kind::Json,
        "tex" | "ltx" | "latex" => return Kind::Tex,
        _ if man::looks_like(&extension, head) => return Kind::ManPage,
        "txt" | "text" | "log" | "dat" | "conf" | "cfg" => return plain(head),
        _ if CODE.contains(&extension.as_str()) || head.starts_with("#!") => return Kind::Code,
        _ => {}
    }
    if head.starts_with(['{', '[']) && head.contains("\":") {
        return if notebook::looks_like(head) { Kind::Notebook } else { Kind::Json };
    }
    if head.starts_with("<?xml") {
        return Kind::Code;
    }
    if is_markdown(head) {
        return Kind::Markdown;
    }
    if extension.is_empty() && csv::looks_like(head) { Kind::Csv } else { plain(head) }
}

/// Tells plain text from the tables, logs and documents that are often called so.
fn plain(head: &str) -> Kind {
    if log::looks_like(head) {
        return Kind::Log;
    }
    if tex::looks_like(head) {
        return Kind::Tex;
    }
    if csv::is_delimited_text(head) { Kind::Csv } else { Kind::Text }
}

fn extension(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default()
}

fn is_html(head: &str) -> bool {
    let head = head.to_ascii_lowercase();
    let first = ["<!doctype html", "<html", "<head", "<body"];
    first.iter().any(|tag| head.starts_with(tag))
        || (head.starts_with('<') && head.contains("<html") && !head.starts_with("<?php"))
}

/// Returns whether there are two headings, or a heading and a fence. One line with a hash may be a comment or a
/// number, and comments often stand one below the other.
fn is_markdown(head: &str) -> bool {
    let is_mark = |line: &str| {
        let title = line.trim_start_matches('#');
        let hashes = line.len() - title.len();
        line.starts_with("```") || ((1..=6).contains(&hashes) && title.starts_with(' '))
    };
    let mut marks = 0;
    let mut lines = head.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if line.starts_with('#')
            && next.starts_with('#')
            && !line.starts_with("##")
            && !next.starts_with("## ")
        {
            return false;
        }
        marks += usize::from(is_mark(line));
    }
    head.starts_with('#') && marks >= 2
}

const CODE: [&str; 74] = [
    "asm",
    "bash",
    "bat",
    "c",
    "cc",
    "clj",
    "cmake",
    "coffee",
    "cpp",
    "cs",
    "css",
    "cxx",
    "dart",
    "dockerfile",
    "el",
    "elm",
    "erl",
    "ex",
    "exs",
    "f90",
    "fish",
    "for",
    "fs",
    "go",
    "gradle",
    "graphql",
    "groovy",
    "h",
    "hh",
    "hpp",
    "hs",
    "ini",
    "java",
    "jl",
    "js",
    "jsx",
    "kt",
    "kts",
    "less",
    "lisp",
    "lua",
    "m",
    "mjs",
    "ml",
    "mli",
    "mm",
    "nim",
    "pas",
    "php",
    "pl",
    "pm",
    "proto",
    "ps1",
    "py",
    "r",
    "rb",
    "rs",
    "scala",
    "scm",
    "scss",
    "sh",
    "sql",
    "svelte",
    "swift",
    "tf",
    "toml",
    "ts",
    "tsx",
    "vb",
    "vue",
    "xml",
    "yaml",
    "yml",
    "zig",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_before_the_name() {
        let tar = [&[b'a'; 257][..], b"ustar"].concat();
        let cases: [(&str, &[u8], Kind); 37] = [
            ("report.txt", b"%PDF-1.7\n", Kind::Pdf),
            ("a.pdf", b"Just words.", Kind::Text),
            ("a", b"<!DOCTYPE html><p>x", Kind::Html),
            ("a.txt", b"  <html><p>x", Kind::Html),
            ("a.bin", b"PK\x03\x04....word/document.xml", Kind::Docx),
            ("a.zip", b"PK\x03\x04....xl/workbook.xml", Kind::Xlsx),
            ("a.zip", b"PK\x03\x04....META-INF/container.xml", Kind::Epub),
            ("a.txt", b"PK\x03\x04....a.txt", Kind::Archive),
            ("a", &tar, Kind::Archive),
            ("a.txt", b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:02,000\r\nHi.", Kind::Subtitles),
            ("a", b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi.", Kind::Subtitles),
            ("a", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1..W\0o\0r\0k\0b\0o\0o\0k\0", Kind::Xls),
            ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1..W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0", Kind::Doc),
            ("a.doc", b"{\\rtf1 x}", Kind::Rtf),
            ("a.txt", b"\x89PNG\r\n", Kind::Picture),
            ("a.avi", b"RIFF....WEBPVP8 ", Kind::Picture),
            ("mail", b"From: a@b.c\r\nTo: d@e.f\r\nSubject: Hi\r\n\r\nx", Kind::Eml),
            ("a.md", b"words", Kind::Markdown),
            ("a.rst", b"words", Kind::Rst),
            ("notes", b"# A\ntext\n## B\n", Kind::Markdown),
            ("a.rs", b"fn main() {}", Kind::Code),
            ("run", b"#!/bin/sh\necho", Kind::Code),
            ("x", b"{\"a\": 1}", Kind::Json),
            ("x.tsv", b"a\tb\n", Kind::Csv),
            ("x", b"a,b,c\n1,2,3\n4,5,6\n", Kind::Csv),
            ("x", b"# one comment\nvalue", Kind::Text),
            ("x.conf", b"# one\n# two\n\n# three\n# four\nvalue 1", Kind::Text),
            ("x", b"# one\n# two\n\nvalue 1\n# three\n# four\n", Kind::Text),
            ("x.1", b".TH X 1\n.SH NAME\nx", Kind::ManPage),
            ("x.txt", b".\\\" comment\n.Dd May 1\n.Dt X 1\n", Kind::ManPage),
            ("x.2", b"Version 2 of the text.", Kind::Text),
            ("x", b"\\documentclass{article}\n\\begin{document}", Kind::Tex),
            ("x.ipynb", b"{}", Kind::Notebook),
            ("x.json", b"{\"cells\": [{\"cell_type\": \"code\", \"source\": []}]}", Kind::Notebook),
            ("x.txt", b"a\tb\n1\t2\n3\t4\n", Kind::Csv),
            ("x.log", b"[10:00:00] a\n[10:00:01] b\n[10:00:02] c\n", Kind::Log),
            ("x.log", b"Track: 1\nLength: 2\n", Kind::Text),
        ];
        for (name, bytes, kind) in cases {
            assert_eq!(detect(name, bytes), Ok(kind), "{name} {:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn what_is_not_read_is_named() {
        let cases: [(&[u8], &str); 3] = [
            (b"GIF89a", "an animated picture"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a file of an old program"),
            (b"\0\0\0\x20ftypmp42", "a film or a recording"),
        ];
        for (bytes, what) in cases {
            assert_eq!(detect("a.txt", bytes), Err(ExtractError::Unsupported(what.to_owned())));
        }
    }

    #[test]
    fn nothing_but_white_space_is_empty() {
        assert_eq!(detect("a.txt", b""), Err(ExtractError::Empty));
        assert_eq!(detect("a.pdf", b" \r\n\t"), Err(ExtractError::Empty));
    }
}
