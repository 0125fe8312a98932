//! One HTTP/1.1 connection to a target, run by the task whose request it carries.
//!
//! The request's head comes encoded, its body is streamed after it, and the answer is read as it comes, also
//! while the body is still on its way. There is no task beside that of the request: a client that leaves drops the
//! connection with it. What was measured against hyper's client is in docs/decisions/0001.

use super::response::{BadResponse, Framing, ResponseHead, take_head};
use crate::forward::BodyFraming;
use bytes::{Bytes, BytesMut};
use http::Method;
use http_body::Body;
use kit::serve::{BodyWatch, RequestBody, Timer};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::io::poll_read_buf;

pub struct UpstreamConnection {
    socket: TcpStream,
    read: BytesMut,
    /// The encoded head of the request. The buffer is used again for the next one.
    pub head: Vec<u8>,
    head_written: usize,
    body: RequestBody,
    body_watch: BodyWatch,
    body_framing: BodyFraming,
    /// Pieces of the body that wait for the socket.
    queue: VecDeque<Bytes>,
    queued: usize,
    keep_alive: bool,
    /// Whether it could not be written to.
    broken: bool,
    timer: Timer,
    used_at: Instant,
}

#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("the connection was closed before the answer was whole")]
    Closed,
    #[error(transparent)]
    Bad(#[from] BadResponse),
    #[error("the target has been silent for too long")]
    Silent,
}

const MAX_QUEUED: usize = 64 * 1024;
/// Room for a head and a small body.
const READ_ROOM: usize = 2 * 1024;
const STREAM_READ_ROOM: usize = 16 * 1024;
const MAX_READ_ROOM: usize = 64 * 1024;

impl UpstreamConnection {
    pub fn new(socket: TcpStream) -> Self {
        // If this fails, answers come later, but they come.
        let _ = socket.set_nodelay(true);
        Self {
            socket,
            read: BytesMut::new(),
            head: Vec::with_capacity(1024),
            head_written: 0,
            body: RequestBody::empty(),
            body_watch: RequestBody::empty().watch(),
            body_framing: BodyFraming::Ended,
            queue: VecDeque::new(),
            queued: 0,
            keep_alive: true,
            broken: false,
            timer: Timer::default(),
            used_at: Instant::now(),
        }
    }

