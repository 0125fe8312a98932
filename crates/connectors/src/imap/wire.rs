//! The connection to a mail server, with limits on what it may send: the parser of answers keeps each in memory and
//! calls itself for each bracket, so a hostile server could otherwise end the process.

use std::fmt;
use std::io::{Error, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes of one answer. The longest are pieces of mails and the structures of some hundred mails.
const MOST_BYTES: u64 = 16 << 20;
/// The most open brackets. A mail in a mail in a mail has a few.
const MOST_OPEN: u32 = 40;

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub(super) struct Wire {
    stream: Box<dyn Stream>,
    scanner: Scanner,
    budget: Budget,
}

/// How much the server may still send.
#[derive(Clone)]
pub(super) struct Budget(Arc<AtomicU64>);

impl Budget {
    pub fn reset(&self) {
        self.0.store(MOST_BYTES, Ordering::Relaxed);
    }
}

impl Wire {
    pub fn new(stream: impl Stream + 'static) -> (Wire, Budget) {
        let budget = Budget(Arc::new(AtomicU64::new(MOST_BYTES)));
        (Wire { stream: Box::new(stream), scanner: Scanner::default(), budget: budget.clone() }, budget)
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Wire")
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, buffer: &mut ReadBuf) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let read = &buffer.filled()[before..];
        let left = self.budget.0.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(read.len() as u64) else {
            return Poll::Ready(Err(Error::other("the mail server sends too much")));
        };
        self.budget.0.store(left, Ordering::Relaxed);
        self.scanner.scan(read).map_err(Error::other)?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Follows what is sent as the parser does, as far as brackets go. What it does not understand, it refuses.
#[derive(Default)]
struct Scanner {
    place: Place,
    open: u32,
    /// The first bytes of a line that begins an answer.
    start: Vec<u8>,
    /// The number of a literal, while the last bytes were `{`, digits and `}`.
    literal: Option<(u64, Literal)>,
}

#[derive(Default, PartialEq)]
enum Place {
    #[default]
    Line,
    Quoted,
    AfterBackslash,
    Literal(u64),
}

#[derive(Clone, Copy, PartialEq)]
enum Literal {
    Digits,
    Closed,
    Return,
}

impl Scanner {
    fn scan(&mut self, mut bytes: &[u8]) -> std::result::Result<(), &'static str> {
        while let Some((byte, rest)) = bytes.split_first() {
            match self.place {
                Place::Literal(left) => {
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = &bytes[count..];
                    let left = left - count as u64;
                    self.place = if left == 0 { Place::Line } else { Place::Literal(left) };
                    continue;
                }
                Place::AfterBackslash => self.place = Place::Quoted,
                Place::Quoted => match byte {
                    b'"' => self.place = Place::Line,
                    b'\\' => self.place = Place::AfterBackslash,
                    b'\n' => return Err("the mail server sends a text without an end"),
                    _ => {}
                },
                Place::Line => self.scan_line(*byte)?,
            }
            bytes = rest;
        }
        Ok(())
    }

    fn scan_line(&mut self, byte: u8) -> std::result::Result<(), &'static str> {
        if self.start.len() < 3 {
            self.start.push(byte);
        }
        // Only answers about mails, such as `* 7 FETCH (…)`, have texts with quotes and literals that matter.
        let is_about_mail = matches!(self.start.as_slice(), [b'*', b' ', b'0'..=b'9']);
        let literal = self.literal.take();
        match byte {
            b'\n' => match literal {
                Some((length, Literal::Return)) if is_about_mail && length > 0 => {
                    self.place = Place::Literal(length);
                }
                Some((_, Literal::Return)) if is_about_mail => {}
                Some((_, Literal::Return)) => return Err("the mail server sends a literal out of place"),
                _ => {
                    self.open = 0;
                    self.start.clear();
                }
            },
            b'\r' => {
                self.literal =
                    literal.filter(|(_, at)| *at == Literal::Closed).map(|(n, _)| (n, Literal::Return))
            }
            b'}' => {
                self.literal =
                    literal.filter(|(_, at)| *at == Literal::Digits).map(|(n, _)| (n, Literal::Closed))
            }
            b'{' => self.literal = Some((0, Literal::Digits)),
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                let literal = literal.filter(|(_, at)| *at == Literal::Digits);
                self.literal = literal.map(|(n, at)| (n.saturating_mul(10).saturating_add(digit), at));
            }
            b'"' if is_about_mail => self.place = Place::Quoted,
            b'(' => {
                self.open += 1;
                if self.open > MOST_OPEN {
                    return Err("the mail server sends too many brackets");
                }
            }
            b')' => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> std::result::Result<(), &'static str> {
        let mut by_byte = Scanner::default();
        let one = text.as_bytes().iter().try_for_each(|byte| by_byte.scan(&[*byte]));
        assert_eq!(Scanner::default().scan(text.as_bytes()), one, "{text}");
        one
    }

    #[test]
    fn brackets_in_texts_do_not_count() {
        let many = "(".repeat(100);
        let fetch =
            format!("* 1 FETCH (BODY[] {{102}}\r\n{many}\r\n X (\"{many}\\\"{many}\") Y {{0}}\r\n)\r\n");
        assert_eq!(scan(&fetch.repeat(3)), Ok(()));
        assert_eq!(scan(&format!("* OK (\r\n{}A1 OK done\r\n", "* FLAGS (\r\n".repeat(100))), Ok(()));
    }

    #[test]
    fn brackets_without_end_are_refused() {
        let many = "(".repeat(100);
        let hidden = [
            format!("* 1 FETCH (BODYSTRUCTURE {many}"),
            format!("* 1 FETCH (BODYSTRUCTURE {}", "(\"a\" {3}\r\na\r\n ".repeat(100)),
            format!("* THREAD {many}"),
            format!("* OK {{200}}\r\n* 1 FETCH (BODYSTRUCTURE {many}"),
            format!("* LIST () \"/\" {{20}}\r\n* 1 FETCH ({{10000}}\r\n* 1 FETCH (BODYSTRUCTURE {many}"),
            format!("* 1 FETCH (X \"{{200}}\r\n{many}"),
            format!("* OK \"\r\n* 1 FETCH (BODYSTRUCTURE {many}"),
        ];
        for text in hidden {
            assert!(scan(&text).is_err(), "{text}");
        }
    }
}
