//! What a stored file is, as a browser is told: by its first bytes, and by its name if these could be several things.
//!
//! `extract::detect` decides how a file is read; this decides how it is shown. A file that could run script in a browser
//! is never named as anything that a browser shows.

use crate::records::Document;

/// The bytes of a file that are enough to tell.
pub const HEAD: usize = 4096;

const UTF8_TEXT: &str = "text/plain; charset=utf-8";
const BINARY: &str = "application/octet-stream";

/// Files whose first bytes tell what they are.
const SIGNATURES: [(&[u8], &str); 5] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", BINARY),
];

const ARCHIVES: [(&str, &str); 4] = [
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("epub", "application/epub+zip"),
];

const TEXTS: [(&str, &str); 13] = [
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xhtml", "text/html"),
    ("svg", "image/svg+xml"),
    ("xml", "application/xml"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("json", "application/json"),
    ("eml", "message/rfc822"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
];

const PICTURES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Returns the type of a file with these first bytes, with its encoding if that is UTF-8.
pub fn of_content(filename: &str, head: &[u8]) -> String {
    let extension = extension(filename);
    if head[..head.len().min(1024)].windows(5).any(|bytes| bytes == b"%PDF-") {
        return "application/pdf".to_owned();
    }
    if let Some((_, found)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return (*found).to_owned();
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return "image/webp".to_owned();
    }
    if head.starts_with(b"PK\x03\x04") {
        return of_extension(&ARCHIVES, &extension).unwrap_or("application/zip").to_owned();
    }
    let has_mark = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if head.contains(&0) && !has_mark {
        return BINARY.to_owned();
    }
    let text = of_markup(head).or_else(|| of_extension(&TEXTS, &extension)).unwrap_or("text/plain");
    if is_utf8(head) { format!("{text}; charset=utf-8") } else { text.to_owned() }
}

/// Guesses the type of a file whose content is not at hand.
pub fn of_name(filename: &str) -> &'static str {
    let extension = extension(filename);
    let known = [&ARCHIVES[..], &TEXTS[..], &PICTURES[..], &[("pdf", "application/pdf")]];
    known.into_iter().find_map(|types| of_extension(types, &extension)).unwrap_or("text/plain")
}

/// Returns what a document's file is: by its content, or by its name until that is known.
pub fn of_document(document: &Document) -> &str {
    match document.media_type.as_str() {
        "" => of_name(&document.filename),
        found => essence(found),
    }
}

/// Returns a type without its parameters.
pub fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Returns the type that a browser may show a file as, none if it has to be saved. Text that is not markup is shown as
/// plain text.
pub fn shown_as(media_type: &str) -> Option<&str> {
    match essence(media_type) {
        "application/pdf" | "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "text/plain" => {
            Some(media_type)
        }
        "text/markdown" | "text/csv" | "text/tab-separated-values" | "application/json" => {
            Some(if media_type.ends_with("utf-8") { UTF8_TEXT } else { "text/plain" })
        }
        _ => None,
    }
}

/// Recognises markup, which could run script.
fn of_markup(head: &[u8]) -> Option<&'static str> {
    let text = String::from_utf8_lossy(head).replace('\0', "").to_ascii_lowercase();
    let text = text.trim_start_matches(|letter: char| !letter.is_ascii_graphic());
    if !text.starts_with('<') {
        return None;
    }
    if text.starts_with("<!doctype html") || text.contains("<html") {
        return Some("text/html");
    }
    if text.contains("<svg") {
        return Some("image/svg+xml");
    }
    let is_xml = text.starts_with("<?xml") || text.starts_with("<!doctype");
    Some(if is_xml { "application/xml" } else { "text/html" })
}

/// Returns whether this is UTF-8, whose last character may be cut.
fn is_utf8(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() >= HEAD,
    }
}

fn of_extension(types: &[(&str, &'static str)], extension: &str) -> Option<&'static str> {
    types.iter().find(|(own, _)| *own == extension).map(|(_, found)| *found)
}

fn extension(filename: &str) -> String {
    filename.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_before_the_name() {
        for (name, head, expected) in [
            ("a.txt", &b"%PDF-1.7"[..], "application/pdf"),
            ("a.pdf", b"words", "text/plain; charset=utf-8"),
            ("a.pdf", b"\x89PNG\r\n\x1a\n....", "image/png"),
            ("a", b"RIFF1234WEBPVP8 ", "image/webp"),
            ("a.docx", b"PK\x03\x04", ARCHIVES[0].1),
            ("a.html", b"PK\x03\x04", "application/zip"),
            ("a.md", b"# A", "text/markdown; charset=utf-8"),
            ("a.txt", b"caf\xe9", "text/plain"),
            ("a.txt", b"\xff\xfea\0", "text/plain"),
            ("a.txt", b"a\0b", BINARY),
            ("a.rs", b"fn main() {}", "text/plain; charset=utf-8"),
            ("a.txt", b"", "text/plain; charset=utf-8"),
        ] {
            assert_eq!(of_content(name, head), expected, "{name} {head:?}");
        }
    }

    #[test]
    fn markup_under_any_name_is_never_shown() {
        for (name, head) in [
            ("a.txt", &b"<script>alert(1)</script>"[..]),
            ("a.png", b" \n<!DOCTYPE html><p>"),
            ("a.md", b"\xef\xbb\xbf<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>"),
            ("a.txt", b"\xff\xfe<\0h\0t\0m\0l\0>\0"),
            ("a.csv", b"<?xml version='1.0'?><x/>"),
            ("a.html", b"plain words"),
            ("a.svg", b"plain words"),
            ("a.eml", b"Subject: x"),
        ] {
            let found = of_content(name, head);
            assert_eq!(shown_as(&found), None, "{name} {found}");
        }
    }

    #[test]
    fn text_is_shown_as_plain_text() {
        assert_eq!(shown_as(&of_content("a.md", b"# A")), Some(UTF8_TEXT));
        assert_eq!(shown_as(&of_content("a.json", b"{\"a\": \"\xe9\"}")), Some("text/plain"));
        assert_eq!(shown_as("application/pdf"), Some("application/pdf"));
        assert_eq!(shown_as(BINARY), None);
    }

    #[test]
    fn a_cut_character_at_the_end_of_the_head_is_still_utf8() {
        let mut head = vec![b'a'; HEAD - 1];
        head.push("ö".as_bytes()[0]);
        assert!(is_utf8(&head));
        assert!(!is_utf8(&head[HEAD - 3..]));
    }

    #[test]
    fn a_name_alone_is_enough_for_a_guess() {
        let guesses = ["a.PDF", "b.md", "c", "d.webp"].map(of_name);
        assert_eq!(guesses, ["application/pdf", "text/markdown", "text/plain", "image/webp"]);
    }
}
