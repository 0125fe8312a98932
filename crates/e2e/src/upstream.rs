//! A real HTTP server to stand behind the gateway: it tells what it was sent, and misbehaves on request.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_stream::wrappers::ReceiverStream;

type Body = BoxBody<Bytes, io::Error>;

pub struct Upstream {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    accepting: JoinHandle<()>,
    open: Arc<Mutex<JoinSet<()>>>,
}

#[derive(Default)]
pub struct Seen {
    pub connections: AtomicUsize,
    pub requests: AtomicUsize,
    /// Requests to `/hang` and `/sse` whose client has gone.
    pub abandoned: AtomicUsize,
}

impl Upstream {
    pub async fn start() -> Self {
        Self::start_on(free_address().await, Habit::Faithful).await
    }

    /// Where another has been, or is going to be.
    pub async fn start_at(address: SocketAddr) -> Self {
        Self::start_on(address, Habit::Faithful).await
    }

    /// Closes each connection, without saying so, after this many answers on it.
    pub async fn start_closing_after(answers: usize) -> Self {
        Self::start_on(free_address().await, Habit::ClosesAfter(answers)).await
    }

    /// After this many answers on a connection, reads a further request there and closes without an answer.
    pub async fn start_breaking_after(answers: usize) -> Self {
        Self::start_on(free_address().await, Habit::BreaksAfter(answers)).await
    }

    async fn start_on(address: SocketAddr, habit: Habit) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let seen: Arc<Seen> = Arc::default();
        let open: Arc<Mutex<JoinSet<()>>> = Arc::default();
        let (shared, connections) = (seen.clone(), open.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let _ = socket.set_nodelay(true);
                connections.lock().unwrap().spawn(serve(socket, shared.clone(), habit));
            }
        });
        Self { address, seen, accepting, open }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> usize {
        self.seen.requests.load(Ordering::SeqCst)
    }

    pub fn abandoned(&self) -> usize {
        self.seen.abandoned.load(Ordering::SeqCst)
    }

    /// Its connections break and new ones are refused.
    pub fn kill(&self) {
        self.accepting.abort();
        self.open.lock().unwrap().abort_all();
    }

    /// Connections that are open stay so; new ones are refused.
    pub fn stop_accepting(&self) {
        self.accepting.abort();
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An address where nobody listens.
pub async fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("a bound address")
}

#[derive(Clone, Copy)]
enum Habit {
    Faithful,
    ClosesAfter(usize),
    BreaksAfter(usize),
}

async fn serve(socket: tokio::net::TcpStream, seen: Arc<Seen>, habit: Habit) {
    let answered = Arc::new(AtomicUsize::new(0));
    let counted = answered.clone();
    let service = service_fn(move |request| {
        let (seen, counted) = (seen.clone(), counted.clone());
        async move {
            seen.requests.fetch_add(1, Ordering::SeqCst);
            if let Habit::BreaksAfter(answers) = habit
                && counted.load(Ordering::SeqCst) >= answers
            {
                return Err(io::Error::other("as asked"));
            }
            let response = answer(request, seen).await;
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(response)
        }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service).with_upgrades();
    let enough = async {
        let Habit::ClosesAfter(answers) = habit else { return std::future::pending().await };
        while answered.load(Ordering::SeqCst) < answers {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    tokio::select! {
        _ = connection => {}
        () = enough => {}
    }
}

/// Counts itself as abandoned unless it is told that all went well.
struct Abandoned(Arc<Seen>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.abandoned.fetch_add(1, Ordering::SeqCst);
    }
}

async fn answer(mut request: Request<Incoming>, seen: Arc<Seen>) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let number: u64 = query.trim_start_matches("n=").parse().unwrap_or(0);
    match request.uri().path() {
        "/hang" => {
            let _abandoned = Abandoned(seen);
            std::future::pending().await
        }
        "/status" => status(number as u16),
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(number)).await;
            text("slow")
        }
        "/sse" => events(seen),
        "/bytes" => bytes(number),
        "/count" => count(request).await,
        "/die" => die(true),
        "/die-chunked" => die(false),
        "/early" => status(413),
        "/websocket" => websocket(&mut request),
        _ => echo(request).await,
    }
}

