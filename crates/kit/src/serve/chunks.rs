//! Finds the end of a chunked body, strictly, for requests and for the responses of targets. Pure.

use super::Refusal;
use super::framing::is_token_byte;

/// Follows a chunked body to its end.
#[derive(Default)]
pub struct ChunkScanner {
    state: Chunk,
    /// The size that is being read, or what is left of the chunk.
    size: u64,
    digits: u32,
    /// Bytes of extensions and trailers so far. They carry no data and are limited.
    overhead: usize,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Chunk {
    #[default]
    Size,
    SizeSpace,
    /// An extension is `;name`, `;name=value` or `;name="value"`, with spaces around the signs.
    NameStart,
    Name,
    NameSpace,
    ValueStart,
    Value,
    Quoted,
    Escaped,
    QuotedEnd,
    ValueSpace,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    LastLf,
    Done,
}

const BAD: Refusal = Refusal::Malformed("the body is not well chunked");

impl Chunk {
    fn is_in_extension(self) -> bool {
        match self {
            Self::SizeSpace | Self::NameStart | Self::Name | Self::NameSpace | Self::ValueStart => true,
            Self::Value | Self::Quoted | Self::Escaped | Self::QuotedEnd | Self::ValueSpace => true,
            Self::Size | Self::SizeLf | Self::Data | Self::DataCr | Self::DataLf => false,
            Self::TrailerStart | Self::Trailer | Self::TrailerLf | Self::LastLf | Self::Done => false,
        }
    }

    /// Returns the state after `byte` in an extension; none if it is not allowed there.
    fn extended_by(self, byte: u8) -> Option<Self> {
        let is_space = matches!(byte, b' ' | b'\t');
        let is_text = is_space || byte.is_ascii_graphic() || byte >= 0x80;
        let is_complete = matches!(self, Self::Name | Self::Value | Self::QuotedEnd);
        Some(match (self, byte) {
            (Self::Quoted, b'"') => Self::QuotedEnd,
            (Self::Quoted, b'\\') => Self::Escaped,
            (Self::Quoted | Self::Escaped, _) if is_text => Self::Quoted,
            (Self::Quoted | Self::Escaped, _) => return None,
            (_, b'\r') if is_complete => Self::SizeLf,
            (Self::SizeSpace | Self::NameSpace | Self::ValueSpace, b';') => Self::NameStart,
            (_, b';') if is_complete => Self::NameStart,
            (Self::Name | Self::NameSpace, b'=') => Self::ValueStart,
            (Self::ValueStart, b'"') => Self::Quoted,
            (Self::Name, _) if is_space => Self::NameSpace,
            (Self::Value | Self::QuotedEnd, _) if is_space => Self::ValueSpace,
            _ if is_space => self,
            (Self::NameStart | Self::Name, _) if is_token_byte(byte) => Self::Name,
            (Self::ValueStart | Self::Value, _) if is_token_byte(byte) => Self::Value,
            _ => return None,
        })
    }
}

impl ChunkScanner {
    const MAX_OVERHEAD: usize = 16 * 1024;

    pub fn is_done(&self) -> bool {
        self.state == Chunk::Done
    }