    /// Sends the head that is in `head`, and the body, until the answer's head has come.
    pub async fn exchange(
        &mut self,
        method: &Method,
        body: RequestBody,
        framing: BodyFraming,
        timeout: Duration,
    ) -> Result<ResponseHead, ExchangeError> {
        self.body_watch = body.watch();
        (self.head_written, self.body, self.body_framing) = (0, body, framing);
        self.used_at = Instant::now();
        let mut silent = Silence { deadline: self.used_at + timeout, timeout, received: 0 };
        poll_fn(|cx| {
            self.send(cx);
            match self.poll_head(cx, method) {
                Poll::Ready(head) => Poll::Ready(head),
                Poll::Pending if self.body_watch.fault().is_some() => Poll::Ready(Err(ExchangeError::Closed)),
                Poll::Pending if silent.lasts(&mut self.timer, &self.body_watch, cx) => {
                    Poll::Ready(Err(ExchangeError::Silent))
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Writes as much as can be written now. A target may answer and close without reading everything, and its answer
    /// counts: a failure ends only the writing and the connection's further use.
    fn send(&mut self, cx: &mut Context<'_>) {
        if let Poll::Ready(Err(_)) = self.poll_send(cx) {
            self.broken = true;
            (self.head_written, self.body_framing) = (self.head.len(), BodyFraming::Ended);
            self.queue.clear();
            self.queued = 0;
        }
    }

    /// Is ready when everything is written, or cannot be written.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ExchangeError>> {
        loop {
            let took_body = self.poll_body(cx)?;
            let head = &self.head[self.head_written..];
            if head.is_empty() && self.queue.is_empty() {
                return if took_body { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            let written = if self.queue.is_empty() {
                ready!(Pin::new(&mut self.socket).poll_write(cx, head))?
            } else {
                let mut slices = [IoSlice::new(head); 8];
                for (slice, piece) in slices[1..].iter_mut().zip(self.queue.iter()) {
                    *slice = IoSlice::new(piece);
                }
                let filled = self.queue.len().min(7) + 1;
                ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, &slices[..filled]))?
            };
            self.written(written);
        }
    }

    /// Takes as much of the client's body as has come and as there is room for. True if that was the last of it.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Result<bool, ExchangeError> {
        while self.body_framing != BodyFraming::Ended && self.queued < MAX_QUEUED {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    // An empty chunk would end the body.
                    if let Some(data) = frame.into_data().ok().filter(|data| !data.is_empty()) {
                        self.enqueue(data);
                    }
                }
                Poll::Ready(Some(Err(fault))) => return Err(io::Error::other(fault).into()),
                Poll::Ready(None) => {
                    if self.body_framing == BodyFraming::Chunked {
                        self.push(Bytes::from_static(b"0\r\n\r\n"));
                    }
                    self.body_framing = BodyFraming::Ended;
                }
                Poll::Pending => return Ok(false),
            }
        }
        Ok(self.body_framing == BodyFraming::Ended)
    }

    fn enqueue(&mut self, data: Bytes) {
        if self.body_framing == BodyFraming::Chunked {
            self.push(Bytes::from(format!("{:x}\r\n", data.len())));
            self.push(data);
            self.push(Bytes::from_static(b"\r\n"));
        } else {
            self.push(data);
        }
    }

    fn push(&mut self, piece: Bytes) {
        self.queued += piece.len();
        self.queue.push_back(piece);
    }

    fn written(&mut self, written: usize) {
        let of_head = written.min(self.head.len() - self.head_written);
        self.head_written += of_head;
        let mut left = written - of_head;
        self.queued -= left;
        while let Some(piece) = self.queue.front_mut() {
            if piece.len() > left {
                bytes::Buf::advance(piece, left);
                return;
            }
            left -= piece.len();
            self.queue.pop_front();
        }
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        method: &Method,
    ) -> Poll<Result<ResponseHead, ExchangeError>> {
        loop {
            if !self.read.is_empty()
                && let Some(head) = take_head(&mut self.read, method)?
            {
                self.keep_alive = head.keep_alive;
                return Poll::Ready(Ok(head));
            }
            if ready!(self.poll_fill(cx, READ_ROOM))? == 0 {
                return Poll::Ready(Err(ExchangeError::Closed));
            }
        }
    }

    /// Returns the next piece of the answer's body; none at its end.
    pub fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
        framing: &mut Framing,
    ) -> Poll<Option<Result<Bytes, ExchangeError>>> {
        if self.body_framing != BodyFraming::Ended || !self.queue.is_empty() {
            self.send(cx);
        }
        if self.body_watch.fault().is_some() {
            // The target would wait for the rest, and the client for the target.
            return Poll::Ready(Some(Err(ExchangeError::Closed)));
        }
        loop {
            match take_data(&mut self.read, framing) {
                Ok(Taken::Data(data)) => return Poll::Ready(Some(Ok(data))),
                Ok(Taken::End) => return Poll::Ready(None),
                Ok(Taken::NeedsMore) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            let room = match framing {
                Framing::Known(left) => {
                    usize::try_from(*left).unwrap_or(usize::MAX).clamp(READ_ROOM, MAX_READ_ROOM)
                }
                _ => STREAM_READ_ROOM,
            };
            match ready!(self.poll_fill(cx, room)) {
                Ok(0) if matches!(framing, Framing::UntilClose) => return Poll::Ready(None),
                Ok(0) => return Poll::Ready(Some(Err(ExchangeError::Closed))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<usize>> {
        // If nothing refers to what was read any more, this uses the same memory again.
        if self.read.is_empty() || self.read.capacity() == self.read.len() {
            self.read.reserve(room);
        }
        poll_read_buf(Pin::new(&mut self.socket), cx, &mut self.read)
    }

    /// Tells whether an idle connection can take a request: a closed one has something to read, if only its end.
    pub async fn is_alive(&mut self) -> bool {
        poll_fn(|cx| Poll::Ready(self.read.is_empty() && self.poll_fill(cx, READ_ROOM).is_pending())).await
    }

    /// Tells, after the answer's end, whether the connection may carry another request.
    pub fn can_be_kept(&self) -> bool {
        let all_sent = self.body_framing == BodyFraming::Ended && self.queue.is_empty();
        self.keep_alive
            && !self.broken
            && all_sent
            && self.head_written == self.head.len()
            && self.read.is_empty()
    }

    /// Returns how much of the client's body has come so far.
    pub fn body_received(&self) -> u64 {
        self.body_watch.received()
    }

    /// Returns when its last exchange began.
    pub fn used_at(&self) -> Instant {
        self.used_at
    }

    /// Returns, after an upgrade, the socket and what the target has already sent on it.
    pub fn into_parts(self) -> (TcpStream, BytesMut) {
        (self.socket, self.read)
    }
}

enum Taken {
    Data(Bytes),
    NeedsMore,
    End,
}

fn take_data(buffer: &mut BytesMut, framing: &mut Framing) -> Result<Taken, ExchangeError> {
    match framing {
        Framing::Known(0) => Ok(Taken::End),
        _ if buffer.is_empty() => Ok(Taken::NeedsMore),
        Framing::Known(left) => {
            let length = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= length as u64;
            Ok(Taken::Data(buffer.split_to(length).freeze()))
        }
        Framing::UntilClose => Ok(Taken::Data(buffer.split().freeze())),
        Framing::Chunked(scanner) => {
            let bad = |_| ExchangeError::Io(io::Error::new(io::ErrorKind::InvalidData, "bad chunk"));
            let (skipped, length) = scanner.next_data(buffer).map_err(bad)?;
            bytes::Buf::advance(buffer, skipped);
            if length > 0 {
                return Ok(Taken::Data(buffer.split_to(length).freeze()));
            }
            Ok(if scanner.is_done() { Taken::End } else { Taken::NeedsMore })
        }
    }
}

/// Measures for how long the target has sent nothing, and the client nothing of its body.
struct Silence {
    deadline: Instant,
    timeout: Duration,
    received: u64,
}

impl Silence {
    fn lasts(&mut self, timer: &mut Timer, body: &BodyWatch, cx: &mut Context<'_>) -> bool {
        while timer.expired(self.deadline, cx) {
            if body.received() == self.received {
                return true;
            }
            (self.deadline, self.received) = (Instant::now() + self.timeout, body.received());
        }
        false
    }
}
