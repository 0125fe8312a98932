//! A target's answer on its way to the client, and the end of the exchange with it.

use super::target::Lease;
use crate::body::BoxError;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use kit::serve::Drain;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

pub struct UpstreamBody {
    incoming: Incoming,
    lease: Lease,
    ended: bool,
    end: End,
}

/// What ends a body that its target does not end.
enum End {
    /// An event stream may be silent for as long as it likes, until we stop.
    WithProcess(Pin<Box<WaitForCancellationFutureOwned>>),
    AfterSilence(Duration, Option<Pin<Box<Sleep>>>),
}

impl UpstreamBody {
    pub fn new(
        incoming: Incoming,
        lease: Lease,
        headers: &HeaderMap,
        silence: Duration,
        drain: &Drain,
    ) -> Self {
        let end = if is_event_stream(headers) {
            End::WithProcess(Box::pin(drain.token().cancelled_owned()))
        } else {
            End::AfterSilence(silence, None)
        };
        let mut body = Self { incoming, lease, ended: false, end };
        if body.incoming.is_end_stream() {
            body.finish();
        }
        body
    }

    fn finish(&mut self) {
        self.ended = true;
        self.lease.finish();
    }

    pub fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let mut polled = Pin::new(&mut self.incoming).poll_frame(cx);
        if polled.is_pending() {
            if let Some(connection) = self.lease.connection() {
                connection.poll(cx);
            }
            polled = Pin::new(&mut self.incoming).poll_frame(cx);
        }
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let End::AfterSilence(_, timer) = &mut self.end {
                    *timer = None;
                }
                if self.incoming.is_end_stream() {
                    self.finish();
                }
                Poll::Ready(Some(Ok(frame)))
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
            End::AfterSilence(silence, timer) => {
                let timer = timer.get_or_insert_with(|| Box::pin(sleep(*silence)));
                timer.as_mut().poll(cx).map(|()| Some(Err("the target went silent".into())))
            }
        }
    }

    pub fn is_end_stream(&self) -> bool {
        self.ended || self.incoming.is_end_stream()
    }

    pub fn size_hint(&self) -> SizeHint {
        if self.ended { SizeHint::with_exact(0) } else { self.incoming.size_hint() }
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|text| text.to_ascii_lowercase().starts_with("text/event-stream"))
}
