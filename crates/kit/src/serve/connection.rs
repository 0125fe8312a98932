//! The state that the parts of one connection share: its wire, its requests, and the server that may end it.

use super::arrival::SignedForwarded;
use super::{Refusal, Serving};
use futures_util::task::AtomicWaker;
use http::HeaderValue;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub struct Connection {
    pub peer: SocketAddr,
    /// The peer's address as header text, made once for all requests of the connection.
    pub peer_ip: HeaderValue,
    pub(super) serving: Arc<Serving>,
    pub signed_forwarded: SignedForwarded,
    requests: AtomicUsize,
    served: AtomicUsize,
    /// Bodies of HTTP/2 responses whose last piece the client has not read yet.
    unread: AtomicUsize,
    pieces: AtomicUsize,
    upgraded: AtomicBool,
    refusal: OnceLock<Refusal>,
    ending: AtomicU8,
    pub(super) waker: AtomicWaker,
}

/// How soon the server wants to end the connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(super) enum Ending {
    No = 0,
    AfterThisRequest = 1,
    Now = 2,
}

impl Connection {
    pub(super) fn new(peer: SocketAddr, serving: Arc<Serving>) -> Self {
        // An IPv4 address on an IPv6 socket is shown as the IPv4 address.
        let ip = peer.ip().to_canonical().to_string();
        Self {
            peer,
            peer_ip: HeaderValue::try_from(ip).unwrap_or(HeaderValue::from_static("unknown")),
            serving,
            signed_forwarded: SignedForwarded::default(),
            requests: AtomicUsize::new(0),
            served: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
            pieces: AtomicUsize::new(0),
            upgraded: AtomicBool::new(false),
            refusal: OnceLock::new(),
            ending: AtomicU8::new(Ending::No as u8),
            waker: AtomicWaker::new(),
        }
    }

    pub(super) fn request_started(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many requests there were, running ones included.
    pub(super) fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }

    pub(super) fn request_ended(&self) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0
    }

    /// Records that a piece of a response waits for the client to read.
    pub(super) fn piece_given(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
        self.pieces.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn piece_taken(&self) {
        self.unread.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits until the client has left responses unread for `patience` (at most twice that). For HTTP/1 the timeout of
    /// writes on the socket does the same.
    pub(super) async fn stops_reading(&self, patience: Duration) {
        let mut pieces = None;
        while self.unread.load(Ordering::Relaxed) == 0 || pieces != Some(self.pieces.load(Ordering::Relaxed))
        {
            pieces = Some(self.pieces.load(Ordering::Relaxed));
            tokio::time::sleep(patience).await;
        }
    }

    /// Records that the bytes from here on are not HTTP any more.
    pub(super) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Release);
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.upgraded.load(Ordering::Acquire)
    }

    /// Records that the wire has refused a request. The next request that the service sees stands for it.
    pub(super) fn refuse(&self, refusal: Refusal) {
        self.refusal.get_or_init(|| refusal);
    }

    pub(super) fn refusal(&self) -> Option<Refusal> {
        self.refusal.get().copied()
    }

    pub(super) fn end(&self, ending: Ending) {
        self.ending.store(ending as u8, Ordering::Release);
        self.waker.wake();
    }

    pub(super) fn ending(&self) -> Ending {
        match self.ending.load(Ordering::Acquire) {
            0 => Ending::No,
            1 => Ending::AfterThisRequest,
            _ => Ending::Now,
        }
    }
}
