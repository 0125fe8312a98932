//! The bytes of one connection: hyper reads only what has passed the strict framing check, and every wait has a timeout.
//!
//! hyper gets one head or one piece of a body at a time. A head that is refused is replaced by a plain request, which the
//! service answers with an error in its own format (see [`Connection::refuse`]).

use super::Registration;
use super::chunks::ChunkScanner;
use super::connection::Connection;
use super::framing::{BodyLength, HeadScanner};
use super::limits::Limits;
use super::refusal::Refusal;
use super::timer::Timer;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

pub struct Wire {
    socket: TcpStream,
    connection: Arc<Connection>,
    limits: Arc<Limits>,
    _registration: Registration,
    buffer: Vec<u8>,
    /// `buffer[start..end]` was read and not yet handed on.
    start: usize,
    end: usize,
    /// How many bytes of that may be handed on.
    approved: usize,
    framing: Framing,
    /// Since when the connection waits for a head, or for its next byte.
    waiting_since: Option<Instant>,
    /// How many requests the connection had at the last check.
    served: usize,
    read_timer: Timer,
    write_timer: Timer,
    stalled_since: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Protocol {
    Http1,
    Http2,
}

enum Framing {
    Head(HeadScanner),
    Body(u64),
    Chunked(ChunkScanner),
    /// HTTP/2, or another protocol after an upgrade.
    Opaque,
    Refused,
}

const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const STANDS_FOR_A_REFUSED_ONE: &[u8] = b"GET / HTTP/1.1\r\nhost: refused\r\nconnection: close\r\n\r\n";
const SMALL_BUFFER: usize = 2 * 1024;
const LARGE_BUFFER: usize = 64 * 1024;
const GATHERED_WRITE: usize = 1024;
const LINGER: Duration = Duration::from_secs(1);

impl Wire {
    pub fn new(socket: TcpStream, connection: Arc<Connection>, registration: Registration) -> Self {
        Self {
            socket,
            limits: connection.serving.limits.clone(),
            connection,
            _registration: registration,
            served: 0,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            approved: 0,
            framing: Framing::Head(HeadScanner::default()),
            waiting_since: Some(Instant::now()),
            read_timer: Timer::default(),
            write_timer: Timer::default(),
            stalled_since: None,
        }
    }

    /// Reads until the first bytes tell HTTP/2 from HTTP/1. Returns none if the client sends nothing.
    pub fn poll_protocol(&mut self, cx: &mut Context<'_>) -> Poll<Option<Protocol>> {
        loop {
            let come = &self.buffer[self.start..self.end];
            let compared = come.len().min(HTTP2_PREFACE.len());
            if come[..compared] != HTTP2_PREFACE[..compared] {
                return Poll::Ready(Some(Protocol::Http1));
            }
            if compared == HTTP2_PREFACE.len() {
                self.framing = Framing::Opaque;
                return Poll::Ready(Some(Protocol::Http2));
            }
            match self.fill(cx) {
                Poll::Ready(Ok(read)) if read > 0 => {}
                Poll::Pending if !self.head_timed_out(cx) => return Poll::Pending,
                _ => return Poll::Ready(None),
            }
        }
    }

