//! The alphabet of byte-level vocabularies: a visible character for every byte.

/// Returns the character of a byte: itself if it is visible in Latin-1, else the next from U+0100.
pub fn byte_character(byte: u8) -> char {
    if is_visible(byte) {
        return char::from(byte);
    }
    let hidden_before = (0..byte).filter(|earlier| !is_visible(*earlier)).count();
    char::from_u32(0x100 + hidden_before as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns the bytes of a token, or its text if that is not written in the alphabet.
pub fn token_bytes(token: &str) -> Vec<u8> {
    let bytes: Option<Vec<u8>> = token.chars().map(character_byte).collect();
    bytes.unwrap_or_else(|| token.as_bytes().to_vec())
}

fn character_byte(character: char) -> Option<u8> {
    match character as u32 {
        code @ 0..=0xff => Some(code as u8).filter(|byte| is_visible(*byte)),
        code @ 0x100..=0x120 => Some((code - 0x100) as u8),
        code @ 0x121..=0x142 => Some((code - 0x121) as u8 + 0x7f),
        0x143 => Some(0xad),
        _ => None,
    }
}

fn is_visible(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_and_back() {
        for byte in 0..=255 {
            assert_eq!(character_byte(byte_character(byte)), Some(byte));
        }
        assert_eq!(token_bytes("Ġcaf\u{c3}\u{a9}"), " café".as_bytes());
        assert_eq!(token_bytes("日"), "日".as_bytes());
    }
}
