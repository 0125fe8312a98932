//! What the parts of one connection tell each other: its wire, its requests, and the server that may end it.

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
    /// The peer's address as header text, made once for all the requests of the connection.
    pub peer_ip: HeaderValue,
    pub(super) serving: Arc<Serving>,
    pub signed_forwarded: SignedForwarded,
    requests: AtomicUsize,
    served: AtomicUsize,
    /// Bodies of HTTP/2 answers that have given a piece and not been asked for the next.
    unread: AtomicUsize,
    pieces: AtomicUsize,
    upgraded: AtomicBool,
    refusal: OnceLock<Refusal>,
    ending: AtomicU8,
    pub(super) waker: AtomicWaker,
}

/// How urgently the server wants the connection gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(super) enum Ending {
    No = 0,
    AfterThisRequest = 1,
    Now = 2,
}

impl Connection {
    pub(super) fn new(peer: SocketAddr, serving: Arc<Serving>) -> Self {
        // An IPv4 address that came through an IPv6 socket is the IPv4 address.
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

    /// How many requests there have been, running ones included.
    pub(super) fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }

    pub(super) fn request_ended(&self) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0
    }

    /// A piece of an answer waits for the client to make room.
    pub(super) fn piece_given(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
        self.pieces.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn piece_taken(&self) {
        self.unread.fetch_sub(1, Ordering::Relaxed);
    }

    /// Comes back when the client has left answers unread for `patience` (and at most twice that) altogether.
    /// HTTP/1 needs no such thing: there the socket itself stands still.
    pub(super) async fn stops_reading(&self, patience: Duration) {
        let mut pieces = None;
        while self.unread.load(Ordering::Relaxed) == 0 || pieces != Some(self.pieces.load(Ordering::Relaxed))
        {
            pieces = Some(self.pieces.load(Ordering::Relaxed));
            tokio::time::sleep(patience).await;
        }
    }

    /// From here on the bytes are not HTTP any more.
    pub(super) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Release);
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.upgraded.load(Ordering::Acquire)
    }

    /// The wire refuses what came: the next request that the service sees stands for it.
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
