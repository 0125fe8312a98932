//! Code pages of RTF: that of the document, and those of its fonts.

use encoding_rs::*;

/// What the bytes of a text mean.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Charset {
    Encoded(&'static Encoding),
    /// Signs of a font, which mean nothing as text.
    Symbols,
}

pub(super) fn of_code_page(number: i32) -> Charset {
    Charset::Encoded(match number {
        874 => WINDOWS_874,
        932 => SHIFT_JIS,
        936 => GBK,
        949 => EUC_KR,
        950 => BIG5,
        866 => IBM866,
        1250 => WINDOWS_1250,
        1251 => WINDOWS_1251,
        1253 => WINDOWS_1253,
        1254 => WINDOWS_1254,
        1255 => WINDOWS_1255,
        1256 => WINDOWS_1256,
        1257 => WINDOWS_1257,
        1258 => WINDOWS_1258,
        10_000 => MACINTOSH,
        10_007 => X_MAC_CYRILLIC,
        20_866 => KOI8_R,
        65_001 => UTF_8,
        _ => WINDOWS_1252,
    })
}

/// Returns the charset that a font names. None for the one of the document.
pub(super) fn of_font(number: i32) -> Option<Charset> {
    let page = match number {
        0 => 1252,
        2 => return Some(Charset::Symbols),
        77 => 10_000,
        128 => 932,
        129 | 130 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178..=180 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    };
    Some(of_code_page(page))
}

impl Charset {
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Encoded(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
            // As other files hold them, so that they are cleaned in the same way.
            Self::Symbols => bytes.iter().map(|byte| symbol(*byte)).collect(),
        }
    }
}

fn symbol(byte: u8) -> char {
    match byte {
        b' ' => ' ',
        _ => char::from_u32(0xf000 + u32::from(byte)).unwrap_or(' '),
    }
}
