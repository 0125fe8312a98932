//! A vendor's server on loopback, on plain sockets: it checks each request against the vendor's documentation, and
//! sends what the test asks for, cut, late or broken.

use serde_json::Value;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Request {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// The body as it came.
    pub bytes: Vec<u8>,
}

impl Request {
    /// Returns the only value of a header.
    pub fn header(&self, name: &str) -> Result<&str, String> {
        let mut values =
            self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (None, _) => Err(format!("header `{name}` is missing")),
            _ => Err(format!("header `{name}` comes twice")),
        }
    }
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub parts: Vec<Part>,
}

pub enum Part {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// Sends nothing more and waits until the client disconnects.
    Hang,
    /// Closes the connection without the end of the body.
    Cut,
}

pub fn stream(text: &str) -> Answer {
    let headers = vec![("content-type", "text/event-stream; charset=utf-8".to_owned())];
    Answer { status: 200, headers, parts: vec![Part::Bytes(text.as_bytes().to_vec())] }
}

pub fn error(status: u16, body: &str) -> Answer {
    let headers = vec![("content-type", "application/json".to_owned())];
    Answer { status, headers, parts: vec![Part::Bytes(body.as_bytes().to_vec())] }
}

impl Answer {
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn then(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Sends every byte in its own packet.
    pub fn in_single_bytes(mut self) -> Self {
        let single = |part: Part| match part {
            Part::Bytes(bytes) => bytes.into_iter().map(|byte| Part::Bytes(vec![byte])).collect(),
            other => vec![other],
        };
        self.parts = self.parts.into_iter().flat_map(single).collect();
        self
    }
}

type Check = fn(&Request) -> Result<(), String>;

#[derive(Default)]
struct Seen {
    answers: VecDeque<Answer>,
    requests: Vec<(Instant, Value)>,
    faults: Vec<String>,
    gone: Option<Instant>,
}

pub struct Peer {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

impl Peer {
    /// Answers the first request with the first answer, and so on.
    pub async fn start(check: Check, answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Seen { answers: answers.into_iter().collect(), ..Seen::default() }));
        let shared = seen.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, check, shared.clone()));
            }
        });
        Self { address, seen }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.seen.lock().unwrap().requests.iter().map(|(_, body)| body.clone()).collect()
    }

    pub fn requests(&self) -> usize {
        self.seen.lock().unwrap().requests.len()
    }

    /// Returns the times between one request and the next.
    pub fn pauses(&self) -> Vec<Duration> {
        let seen = self.seen.lock().unwrap();
        seen.requests.windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
    }

    /// Returns when the client disconnected in the middle of an answer.
    pub async fn gone(&self) -> Instant {
        for _ in 0..200 {
            if let Some(gone) = self.seen.lock().unwrap().gone {
                return gone;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the client is still there after 2 s");
    }
}

/// Fails the test for a fault that the server found, even if the client continues after it.
impl Drop for Peer {
    fn drop(&mut self) {
        let seen = self.seen.lock().unwrap();
        if !std::thread::panicking() {
            assert_eq!(seen.faults, Vec::<String>::new(), "requests that the vendor would refuse");
            assert!(seen.answers.is_empty(), "{} answers were not fetched", seen.answers.len());
        }
    }
}

async fn serve(mut socket: TcpStream, check: Check, seen: Arc<Mutex<Seen>>) {
    let Some(request) = read(&mut socket).await else { return };
    let checked = check(&request);
    let answer = {
        let mut seen = seen.lock().unwrap();
        seen.requests.push((Instant::now(), request.body));
        match checked {
            Err(fault) => {
                seen.faults.push(fault.clone());
                error(418, &fault)
            }
            Ok(()) => seen.answers.pop_front().unwrap_or_else(|| error(418, "no more answers")),
        }
    };
    write(&mut socket, answer, &seen).await;
}

/// Reads one request with a `Content-Length`, as every vendor's client sends it.
async fn read(socket: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut head = httparse::Request::new(&mut headers);
        let httparse::Status::Complete(end) = head.parse(&bytes).unwrap() else { continue };
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let headers: Vec<_> =
            head.headers.iter().map(|one| (one.name.to_lowercase(), text(one.value))).collect();
        let length =
            headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse());
        if bytes.len() < end + length.unwrap_or(Ok(0)).unwrap() {
            continue;
        }
        return Some(Request {
            method: head.method.unwrap().to_owned(),
            path: head.path.unwrap().to_owned(),
            body: serde_json::from_slice(&bytes[end..]).unwrap_or(Value::Null),
            bytes: bytes[end..].to_vec(),
            headers,
        });
    }
}

async fn write(socket: &mut TcpStream, answer: Answer, seen: &Mutex<Seen>) {
    socket.set_nodelay(true).unwrap();
    let mut head =
        format!("HTTP/1.1 {} x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut gone = socket.write_all(format!("{head}\r\n").as_bytes()).await.is_err();
    for part in answer.parts {
        match part {
            Part::Bytes(bytes) => {
                let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
                gone |= socket.write_all(&chunk).await.is_err();
            }
            Part::Pause(pause) => tokio::time::sleep(pause).await,
            Part::Hang => gone |= matches!(socket.read(&mut [0]).await, Ok(0) | Err(_)),
            Part::Cut => return,
        }
        if gone {
            seen.lock().unwrap().gone = Some(Instant::now());
            return;
        }
    }
    let _ = socket.write_all(b"0\r\n\r\n").await;
    let _ = socket.shutdown().await;
}