fn text(text: &'static str) -> Response<Body> {
    Response::new(Full::new(Bytes::from_static(text.as_bytes())).map_err(never).boxed())
}

fn never(never: Infallible) -> io::Error {
    match never {}
}

fn status(code: u16) -> Response<Body> {
    let mut response = text("as asked");
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
    response.headers_mut().insert("x-from-target", "yes".parse().expect("a header"));
    response
}

/// What arrived here, as JSON.
async fn echo(request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let headers: Vec<Value> = parts
        .headers
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let told = json!({
        "method": parts.method.as_str(),
        "uri": parts.uri.to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    });
    let mut response = Response::new(Full::new(Bytes::from(told.to_string())).map_err(never).boxed());
    let headers = response.headers_mut();
    headers.insert("content-type", "application/json".parse().expect("a header"));
    headers.insert("x-from-target", "yes".parse().expect("a header"));
    headers.insert("connection", "x-hop".parse().expect("a header"));
    headers.insert("x-hop", "must not arrive".parse().expect("a header"));
    headers.insert("keep-alive", "timeout=5".parse().expect("a header"));
    headers.append("set-cookie", "a=1".parse().expect("a header"));
    headers.append("set-cookie", "b=2".parse().expect("a header"));
    response
}

fn stream(frames: mpsc::Receiver<Result<Frame<Bytes>, io::Error>>) -> Response<Body> {
    Response::new(BodyExt::boxed(StreamBody::new(ReceiverStream::new(frames))))
}

/// An event every 50 ms whose data is the time at which it left, in microseconds.
#[expect(clippy::disallowed_methods, reason = "real time: the test measures how long an event takes")]
fn events(seen: Arc<Seen>) -> Response<Body> {
    let (send, receive) = mpsc::channel(1);
    tokio::spawn(async move {
        let _abandoned = Abandoned(seen);
        for _ in 0..1200 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
            let event = Bytes::from(format!("data: {now}\n\n"));
            if send.send(Ok(Frame::data(event))).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut response = stream(receive);
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a header"));
    response
}

/// As many bytes as asked for, with their length told beforehand.
fn bytes(number: u64) -> Response<Body> {
    const PIECE: usize = 64 * 1024;
    let (send, receive) = mpsc::channel(4);
    tokio::spawn(async move {
        let piece = Bytes::from(vec![b'x'; PIECE]);
        let mut left = number;
        while left > 0 {
            let take = left.min(PIECE as u64) as usize;
            if send.send(Ok(Frame::data(piece.slice(..take)))).await.is_err() {
                return;
            }
            left -= take as u64;
        }
    });
    let mut response = stream(receive);
    response.headers_mut().insert("content-length", number.into());
    response
}

/// How many bytes the body had, read as they came.
async fn count(request: Request<Incoming>) -> Response<Body> {
    let mut body = request.into_body();
    let mut total = 0u64;
    while let Some(Ok(frame)) = body.frame().await {
        total += frame.data_ref().map_or(0, |data| data.len() as u64);
    }
    Response::new(Full::new(Bytes::from(total.to_string())).map_err(never).boxed())
}

/// Promises a thousand bytes, or an end, sends ten, and breaks the connection.
fn die(length_is_told: bool) -> Response<Body> {
    let (send, receive) = mpsc::channel(1);
    tokio::spawn(async move {
        let _ = send.send(Ok(Frame::data(Bytes::from_static(b"ten bytes.")))).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let _ = send.send(Err(io::Error::other("as asked"))).await;
    });
    let mut response = stream(receive);
    if length_is_told {
        response.headers_mut().insert("content-length", 1000.into());
    }
    response
}

/// Agrees to anything and sends back, in capitals, what it is sent.
fn websocket(request: &mut Request<Incoming>) -> Response<Body> {
    let protocol = request.headers().get("upgrade").cloned();
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let mut socket = TokioIo::new(upgraded);
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = socket.read(&mut buffer).await {
            buffer[..read].make_ascii_uppercase();
            if socket.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    });
    let mut response = text("");
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert("connection", "upgrade".parse().expect("a header"));
    if let Some(protocol) = protocol {
        headers.insert("upgrade", protocol);
    }
    response
}
