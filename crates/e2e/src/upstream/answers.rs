//! The responses of the target, path by path.

use super::{Counted, Seen};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

type Body = BoxBody<Bytes, io::Error>;

/// Counts a request as abandoned when dropped, unless it was marked as finished.
struct Abandoned(Arc<Seen>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.abandoned.fetch_add(1, Ordering::SeqCst);
    }
}

pub async fn answer(mut request: Request<Incoming>, seen: Arc<Seen>) -> Response<Body> {
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
        "/stall" => stall(),
        "/early" => early(request),
        "/early-close" => status(413),
        "/websocket" => websocket(&mut request, seen),
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

/// Reports the request as JSON.
async fn echo(request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let headers: Vec<Value> = parts
        .headers
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let report = json!({
        "method": parts.method.as_str(),
        "uri": parts.uri.to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    });
    let mut response = Response::new(Full::new(Bytes::from(report.to_string())).map_err(never).boxed());
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

/// Sends an event every 50 ms, with the time in microseconds as its data.
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

/// Sends as many bytes as requested, with a Content-Length.
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

/// Reads the body as it comes and answers with its size.
async fn count(request: Request<Incoming>) -> Response<Body> {
    let mut body = request.into_body();
    let mut total = 0u64;
    while let Some(Ok(frame)) = body.frame().await {
        total += frame.data_ref().map_or(0, |data| data.len() as u64);
    }
    Response::new(Full::new(Bytes::from(total.to_string())).map_err(never).boxed())
}

/// Announces a thousand bytes, or a chunked body, sends ten bytes, and breaks the connection.
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

/// Answers at once and reads the body after that.
fn early(request: Request<Incoming>) -> Response<Body> {
    let mut body = request.into_body();
    tokio::spawn(async move { while let Some(Ok(_)) = body.frame().await {} });
    status(413)
}

/// Begins a response and never continues.
fn stall() -> Response<Body> {
    let (send, receive) = mpsc::channel(1);
    tokio::spawn(async move {
        let _ = send.send(Ok(Frame::data(Bytes::from_static(b"ten bytes.")))).await;
        send.closed().await;
    });
    stream(receive)
}

/// Accepts any upgrade, and sends back in capitals what it is sent.
fn websocket(request: &mut Request<Incoming>, seen: Arc<Seen>) -> Response<Body> {
    let protocol = request.headers().get("upgrade").cloned();
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let _open = Counted::new(&seen, |seen| &seen.tunnels);
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
