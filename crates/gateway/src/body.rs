//! The body of an answer: the gateway's own, or a target's, which is streamed.

use crate::upstream::UpstreamBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub enum GatewayBody {
    Own(Bytes),
    Upstream(UpstreamBody),
}

impl GatewayBody {
    pub fn own(text: impl Into<Bytes>) -> Self {
        Self::Own(text.into())
    }
}

impl Body for GatewayBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            Self::Own(text) if text.is_empty() => Poll::Ready(None),
            Self::Own(text) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(text))))),
            Self::Upstream(body) => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(text) => text.is_empty(),
            Self::Upstream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own(text) => SizeHint::with_exact(text.len() as u64),
            Self::Upstream(body) => body.size_hint(),
        }
    }
}
