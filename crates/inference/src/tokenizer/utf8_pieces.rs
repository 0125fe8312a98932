//! Assembles characters whose bytes arrive in several tokens.

/// Holds back the bytes of a character until it is complete.
#[derive(Debug, Default)]
pub struct Utf8Pieces {
    held: Vec<u8>,
}

impl Utf8Pieces {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the text that these bytes complete, which may be empty. Invalid bytes become U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let complete = self.held.len() - incomplete_tail(&self.held);
        let text = String::from_utf8_lossy(&self.held[..complete]).into_owned();
        self.held.drain(..complete);
        text
    }

    /// Returns U+FFFD for an incomplete character.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// Returns how many bytes at the end, at most three, are the beginning of a character that further bytes may
/// complete.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    let is_beginning = |len: &usize| {
        let tail = &bytes[bytes.len() - len..];
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=longest).rev().find(is_beginning).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_come_whole_whatever_the_pieces() {
        let text = "naïve 日本 👩‍👧 end";
        for size in 1..=text.len() {
            let mut pieces = Utf8Pieces::new();
            let mut joined: String = text.as_bytes().chunks(size).map(|bytes| pieces.push(bytes)).collect();
            joined += &pieces.finish();
            assert_eq!(joined, text, "pieces of {size}");
        }
    }

    #[test]
    fn only_what_may_still_be_completed_is_held_back() {
        let mut pieces = Utf8Pieces::new();
        assert_eq!(pieces.push(b"a\xf0\x9f"), "a");
        assert_eq!(pieces.push(b"b"), "\u{fffd}b");
        assert_eq!(pieces.push(b"\xff\xc3"), "\u{fffd}");
        assert_eq!(pieces.finish(), "\u{fffd}");
        assert_eq!(pieces.finish(), "");
        assert_eq!(pieces.push(b"\x80"), "\u{fffd}");
    }
}
