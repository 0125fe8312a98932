//! Where a chunked body ends, read strictly, for requests and for the answers of targets alike. Pure.

use super::Refusal;

/// Follows a chunked body to its end.
#[derive(Default)]
pub struct ChunkScanner {
    state: Chunk,
    /// Of the size being read, or left in the chunk.
    size: u64,
    digits: u32,
    /// Bytes of extensions and trailers so far: they carry nothing, so they may not go on for ever.
    overhead: usize,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Chunk {
    #[default]
    Size,
    Extension,
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

impl ChunkScanner {
    const MAX_OVERHEAD: usize = 16 * 1024;

    pub fn is_done(&self) -> bool {
        self.state == Chunk::Done
    }

    /// How many of `bytes` belong to the body.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let mut at = 0;
        while at < bytes.len() && !self.is_done() {
            let (framing, data) = self.next_data(&bytes[at..])?;
            at += framing + data;
        }
        Ok(at)
    }

    /// How many of `bytes` are framing, and how many after those are data.
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
        const BAD: Refusal = Refusal::Malformed("the body is not well chunked");
        if matches!(self.state, Chunk::Extension | Chunk::Trailer) {
            self.overhead += 1;
            if self.overhead > Self::MAX_OVERHEAD {
                return Err(BAD);
            }
        }
        match (self.state, byte) {
            (Chunk::Size, b'\r' | b';') if self.digits > 0 => {
                self.digits = 0;
                Ok(if byte == b';' { Chunk::Extension } else { Chunk::SizeLf })
            }
            (Chunk::Size, _) => {
                let digit = char::from(byte).to_digit(16).ok_or(BAD)?;
                self.digits += 1;
                self.size =
                    if self.digits <= 15 { self.size * 16 + u64::from(digit) } else { return Err(BAD) };
                Ok(Chunk::Size)
            }
            (Chunk::Extension, b'\r') => Ok(Chunk::SizeLf),
            (Chunk::Extension, b'\n') => Err(BAD),
            (Chunk::Extension, _) => Ok(Chunk::Extension),
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
}
