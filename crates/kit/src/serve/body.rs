//! A request's body: streamed, counted, and aborted if the client is too slow.

use super::Limits;
use bytes::Bytes;
use http::request::Parts;
use http::{StatusCode, Version, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    #[error("the body came too slowly")]
    TooSlow,
    #[error("the body is larger than {limit} bytes", limit = .0)]
    TooLarge(usize),
    #[error("the body ended early or is malformed")]
    Broken,
}

/// Of a body that the service does not read, so much is read and dropped, to keep the connection for the next request.
const MAX_SKIPPED: u64 = 64 * 1024;
/// What is left of a body whose length the client does not say in advance.
const UNKNOWN: u64 = u64::MAX - 1;
/// What is left of a body that failed: it is not read further.
const NEVER_READ: u64 = u64::MAX;

pub struct RequestBody {
    incoming: Option<Incoming>,
    is_http2: bool,
    patience: Patience,
    received: u64,
    progress: Option<Arc<Progress>>,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, head: &Parts, timeout: Duration) -> Self {
        let is_http2 = head.version == Version::HTTP_2;
        let has_content = !incoming.is_end_stream();
        // With `Expect` the body is sent only if it is wanted.
        let is_offered = head.headers.contains_key(header::EXPECT);
        let progress = Progress {
            left: AtomicU64::new(left(&incoming)),
            most_skipped: if is_http2 || is_offered { 0 } else { MAX_SKIPPED },
            ..Progress::default()
        };
        Self {
            incoming: has_content.then_some(incoming),
            is_http2,
            patience: Patience { timeout, waited: Duration::ZERO, waiting: None },
            received: 0,
            progress: has_content.then(|| Arc::new(progress)),
        }
    }

    pub fn empty() -> Self {
        let patience = Patience { timeout: Duration::ZERO, waited: Duration::ZERO, waiting: None };
        Self { incoming: None, is_http2: false, patience, received: 0, progress: None }
    }

    /// Returns the state of the body, which can be read after the body was handed on.
    pub fn watch(&self) -> BodyWatch {
        BodyWatch(self.progress.clone())
    }

    /// Reads the whole body; fails if it has more than `limit` bytes.
    pub async fn collect(mut self, limit: usize) -> Result<Vec<u8>, BodyFault> {
        if self.size_hint().lower() > limit as u64 {
            return Err(BodyFault::TooLarge(limit));
        }
        let mut whole = Vec::new();
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await {
            if let Ok(data) = frame?.into_data() {
                if whole.len() + data.len() > limit {
                    return Err(BodyFault::TooLarge(limit));
                }
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole)
    }

    fn count(&mut self, bytes: u64, left: u64) {
        self.received += bytes;
        if let Some(progress) = &self.progress {
            progress.received.store(self.received, Ordering::Relaxed);
            progress.left.store(left, Ordering::Relaxed);
        }
    }

    fn fail(&mut self, fault: BodyFault) -> Poll<Option<Result<Frame<Bytes>, BodyFault>>> {
        self.incoming = None;
        if let Some(progress) = &self.progress {
            progress.set_fault(fault);
            progress.left.store(NEVER_READ, Ordering::Relaxed);
        }
        Poll::Ready(Some(Err(fault)))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFault>>> {
        let body = &mut *self;
        let Some(incoming) = &mut body.incoming else { return Poll::Ready(None) };
        match Pin::new(&mut *incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let left = left(incoming);
                body.count(frame.data_ref().map_or(0, |data| data.len() as u64), left);
                body.patience.rewarded();
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => body.fail(BodyFault::Broken),
            Poll::Ready(None) if was_cut_short(incoming, body.is_http2) => body.fail(BodyFault::Broken),
            Poll::Ready(None) => {
                body.incoming = None;
                body.count(0, 0);
                Poll::Ready(None)
            }
            Poll::Pending if body.patience.exhausted(body.received, cx) => body.fail(BodyFault::TooSlow),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(progress) = self.progress.take() else { return };
        let left = progress.left.load(Ordering::Relaxed);
        let may_be_small = left <= progress.most_skipped || (left == UNKNOWN && progress.most_skipped > 0);
        let is_skipped = left > 0 && may_be_small;
        if let (true, Some(incoming), Ok(runtime)) = (is_skipped, self.incoming.take(), Handle::try_current())
        {
            let mut rest = Self::empty();
            (rest.incoming, rest.patience.timeout) = (Some(incoming), self.patience.timeout);
            runtime.spawn(rest.collect(MAX_SKIPPED as usize));
        }
    }
}

fn left(incoming: &Incoming) -> u64 {
    incoming.size_hint().exact().unwrap_or(UNKNOWN)
}

/// hyper reports an HTTP/2 stream that the client has reset without an error as one that has ended.
fn was_cut_short(incoming: &Incoming, is_http2: bool) -> bool {
    let bytes_are_missing = incoming.size_hint().exact().is_some_and(|left| left > 0);
    bytes_are_missing || (is_http2 && !incoming.is_end_stream())
}

/// How long the server has waited for the client, without the time in which it was busy itself.
struct Patience {
    timeout: Duration,
    waited: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patience {
    fn rewarded(&mut self) {
        if let Some((since, _)) = self.waiting.take() {
            self.waited += since.elapsed();
        }
    }

    fn exhausted(&mut self, received: u64, cx: &mut Context<'_>) -> bool {
        let (_, sleep) = self.waiting.get_or_insert_with(|| {
            let earned = Duration::from_secs(received / Limits::MIN_BODY_RATE);
            let left = (self.timeout + earned).saturating_sub(self.waited);
            (Instant::now(), Box::pin(sleep(left.min(self.timeout))))
        });
        sleep.as_mut().poll(cx).is_ready()
    }
}

#[derive(Default)]
struct Progress {
    received: AtomicU64,
    /// What is still to be read.
    left: AtomicU64,
    /// Up to this size the rest is read although the service does not want it.
    most_skipped: u64,
    fault: AtomicU8,
}

impl Progress {
    fn set_fault(&self, fault: BodyFault) {
        let code = if fault == BodyFault::TooSlow { 1 } else { 2 };
        self.fault.store(code, Ordering::Release);
    }
}

/// How much of a body was read, and whether reading it failed. Absent for an empty body.
pub struct BodyWatch(Option<Arc<Progress>>);

impl BodyWatch {
    pub fn received(&self) -> u64 {
        self.0.as_ref().map_or(0, |progress| progress.received.load(Ordering::Relaxed))
    }

    /// Tells whether the connection takes no other request after an answer of this status, because of what is left of
    /// the body. Of one of unknown length, a service that succeeds has read all but its end.
    pub(super) fn ends_connection(&self, status: StatusCode) -> bool {
        let Some(progress) = &self.0 else { return false };
        let is_failure = status.is_client_error() || status.is_server_error();
        match progress.left.load(Ordering::Relaxed) {
            UNKNOWN if progress.most_skipped > 0 => is_failure,
            left => left > progress.most_skipped,
        }
    }

    pub fn fault(&self) -> Option<BodyFault> {
        match self.0.as_ref()?.fault.load(Ordering::Acquire) {
            0 => None,
            1 => Some(BodyFault::TooSlow),
            _ => Some(BodyFault::Broken),
        }
    }
}
