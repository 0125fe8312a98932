//! Texts in the encoding that their server names. They are written as UTF-8 with a byte order mark: a reader would have to
//! guess, since only the server knows.

use encoding_rs::{Decoder, Encoding, UTF_8};
use std::borrow::Cow;

/// Makes UTF-8 of an answer, piece by piece.
pub(super) struct Charset {
    /// None if the bytes are written as they are.
    decoder: Option<Decoder>,
    is_started: bool,
}

impl Charset {
    /// Reads a `Content-Type` such as `text/html; charset=windows-1252`. Only texts are converted.
    pub fn of(content_type: &str) -> Charset {
        let lower = content_type.to_ascii_lowercase();
        let mut fields = lower.split(';').map(str::trim);
        let kind = fields.next().unwrap_or_default();
        let is_text = kind.starts_with("text/") || kind == "application/xhtml+xml";
        let mut labels = fields.filter_map(|field| field.strip_prefix("charset=")?.trim_matches('"').into());
        let encoding = labels.next().and_then(|label: &str| Encoding::for_label(label.as_bytes()));
        let encoding = encoding.filter(|encoding| is_text && *encoding != UTF_8);
        Charset { decoder: encoding.map(Encoding::new_decoder), is_started: false }
    }

    /// Converts the next piece, with `is_last` all that is left.
    pub fn convert<'p>(&mut self, piece: &'p [u8], is_last: bool) -> Cow<'p, [u8]> {
        let Some(decoder) = &mut self.decoder else { return Cow::Borrowed(piece) };
        let most = decoder.max_utf8_buffer_length(piece.len()).unwrap_or_default();
        let mut text = String::with_capacity(most.saturating_add(3));
        if !std::mem::replace(&mut self.is_started, true) {
            text.push('\u{feff}');
        }
        let _ = decoder.decode_to_string(piece, &mut text, is_last);
        Cow::Owned(text.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_another_encoding_become_utf_8() {
        let convert = |content_type: &str, pieces: &[&[u8]]| {
            let mut charset = Charset::of(content_type);
            let mut converted: Vec<u8> =
                pieces.iter().flat_map(|piece| charset.convert(piece, false).into_owned()).collect();
            converted.extend_from_slice(&charset.convert(b"", true));
            converted
        };
        let wide = [b"\x82".as_slice(), b"\xa0\x82"];
        assert_eq!(convert("text/plain; Charset=\"Shift_JIS\"", &wide), "\u{feff}あ\u{fffd}".as_bytes());
        assert_eq!(convert("text/html;charset=latin1", &[b"Gr\xfc\xdfe"]), "\u{feff}Grüße".as_bytes());
        for plain in [
            "text/html",
            "text/html; charset=UTF-8",
            "text/html; charset=odd",
            "application/pdf; charset=latin1",
        ] {
            assert_eq!(convert(plain, &[b"\xfc"]), b"\xfc", "{plain}");
        }
    }
}
