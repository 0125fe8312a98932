//! Counts, times and logs each request once, from its arrival to the last byte of its response.

use super::RequestId;
use super::connection::Connection;
use crate::log::Access;
use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, Version};
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::Instant;

/// Logs the request when it is dropped: after the last byte of the body, or when the client disconnects.
pub(super) struct Tracker {
    connection: Arc<Connection>,
    method: Method,
    uri: Uri,
    request_id: RequestId,
    started: Instant,
    status: Option<StatusCode>,
    bytes: u64,
    is_http2: bool,
    /// Whether the client has not read the last piece of the body yet.
    is_unread: bool,
}

impl Tracker {
    pub fn start<B>(connection: Arc<Connection>, request: &Request<B>, request_id: RequestId) -> Self {
        connection.request_started();
        connection.serving.metrics.in_flight.increment(1.0);
        Self {
            connection,
            method: request.method().clone(),
            uri: request.uri().clone(),
            request_id,
            started: Instant::now(),
            status: None,
            bytes: 0,
            is_http2: request.version() == Version::HTTP_2,
            is_unread: false,
        }
    }

    fn piece_taken(&mut self) {
        if std::mem::take(&mut self.is_unread) {
            self.connection.piece_taken();
        }
    }

    fn piece_given(&mut self, length: usize) {
        self.bytes += length as u64;
        self.is_unread = self.is_http2;
        if self.is_http2 {
            self.connection.piece_given();
        }
    }

    pub fn answered<B>(mut self, response: http::Response<B>) -> http::Response<Tracked<B>> {
        self.status = Some(response.status());
        let figures = &self.connection.serving.metrics.figures;
        figures.record(response.status().as_u16(), self.started.elapsed());
        response.map(|inner| Tracked { inner, tracker: self })
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.piece_taken();
        self.connection.request_ended();
        let elapsed = self.started.elapsed();
        let serving = &self.connection.serving;
        let metrics = &serving.metrics;
        metrics.in_flight.decrement(1.0);
        metrics.answered(self.status.map_or(0, |status| status.as_u16()), elapsed.as_secs_f64());
        serving.log.access(&Access {
            service: serving.name,
            at_ms: serving.clock.now_ms(),
            method: self.method.as_str(),
            path: self.uri.path(),
            status: self.status.map_or(499, |status| status.as_u16()),
            bytes: self.bytes,
            micros: elapsed.as_micros() as u64,
            peer: self.connection.peer_ip.to_str().unwrap_or_default(),
            request_id: self.request_id.as_str(),
        });
    }
}

pub struct Tracked<B> {
    inner: B,
    tracker: Tracker,
}

impl<B: Body<Data = Bytes> + Unpin> Body for Tracked<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.tracker.piece_taken();
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.tracker.piece_given(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
