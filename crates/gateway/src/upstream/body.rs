//! The body of a target's answer, streamed to the client; at its end the exchange ends.

use super::response::Framing;
use super::target::Lease;
use crate::body::BoxError;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Frame, SizeHint};
use kit::serve::Drain;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

pub struct UpstreamBody {
    framing: Framing,
    /// None once the answer has ended.
    lease: Option<Lease>,
    end: End,
}

/// How a body ends if its target does not end it.
enum End {
    /// An event stream may be silent for any time; it ends when the process stops.
    WithProcess(Pin<Box<WaitForCancellationFutureOwned>>),
    AfterSilence {
        silence: Duration,
        timer: Option<Pin<Box<Sleep>>>,
        received: u64,
    },
}

impl UpstreamBody {
    pub fn new(
        framing: Framing,
        lease: Lease,
        headers: &HeaderMap,
        silence: Duration,
        drain: &Drain,
    ) -> Self {
        let end = if is_event_stream(headers) {
            End::WithProcess(Box::pin(drain.token().cancelled_owned()))
        } else {
            End::AfterSilence { silence, timer: None, received: 0 }
        };
        let mut body = Self { framing, lease: Some(lease), end };
        body.finish_if_whole();
        body
    }

    fn finish_if_whole(&mut self) {
        if matches!(self.framing, Framing::Known(0)) {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.finish();
        }
    }

    pub fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(lease) = &mut self.lease else { return Poll::Ready(None) };
        match lease.connection.poll_data(cx, &mut self.framing) {
            Poll::Ready(Some(Ok(data))) => {
                if let End::AfterSilence { timer, .. } = &mut self.end {
                    *timer = None;
                }
                self.finish_if_whole();
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => {
                self.finish();
                Poll::Ready(None)
            }
            Poll::Pending => self.poll_end(cx),
        }
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.end {
            End::WithProcess(drain) => drain.as_mut().poll(cx).map(|()| None),
            End::AfterSilence { silence, timer, received } => loop {
                let sleep = timer.get_or_insert_with(|| Box::pin(sleep(*silence)));
                ready!(sleep.as_mut().poll(cx));
                // While the client's body is still coming, the target may wait with its answer.
                let now_received = self.lease.as_ref().map_or(0, |lease| lease.connection.body_received());
                if std::mem::replace(received, now_received) == now_received {
                    return Poll::Ready(Some(Err("the target went silent".into())));
                }
                *timer = None;
            },
        }
    }

    pub fn is_end_stream(&self) -> bool {
        self.lease.is_none()
    }

    pub fn size_hint(&self) -> SizeHint {
        match self.framing {
            _ if self.lease.is_none() => SizeHint::with_exact(0),
            Framing::Known(left) => SizeHint::with_exact(left),
            _ => SizeHint::default(),
        }
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    const TYPE: &[u8] = b"text/event-stream";
    let start = headers.get(header::CONTENT_TYPE).and_then(|value| value.as_bytes().get(..TYPE.len()));
    start.is_some_and(|start| start.eq_ignore_ascii_case(TYPE))
}
