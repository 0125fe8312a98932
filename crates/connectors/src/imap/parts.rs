//! The attachments of a mail that are documents of their own, and how they are packed for the way.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mail_parser::{MessageParser, MimeHeaders};

use super::answer::{Token, value_at};
use crate::documents;

/// The most attachments of one mail.
const MOST_PARTS: usize = 50;
/// How deep parts may be in others.
const MOST_LEVELS: usize = 20;

/// Texts that are documents of their own. Plain ones are read with their mail.
const TEXTS: [&str; 9] = ["csv", "eml", "htm", "html", "ipynb", "json", "md", "tex", "xml"];

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns the numbers of the attachments in a BODYSTRUCTURE, such as `2` or `1.3`.
pub(super) fn attachments(structure: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    // A mail that is not made of parts is no attachment of itself.
    if let [Token::Open, Token::Open, ..] = structure {
        collect(structure, "", 0, &mut found);
    }
    found
}

/// Collects the attachments among the parts that a bracket holds.
fn collect(parts: &[Token], prefix: &str, level: usize, found: &mut Vec<String>) {
    let (mut at, mut number) = (1, 0);
    while parts.get(at) == Some(&Token::Open) {
        let range = value_at(parts, at);
        at = range.end;
        number += 1;
        let (part, number) = (&parts[range], format!("{prefix}{number}"));
        match part {
            [Token::Open, Token::Open, ..] if level < MOST_LEVELS => {
                collect(part, &format!("{number}."), level + 1, found);
            }
            part if found.len() < MOST_PARTS && is_document(part) => found.push(number),
            _ => {}
        }
    }
}

/// Returns whether a part such as `("application" "pdf" ("name" "a.pdf") … ("attachment" ("filename" "a.pdf")))` is a
/// document by its name.
fn is_document(part: &[Token]) -> bool {
    let fields = fields(part);
    // Of all that may follow the type and its parameters, only the disposition is a name and a list.
    let disposition =
        fields.iter().skip(3).find(|field| matches!(field, [Token::Open, Token::Text(_), Token::Open, ..]));
    let disposition = disposition.map(|field| self::fields(field)).unwrap_or_default();
    let how = disposition.first().and_then(|how| how.first()?.text()).unwrap_or_default();
    let named = |list: Option<&&[Token]>| list.and_then(|list| name(list));
    let name = named(disposition.get(1)).or_else(|| named(fields.get(2)));
    let name = name.unwrap_or_default();
    let is_text = TEXTS.contains(&documents::extension(&name).as_str());
    // A picture may be part of the text.
    let is_attached = how.eq_ignore_ascii_case("attachment");
    is_text || documents::is_document(&name) || (is_attached && documents::is_picture(&name))
}

/// Returns the values that a bracket holds.
fn fields(value: &[Token]) -> Vec<&[Token]> {
    let (mut fields, mut at) = (Vec::new(), 1);
    while at + 1 < value.len() {
        let range = value_at(value, at);
        at = range.end;
        fields.push(&value[range]);
    }
    fields
}

/// Returns the name of a file, which may be encoded in several ways and split into several parameters.
fn name(params: &[Token]) -> Option<String> {
    let texts: Vec<String> = params.iter().filter_map(Token::text).collect();
    let params: String = texts
        .chunks_exact(2)
        .map(|pair| (pair[0].to_ascii_lowercase(), &pair[1]))
        .filter(|(key, _)| key.starts_with("filename") || key.starts_with("name"))
        .map(|(key, value)| {
            let key = if key.starts_with("name") { format!("file{key}") } else { key };
            let value: String = value.chars().filter(|c| !matches!(c, '"' | '\\' | '\r' | '\n')).collect();
            // An encoded value has no quotes.
            if key.ends_with('*') { format!("; {key}={value}") } else { format!("; {key}=\"{value}\"") }
        })
        .collect();
    Mime::parse(format!("Content-Disposition: attachment{params}\r\n\r\n").as_bytes()).filename
}

/// What the header of a part says.
#[derive(Debug, Default)]
pub(super) struct Mime {
    pub filename: Option<String>,
    pub subject: Option<String>,
    pub transfer: Transfer,
}

impl Mime {
    pub fn parse(header: &[u8]) -> Mime {
        let Some(message) = MessageParser::default().parse_headers(header) else { return Mime::default() };
        let transfer = message.content_transfer_encoding().unwrap_or_default().to_ascii_lowercase();
        Mime {
            filename: message.attachment_name().map(str::to_owned),
            subject: message.subject().map(str::to_owned),
            transfer: match transfer.trim() {
                "base64" => Transfer::Base64(Vec::new()),
                "quoted-printable" => Transfer::QuotedPrintable(Vec::new()),
                _ => Transfer::Plain,
            },
        }
    }
}

/// How a part is packed, with the bytes that wait for those after them.
#[derive(Debug, Default)]
pub(super) enum Transfer {
    #[default]
    Plain,
    Base64(Vec<u8>),
    QuotedPrintable(Vec<u8>),
}

