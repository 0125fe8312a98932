//! The one accept loop: every listener of every service is served here, under the same limits.
//!
//! A service is a [`Handler`]. This module owns connections (HTTP/1.1 and HTTP/2 without TLS), their timeouts and number,
//! request ids, the access log, request metrics, panics, and the shutdown.

mod arrival;
mod authority;
mod axum_handler;
mod body;
mod chunks;
mod connection;
mod connection_limits;
mod drain;
mod framing;
mod limits;
mod proxies;
mod refusal;
mod request_id;
mod timer;
mod track;
mod wire;
mod workers;

pub use arrival::{
    Arrival, Door, SignedForwarded, VOUCHED, X_FORWARDED_FOR, X_FORWARDED_HOST, X_FORWARDED_PREFIX,
    X_FORWARDED_PROTO, forwarded, hyphenated, is_forwarding, sign_forwarded,
};
pub use axum_handler::{AxumHandler, keep_private};
pub use body::{BodyFault, BodyWatch, RequestBody};
pub use chunks::ChunkScanner;
pub use connection::Connection;
pub use connection_limits::network;
pub use drain::Drain;
pub use framing::content_length;
pub use limits::Limits;
pub use proxies::TrustedProxies;
pub use refusal::Refusal;
pub use request_id::{RequestId, X_REQUEST_ID};
pub use timer::Timer;
pub use workers::{Workers, worker_index};

use crate::log::Log;
use crate::metrics::ServiceMetrics;
use base::{Clock, Random};
use bytes::Bytes;
use connection::Ending;
use connection_limits::ConnectionLimits;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;
use track::{Tracked, Tracker};
use wire::{Protocol, Wire};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A service: answers requests.
pub trait Handler: Clone + Send + Sync + 'static {
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static;

    fn handle(
        &self,
        request: Request<RequestBody>,
        context: &RequestContext,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// Returns the response for a request that was refused before [`Handler::handle`] or failed in it, in the service's
    /// own error format.
    fn refuse(&self, refusal: Refusal, context: &RequestContext) -> Response<Self::Body>;

    /// Calls [`serve`]. Written in each implementation, so that the accept loop and HTTP itself are compiled with the
    /// service, at its level of optimisation, and not with the program.
    fn serve(self, listener: TcpListener, serving: Arc<Serving>) -> BoxFuture<'static, ()>;
}

/// The connection of a request, and its id.
#[derive(Clone)]
pub struct RequestContext {
    pub request_id: RequestId,
    pub connection: Arc<Connection>,
}

/// What the accept loop needs from the process.
pub struct Serving {
    pub name: &'static str,
    pub limits: Arc<Limits>,
    pub drain: Drain,
    pub log: Log,
    pub metrics: ServiceMetrics,
    pub clock: Clock,
    pub random: Random,
    workers: Option<Workers>,
    connections: Mutex<ConnectionLimits>,
}

impl Serving {
    pub fn new(
        name: &'static str,
        limits: Limits,
        drain: Drain,
        log: Log,
        clock: Clock,
        random: Random,
        workers: Option<Workers>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            limits: Arc::new(limits),
            drain,
            log,
            metrics: ServiceMetrics::new(name),
            clock,
            random,
            workers,
            connections: Mutex::default(),
        })
    }

    fn connections(&self) -> MutexGuard<'_, ConnectionLimits> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection. Returns none if a limit is reached.
    fn register(self: &Arc<Self>, connection: &Arc<Connection>) -> Option<Registration> {
        let mut connections = self.connections();
        let number = connections.add(connection, &self.limits)?;
        self.metrics.connections.set(connections.len() as f64);
        Some(Registration { serving: self.clone(), number })
    }

    fn unregister(&self, number: u64) {
        let mut connections = self.connections();
        connections.remove(number);
        self.metrics.connections.set(connections.len() as f64);
    }

    fn end_all(&self, ending: Ending) {
        self.connections().all().for_each(|connection| connection.end(ending));
    }
}

/// Keeps a connection counted for as long as its socket is open: also while it is a tunnel, and however its task ends.
struct Registration {
    serving: Arc<Serving>,
    number: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.serving.unregister(self.number);
    }
}

/// Serves until the drain starts. Returns when the last connection has ended or the drain's time is over.
pub async fn serve<H: Handler>(listener: TcpListener, handler: H, serving: Arc<Serving>) {
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = serving.drain.started() => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                let connection = Arc::new(Connection::new(peer, serving.clone()));
                match serving.register(&connection) {
                    Some(registration) => {
                        let handler = handler.clone();
                        let serving_it =
                            tasks.track_future(serve_connection(socket, connection, registration, handler));
                        match &serving.workers {
                            Some(workers) => workers.spawn(serving_it),
                            None => drop(tokio::spawn(serving_it)),
                        }
                    }
                    None => turn_away(socket, &serving),
                }
            }
            Err(error) => wait_out(error).await,
        }
    }
    drop(listener);
    tasks.close();
    serving.end_all(Ending::AfterThisRequest);
    if tokio::time::timeout(serving.limits.drain_timeout, tasks.wait()).await.is_err() {
        serving.end_all(Ending::Now);
        tasks.wait().await;
    }
}