    /// Returns how many of `bytes` belong to the body.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < bytes.len() && !self.is_done() {
            let (framing, data) = self.next_data(&bytes[at..])?;
            at += framing + data;
        }
        Ok(at)
    }

    /// Returns how many of `bytes` are framing, and how many bytes of data follow.
    pub fn next_data(&mut self, bytes: &[u8]) -> Result<(usize, usize), Refusal> {
        let mut framing = 0;
        while framing < bytes.len() && !self.is_done() && self.state != Chunk::Data {
            self.state = self.step(bytes[framing])?;
            framing += 1;
        }
        if self.state != Chunk::Data {
            return Ok((framing, 0));
        }
        let data = self.size.min((bytes.len() - framing) as u64);
        self.size -= data;
        if self.size == 0 {
            self.state = Chunk::DataCr;
        }
        Ok((framing, data as usize))
    }

    fn step(&mut self, byte: u8) -> Result<Chunk, Refusal> {
        if self.state.is_in_extension() || self.state == Chunk::Trailer {
            self.overhead += 1;
            if self.overhead > Self::MAX_OVERHEAD {
                return Err(BAD);
            }
        }
        match (self.state, byte) {
            (state, _) if state.is_in_extension() => state.extended_by(byte).ok_or(BAD),
            (Chunk::Size, b'\r' | b';' | b' ' | b'\t') if self.digits > 0 => {
                self.digits = 0;
                Ok(match byte {
                    b'\r' => Chunk::SizeLf,
                    b';' => Chunk::NameStart,
                    _ => Chunk::SizeSpace,
                })
            }
            (Chunk::Size, _) => {
                let digit = char::from(byte).to_digit(16).ok_or(BAD)?;
                self.digits += 1;
                self.size =
                    if self.digits <= 15 { self.size * 16 + u64::from(digit) } else { return Err(BAD) };
                Ok(Chunk::Size)
            }
            (Chunk::SizeLf, b'\n') if self.size == 0 => Ok(Chunk::TrailerStart),
            (Chunk::SizeLf, b'\n') => Ok(Chunk::Data),
            (Chunk::DataCr, b'\r') => Ok(Chunk::DataLf),
            (Chunk::DataLf, b'\n') => Ok(Chunk::Size),
            (Chunk::TrailerStart, b'\r') => Ok(Chunk::LastLf),
            (Chunk::TrailerStart | Chunk::Trailer, b'\n') => Err(BAD),
            (Chunk::Trailer, b'\r') => Ok(Chunk::TrailerLf),
            (Chunk::TrailerStart | Chunk::Trailer, _) => Ok(Chunk::Trailer),
            (Chunk::TrailerLf, b'\n') => Ok(Chunk::TrailerStart),
            (Chunk::LastLf, b'\n') => Ok(Chunk::Done),
            _ => Err(BAD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(body: &str) -> Result<Option<usize>, Refusal> {
        let mut scanner = ChunkScanner::default();
        let taken = scanner.advance(body.as_bytes())?;
        Ok(scanner.is_done().then_some(taken))
    }

    #[test]
    fn a_chunked_body_ends_after_its_trailers() {
        for body in ["0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"] {
            assert_eq!(chunks(&format!("{body}GET /next")), Ok(Some(body.len())), "{body:?}");
        }
        assert_eq!(chunks("5\r\nhel"), Ok(None));
        let mut scanner = ChunkScanner::default();
        for byte in b"A\r\n0123456789\r\n0\r\n\r\n" {
            assert_eq!(scanner.advance(&[*byte]), Ok(1));
        }
        assert!(scanner.is_done());
    }

    #[test]
    fn extensions_follow_their_grammar() {
        for extension in [
            ";a",
            ";a=b",
            ";a=\"b\"",
            ";a;b=c;d",
            " ; a = b ; c",
            ";a=\"x \\\" ;\t\u{e4}\"",
            ";a=\"\"",
            ";a=\"b\" ;c",
        ] {
            let body = format!("5{extension}\r\nhello\r\n0{extension}\r\n\r\n");
            assert_eq!(chunks(&body), Ok(Some(body.len())), "{extension:?}");
        }
        for extension in [
            ";",
            ";;a",
            ";a=",
            ";=b",
            ";a==b",
            ";a b",
            ";a=b c",
            ";a ",
            ";a=\"b",
            ";a=\"b\"c",
            ";a=\"\0\"",
            ";a\0",
            ";a=b\"c\"",
            ";a=\"b\\\r",
            ";\u{e4}",
            ";a,b",
            " a",
            " ",
        ] {
            let body = format!("5{extension}\r\nhello\r\n0\r\n\r\n");
            assert!(chunks(&body).is_err(), "{extension:?}");
        }
    }

    #[test]
    fn bad_chunks_are_refused() {
        for body in [
            "\r\n",
            "g\r\n",
            "-1\r\n",
            "0x5\r\nhello",
            " 5\r\nhello",
            "5 \r\nhello",
            "5\nhello",
            "5\r\nhelloX",
            "5\r\nhello\n",
            "5;a\nhello",
            "0\r\n\n",
            "0\r\nX: y\n\r\n",
            "fffffffffffffffff\r\n",
            "5\rhello",
        ] {
            assert!(chunks(body).is_err(), "{body:?}");
        }
        let extension = "x".repeat(ChunkScanner::MAX_OVERHEAD + 1);
        assert!(chunks(&format!("5;{extension}")).is_err());
    }

    #[test]
    fn broken_bodies_end_at_the_same_byte_however_they_come() {
        let body = "5;a=\"b\\\"c\";d\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\nGET /next";
        let mut read = 0;
        mutations::mutations(body.as_bytes(), 20_000, |bytes| {
            let mut whole = ChunkScanner::default();
            let taken = whole.advance(&bytes);
            let mut scanner = ChunkScanner::default();
            let piecewise: Result<usize, Refusal> = bytes.iter().map(|byte| scanner.advance(&[*byte])).sum();
            assert_eq!(taken.is_ok(), piecewise.is_ok(), "{:?}", String::from_utf8_lossy(&bytes));
            if taken.is_ok() {
                assert_eq!((taken, whole.is_done()), (piecewise, scanner.is_done()));
                read += usize::from(whole.is_done());
            }
        });
        assert!(read > 100, "{read} ended: the mutations are no test");
    }
}