impl Transfer {
    /// Unpacks the next piece, with `is_last` all that is left.
    pub fn unpack(&mut self, piece: &[u8], is_last: bool) -> Result<Vec<u8>, String> {
        match self {
            Transfer::Plain => Ok(piece.to_vec()),
            Transfer::Base64(waiting) => {
                let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
                waiting.extend(piece.iter().copied().filter(is_letter));
                let complete = if is_last { waiting.len() } else { waiting.len() / 4 * 4 };
                let rest = waiting.split_off(complete);
                let whole = std::mem::replace(waiting, rest);
                LENIENT.decode(whole).map_err(|error| format!("its encoding is damaged: {error}"))
            }
            Transfer::QuotedPrintable(waiting) => {
                waiting.extend_from_slice(piece);
                let bytes = std::mem::take(waiting);
                let (unpacked, rest) = unquote(&bytes, is_last);
                waiting.extend_from_slice(rest);
                Ok(unpacked)
            }
        }
    }
}

/// Decodes quoted-printable text; returns the bytes at its end that may belong to what follows.
fn unquote(mut bytes: &[u8], is_last: bool) -> (Vec<u8>, &[u8]) {
    let mut decoded = Vec::with_capacity(bytes.len());
    while let Some((first, after)) = bytes.split_first() {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, after) {
            (b'=', []) | (b'=', [_]) if !is_last && !after.starts_with(b"\n") => return (decoded, bytes),
            (b'=', [b'\r', b'\n', rest @ ..]) | (b'=', [b'\n', rest @ ..]) => bytes = rest,
            (b'=', [_, _, rest @ ..]) if digit(0).is_some() && digit(1).is_some() => {
                let value = digit(0).unwrap_or_default() * 16 + digit(1).unwrap_or_default();
                decoded.push(u8::try_from(value).unwrap_or_default());
                bytes = rest;
            }
            (first, after) => {
                decoded.push(*first);
                bytes = after;
            }
        }
    }
    (decoded, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpack(transfer: impl Fn() -> Transfer, packed: &str) -> Vec<String> {
        let by = |size: usize| {
            let mut transfer = transfer();
            let mut unpacked = Vec::new();
            for piece in packed.as_bytes().chunks(size) {
                unpacked.extend(transfer.unpack(piece, false).unwrap());
            }
            unpacked.extend(transfer.unpack(b"", true).unwrap());
            String::from_utf8(unpacked).unwrap()
        };
        let mut results: Vec<String> = (1..=packed.len()).map(by).collect();
        results.dedup();
        results
    }

    #[test]
    fn parts_are_unpacked_wherever_they_are_cut() {
        let base64 = || Transfer::Base64(Vec::new());
        assert_eq!(unpack(base64, "SGVs\r\nbG8s\r\nIHdvcmxkIQ==\r\n"), ["Hello, world!"]);
        let quoted = || Transfer::QuotedPrintable(Vec::new());
        assert_eq!(unpack(quoted, "Gr=C3=BC=\r\n=C3=9Fe =3D 1=\nx =ZZ=\r\n"), ["Grüße = 1x =ZZ"]);
        assert_eq!(unpack(|| Transfer::Plain, "a=\r\n"), ["a=\r\n"]);
    }

    #[test]
    fn encoded_names_are_read() {
        let name = |params: &[(&str, &str)]| {
            let texts = params.iter().flat_map(|(key, value)| [*key, *value]);
            name(&texts.map(|text| Token::Text(text.into())).collect::<Vec<_>>())
        };
        assert_eq!(name(&[("FileName", "a b.pdf")]).as_deref(), Some("a b.pdf"));
        assert_eq!(name(&[("name", "=?utf-8?Q?=C3=BC.pdf?=")]).as_deref(), Some("ü.pdf"));
        assert_eq!(name(&[("filename*", "utf-8''%C3%BC%20x.pdf")]).as_deref(), Some("ü x.pdf"));
        assert_eq!(
            name(&[("filename*0", "long na"), ("filename*1", "me.pdf")]).as_deref(),
            Some("long name.pdf")
        );
        assert_eq!(name(&[("charset", "utf-8")]), None);
    }

    #[test]
    fn documents_are_found_in_any_part() {
        let attachments = |structure: &str| {
            let mut answer = super::super::answer::Answer::default();
            answer.add_line(structure.as_bytes()).unwrap();
            attachments(&answer.tokens)
        };
        let text = r#"("text" "plain" ("charset" "utf-8") NIL NIL "7bit" 5 1 NIL NIL NIL NIL)"#;
        let pdf =
            r#"("application" "pdf" NIL NIL NIL "base64" 9 NIL ("attachment" ("filename" "a.PDF")) NIL NIL)"#;
        let named = r#"("application" "octet-stream" ("name" "b.docx") NIL NIL "base64" 9)"#;
        let picture = r#"("image" "png" ("name" "c.png") "<1>" NIL "base64" 9 NIL ("inline" NIL) NIL)"#;
        let mail = format!(
            r#"("message" "rfc822" NIL NIL NIL "7bit" 9 ("d" "s" NIL) {text} 3 NIL ("attachment" ("filename" "d.eml")))"#
        );
        let inner = format!(r#"({text}{pdf} "mixed" ("boundary" "x.pdf") NIL)"#);
        assert_eq!(
            attachments(&format!(r#"({text}{pdf}{named}{picture}{mail}{inner} "mixed")"#)),
            ["2", "3", "5", "6.2"]
        );
        assert_eq!(attachments(pdf), [""; 0], "it is the mail itself");
        for odd in ["", "NIL", "(", "((", "(()", "(() ()", "((\"a\" ((", ")("] {
            assert_eq!(attachments(odd), [""; 0], "{odd}");
        }
        assert_eq!(attachments(&"(".repeat(100_000)), [""; 0]);
    }
}