fn turn_away(socket: TcpStream, serving: &Serving) {
    serving.metrics.refused_connections.increment(1);
    // The socket is new, so its send buffer has room; if not, it is closed without an answer.
    let _ = socket.try_write(
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nx-content-type-options: nosniff\r\n\
          content-length: 0\r\nconnection: close\r\n\r\n",
    );
}

/// Waits after a failed accept. Most likely there are no file descriptors left, and a retry at once would only spin.
async fn wait_out(error: io::Error) {
    tracing::warn!(%error, "could not accept a connection");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

async fn serve_connection<H: Handler>(
    socket: TcpStream,
    connection: Arc<Connection>,
    registration: Registration,
    handler: H,
) {
    // Registered again, with the runtime of the thread that serves it.
    let Ok(socket) = socket.into_std().and_then(TcpStream::from_std) else { return };
    // If these two fail, the connection still works; only answers, or noticing a dead client, take longer.
    let _ = socket.set_nodelay(true);
    let _ = socket2::SockRef::from(&socket).set_keepalive(true);
    let mut wire = Wire::new(socket, connection.clone(), registration);
    let Some(protocol) = first_words(&mut wire, &connection).await else { return };
    let service = {
        let connection = connection.clone();
        service_fn(move |request| {
            // Read now: when the request is handled, the wire may already have refused the next one.
            let refusal = connection.refusal();
            respond(request, refusal, handler.clone(), connection.clone())
        })
    };
    if protocol == Protocol::Http2 {
        let conn = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(256)
            .max_header_list_size(Limits::MAX_HEAD_BYTES as u32)
            .max_pending_accept_reset_streams(32)
            .keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(20))
            .serve_connection(wire, service);
        // Boxed: it is large, and HTTP/1 connections would need the same space.
        let driving = Box::pin(drive(conn, http2::Connection::graceful_shutdown, &connection));
        tokio::select! {
            () = driving => {}
            () = connection.stops_reading(connection.serving.limits.write_timeout) => {}
        }
    } else {
        let conn = http1::Builder::new()
            .header_read_timeout(None)
            .max_buf_size(Limits::MAX_HEAD_BYTES * 2)
            .serve_connection(wire, service)
            .with_upgrades();
        drive(conn, http1::UpgradeableConnection::graceful_shutdown, &connection).await;
    }
}

/// Returns the protocol that the client speaks; none if it sends nothing in time, or if the server stops.
async fn first_words(wire: &mut Wire, connection: &Connection) -> Option<Protocol> {
    std::future::poll_fn(|cx| {
        connection.waker.register(cx.waker());
        if connection.ending() == Ending::No { wire.poll_protocol(cx) } else { Poll::Ready(None) }
    })
    .await
}

/// Runs a connection until it ends or the server ends it.
async fn drive<C: Future>(conn: C, shut_down: fn(Pin<&mut C>), connection: &Connection) {
    let mut conn = std::pin::pin!(conn);
    let mut is_shutting_down = false;
    std::future::poll_fn(|cx| {
        connection.waker.register(cx.waker());
        let ending = connection.ending();
        if ending == Ending::Now {
            return Poll::Ready(());
        }
        if ending == Ending::AfterThisRequest && !is_shutting_down {
            is_shutting_down = true;
            shut_down(conn.as_mut());
        }
        // How a connection ends (reset, timed out, protocol error) does not matter to the server.
        conn.as_mut().poll(cx).map(drop)
    })
    .await;
}

async fn respond<H: Handler>(
    request: Request<Incoming>,
    refusal: Option<Refusal>,
    handler: H,
    connection: Arc<Connection>,
) -> Result<Response<Tracked<H::Body>>, Infallible> {
    let request_id = RequestId::of(request.headers(), &connection.serving.random);
    let context = RequestContext { request_id: request_id.clone(), connection: connection.clone() };
    let tracker = Tracker::start(connection.clone(), &request, request_id.clone());
    let is_http2 = request.version() == Version::HTTP_2;
    let refusal = refusal.or_else(|| is_http2.then(|| framing::check_target(request.uri()).err())?);
    let timeout = connection.serving.limits.body_timeout;
    let (head, incoming) = request.into_parts();
    let body = RequestBody::new(incoming, &head, timeout);
    let watch = body.watch();
    let request = Request::from_parts(head, body);
    let mut response = match refusal {
        Some(refusal) => handler.refuse(refusal, &context),
        None => {
            let handling = AssertUnwindSafe(handler.handle(request, &context)).catch_unwind();
            handling.await.unwrap_or_else(|_| handler.refuse(Refusal::Panicked, &context))
        }
    };
    if !is_http2 && watch.ends_connection(response.status()) {
        // Said, because a client that does not know could send its next request into it.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().insert(&X_REQUEST_ID, request_id.into_header());
    // Also on the answers of targets behind the gateway: browsers must not guess that a text is a page.
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        connection.upgrade();
    }
    Ok(tracker.answered(response))
}

/// Tells caches that the response may depend on the origin of the page.
pub fn vary_by_origin(headers: &mut HeaderMap) {
    let mut lists = headers.get_all(header::VARY).iter().filter_map(|value| value.to_str().ok());
    if !lists.any(|list| list.split(',').any(|name| matches!(name.trim(), "*" | "origin" | "Origin"))) {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}