    /// Reads until there are approved bytes; returns false if nothing more comes.
    fn poll_approve(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            if self.approved > 0 {
                return Poll::Ready(Ok(true));
            }
            let come = &self.buffer[self.start..self.end];
            match &mut self.framing {
                Framing::Refused => return Poll::Pending,
                Framing::Opaque if !come.is_empty() => self.approved = come.len(),
                Framing::Opaque => match self.fill(cx) {
                    Poll::Ready(read) => return Poll::Ready(read.map(|read| self.approve(read))),
                    Poll::Pending if self.idled_out(cx) => return Poll::Ready(Ok(false)),
                    Poll::Pending => return Poll::Pending,
                },
                Framing::Body(left) if !come.is_empty() => {
                    self.approved = come.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    *left -= self.approved as u64;
                    if *left == 0 {
                        self.framing = Framing::Head(HeadScanner::default());
                    }
                }
                Framing::Chunked(scanner) if !come.is_empty() => {
                    let Ok(taken) = scanner.advance(come) else {
                        self.framing = Framing::Refused;
                        return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "bad chunk")));
                    };
                    self.approved = taken;
                    if scanner.is_done() {
                        self.framing = Framing::Head(HeadScanner::default());
                    }
                }
                Framing::Body(_) | Framing::Chunked(_) => {
                    if ready!(self.fill(cx))? == 0 {
                        return Poll::Ready(Ok(false));
                    }
                }
                Framing::Head(_) if self.connection.is_upgraded() => self.framing = Framing::Opaque,
                Framing::Head(scanner) => {
                    if come.starts_with(b"\r\n") && !scanner.has_started() {
                        self.start += 2;
                        continue;
                    }
                    match scanner.advance(come) {
                        Ok(Some((length, body))) => self.head_is_whole(length, body),
                        Ok(None) => match self.poll_more_head(cx) {
                            Poll::Ready(Ok(true)) => {}
                            other => return other,
                        },
                        Err(refusal) => self.refuse(refusal),
                    }
                }
            }
        }
    }

    fn approve(&mut self, read: usize) -> bool {
        self.approved = read;
        read > 0
    }

    fn head_is_whole(&mut self, length: usize, body: BodyLength) {
        self.approved = length;
        self.waiting_since = None;
        self.framing = match body {
            BodyLength::Known(0) => Framing::Head(HeadScanner::default()),
            BodyLength::Known(length) => Framing::Body(length),
            BodyLength::Chunked => Framing::Chunked(ChunkScanner::default()),
        };
    }

    fn poll_more_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let first_byte_is_due = self.start == self.end;
        match self.fill(cx) {
            Poll::Ready(Ok(read)) => {
                if first_byte_is_due {
                    // The time limit of the head starts when more of it has to be waited for.
                    self.waiting_since = None;
                }
                Poll::Ready(Ok(read > 0))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if first_byte_is_due && self.idled_out(cx) => Poll::Ready(Ok(false)),
            Poll::Pending if !first_byte_is_due && self.head_timed_out(cx) => {
                self.refuse(Refusal::HeadTimeout);
                Poll::Ready(Ok(true))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.connection.refuse(refusal);
        self.buffer.clear();
        self.buffer.extend_from_slice(STANDS_FOR_A_REFUSED_ONE);
        (self.start, self.end) = (0, self.buffer.len());
        self.approved = self.end;
        self.framing = Framing::Refused;
    }

    fn head_timed_out(&mut self, cx: &mut Context<'_>) -> bool {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        self.read_timer.expired(since + self.limits.header_timeout, cx)
    }

    /// Returns whether no request is being read or answered.
    fn idled_out(&mut self, cx: &mut Context<'_>) -> bool {
        if self.connection.is_upgraded() {
            return false;
        }
        let served = self.connection.served();
        if std::mem::replace(&mut self.served, served) != served {
            self.waiting_since = None;
        }
        if self.connection.is_idle() {
            let since = *self.waiting_since.get_or_insert_with(Instant::now);
            return self.read_timer.expired(since + self.limits.idle_timeout, cx);
        }
        // Set in any case: there may be no other wake-up when the request ends.
        self.waiting_since = None;
        self.read_timer.keep_set(self.limits.idle_timeout, cx);
        false
    }

    fn fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.make_room();
        let mut room = ReadBuf::new(&mut self.buffer[self.end..]);
        ready!(Pin::new(&mut self.socket).poll_read(cx, &mut room))?;
        let read = room.filled().len();
        self.end += read;
        Poll::Ready(Ok(read))
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            let wanted = match self.framing {
                Framing::Body(left) if left > SMALL_BUFFER as u64 => LARGE_BUFFER,
                Framing::Chunked(_) | Framing::Opaque => LARGE_BUFFER / 4,
                _ => SMALL_BUFFER,
            };
            if self.buffer.len() < wanted || (self.buffer.len() > wanted && wanted == SMALL_BUFFER) {
                self.buffer = vec![0; wanted];
            }
        } else if self.end == self.buffer.len() && self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }

    /// Fails if a write has made no progress for `write_timeout`: the client has stopped reading.
    fn watch_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled_since = None;
            return written;
        }
        let since = *self.stalled_since.get_or_insert_with(Instant::now);
        if self.write_timer.expired(since + self.limits.write_timeout, cx) {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading")));
        }
        Poll::Pending
    }

    /// Reads on for a short time before closing. Closing with unread bytes makes the kernel reset the connection, and the
    /// client could lose the response.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = *self.stalled_since.get_or_insert_with(Instant::now);
        loop {
            (self.start, self.end) = (0, 0);
            match self.fill(cx) {
                Poll::Ready(Ok(read)) if read > 0 && since.elapsed() < LINGER => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if self.write_timer.expired(since + LINGER, cx) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl hyper::rt::Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut room: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        if ready!(wire.poll_approve(cx))? {
            let length = wire.approved.min(room.remaining());
            room.put_slice(&wire.buffer[wire.start..wire.start + length]);
            wire.start += length;
            wire.approved -= length;
        }
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.watch_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        let written = if total <= GATHERED_WRITE {
            // Copying this much costs less than a vectored write.
            let mut gathered = [0; GATHERED_WRITE];
            let mut end = 0;
            for slice in slices {
                gathered[end..end + slice.len()].copy_from_slice(slice);
                end += slice.len();
            }
            Pin::new(&mut self.socket).poll_write(cx, &gathered[..end])
        } else {
            Pin::new(&mut self.socket).poll_write_vectored(cx, slices)
        };
        self.watch_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_shutdown(cx))?;
        if matches!(self.framing, Framing::Body(_) | Framing::Chunked(_) | Framing::Refused) {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}
