//! One HTTP/1.1 connection to a target, run by the task whose request it carries.
//!
//! hyper wants a connection polled beside its requests. Polling it in the same task rather than in one of its
//! own saves two wake-ups a request, and ties its life to the request: a client that leaves drops both.

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use kit::serve::{BodyWatch, RequestBody, Timer};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Boxed: it is large, and moves between the pool and the requests.
type Driver = Box<Connection<TokioIo<TcpStream>, RequestBody>>;

pub struct UpstreamConnection {
    sender: SendRequest<RequestBody>,
    /// None once the connection has ended.
    driver: Option<Driver>,
    timer: Timer,
}

/// `unsent` is the request where not a byte of it has left.
pub struct SendError {
    pub error: hyper::Error,
    pub unsent: Option<Box<Request<RequestBody>>>,
}

impl UpstreamConnection {
    pub async fn new(socket: TcpStream) -> hyper::Result<Self> {
        // Without it answers come later, not wrongly.
        let _ = socket.set_nodelay(true);
        let (sender, driver) = http1::Builder::new().handshake(TokioIo::new(socket)).await?;
        Ok(Self { sender, driver: Some(Box::new(driver)), timer: Timer::default() })
    }

    /// None when the target has been silent for `timeout`. The client's body still coming is no silence.
    pub async fn send(
        &mut self,
        request: Request<RequestBody>,
        body: &BodyWatch,
        timeout: Duration,
    ) -> Option<Result<Response<Incoming>, SendError>> {
        let Self { sender, driver, timer } = self;
        let mut sending = pin!(sender.try_send_request(request));
        let (mut deadline, mut received) = (Instant::now() + timeout, 0);
        let sent = poll_fn(|cx| {
            poll_driver(driver, cx);
            if let Poll::Ready(sent) = sending.as_mut().poll(cx) {
                return Poll::Ready(Some(sent));
            }
            while timer.expired(deadline, cx) {
                if body.received() == received {
                    return Poll::Ready(None);
                }
                (deadline, received) = (Instant::now() + timeout, body.received());
            }
            Poll::Pending
        });
        let sent = sent.await?;
        Some(sent.map_err(|mut error| SendError {
            unsent: error.take_message().map(Box::new),
            error: error.into_error(),
        }))
    }

    /// Moves bytes in both directions as far as they go now.
    pub fn poll(&mut self, cx: &mut Context<'_>) {
        poll_driver(&mut self.driver, cx);
    }

    /// Whether an idle connection can take a request: looks at the socket for a close that came meanwhile.
    pub async fn is_ready(&mut self) -> bool {
        poll_fn(|cx| {
            poll_driver(&mut self.driver, cx);
            Poll::Ready(matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(()))))
        })
        .await
    }

    pub fn can_be_kept(&self) -> bool {
        self.driver.is_some() && !self.sender.is_closed()
    }

    /// For an upgrade: sends in a task of its own, so that hyper can hand the socket out afterwards.
    pub async fn send_upgrade(self, request: Request<RequestBody>) -> hyper::Result<Response<Incoming>> {
        let Self { mut sender, driver, .. } = self;
        if let Some(driver) = driver {
            tokio::spawn(driver.with_upgrades());
        }
        sender.send_request(request).await
    }
}

fn poll_driver(driver: &mut Option<Driver>, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && Pin::new(running).poll(cx).is_ready()
    {
        // What went wrong is told to the request as well.
        *driver = None;
    }
}
