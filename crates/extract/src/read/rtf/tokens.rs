//! Splits RTF into groups, control words and text.

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    /// A word after a backslash, and the number after it.
    Word(&'a str, Option<i32>),
    /// A sign after a backslash.
    Symbol(u8),
    /// A byte of text, in the code page of its font.
    Byte(u8),
}

pub(super) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Skips the bytes of a picture or an object.
    pub fn skip_bytes(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn control(&mut self) -> Option<Token<'a>> {
        let (first, after) = self.rest.split_first()?;
        if !first.is_ascii_alphabetic() {
            self.rest = after;
            return match first {
                b'\'' => Some(Token::Byte(self.hexadecimal())),
                // A line break after a backslash ends a paragraph.
                b'\r' | b'\n' => Some(Token::Word("par", None)),
                _ => Some(Token::Symbol(*first)),
            };
        }
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, after) = self.rest.split_at(length);
        let digits_from = usize::from(after.first() == Some(&b'-'));
        let digits = after[digits_from..].iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
        let end = if digits > 0 { digits_from + digits } else { 0 };
        let number = std::str::from_utf8(&after[..end]).ok().and_then(|number| number.parse().ok());
        let after = &after[end..];
        self.rest = after.strip_prefix(b" ").unwrap_or(after);
        Some(Token::Word(std::str::from_utf8(word).unwrap_or_default(), number))
    }

    fn hexadecimal(&mut self) -> u8 {
        let digits = self.rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if byte.is_some() {
            self.skip_bytes(2);
        }
        byte.unwrap_or(b' ')
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let (first, after) = self.rest.split_first()?;
            self.rest = after;
            return match first {
                b'{' => Some(Token::Open),
                b'}' => Some(Token::Close),
                b'\\' => self.control(),
                // Line breaks of the file mean nothing.
                b'\r' | b'\n' | 0 => continue,
                byte => Some(Token::Byte(*byte)),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_numbers_and_end_with_one_space() {
        let tokens: Vec<Token> = Tokens::new(b"{\\b0 a\\u-4\\'e4\\~\r\n\\q-}\\").collect();
        let expected = [
            Token::Open,
            Token::Word("b", Some(0)),
            Token::Byte(b'a'),
            Token::Word("u", Some(-4)),
            Token::Byte(0xe4),
            Token::Symbol(b'~'),
            Token::Word("q", None),
            Token::Byte(b'-'),
            Token::Close,
        ];
        assert_eq!(tokens, expected);
    }
}
