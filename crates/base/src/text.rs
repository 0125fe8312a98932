//! Small questions about texts and errors that several crates ask.

use std::error::Error;

/// Returns the line, counted from 1, of the byte at `offset` of a text.
pub fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Returns the text of an error's innermost cause. The outer errors of an HTTP client only say that a request failed,
/// and its address, which may hold a secret.
pub fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!([0, 1, 2, 3, 99].map(|offset| line_at("a\nb\n", offset)), [1, 1, 2, 2, 3]);
    }
}
