//! A small web server in the test's own runtime: fixed answers by path, and a list of what was asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub struct Site {
    /// Without `/` at its end.
    pub address: String,
    content: Arc<Mutex<Content>>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct Content {
    answers: HashMap<String, Answer>,
    requests: Vec<Request>,
}

#[derive(Clone)]
struct Answer {
    status: u16,
    /// Complete lines.
    headers: String,
    body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub at: Instant,
}

impl Site {
    pub async fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let content = Arc::new(Mutex::new(Content::default()));
        let shared = Arc::clone(&content);
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&shared)));
            }
        });
        Site { address, content, accepting }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Sets the answer for a path: its headers as complete lines, and its body. With the status 0 the connection is
    /// closed instead. The length of the body is added, unless the headers lie about it.
    pub fn put(&self, path: &str, status: u16, headers: &str, body: impl Into<Vec<u8>>) {
        let headers = headers.lines().map(|line| format!("{line}\r\n")).collect();
        let answer = Answer { status, headers, body: body.into() };
        self.content.lock().unwrap().answers.insert(path.to_owned(), answer);
    }

    pub fn html(&self, path: &str, body: &str) {
        self.put(path, 200, "Content-Type: text/html", body);
    }

    pub fn redirect(&self, path: &str, target: &str) {
        self.put(path, 302, &format!("Location: {target}"), "");
    }

    pub fn remove(&self, path: &str) {
        self.content.lock().unwrap().answers.remove(path);
    }

    /// Returns what was asked since the last call.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.content.lock().unwrap().requests)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Answers one request, and closes the connection.
async fn serve(mut socket: TcpStream, content: Arc<Mutex<Content>>) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => bytes.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(bytes).unwrap().to_ascii_lowercase();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let answer = {
        let mut content = content.lock().unwrap();
        content.requests.push(Request { path: path.clone(), at: Instant::now() });
        content.answers.get(&path).cloned()
    };
    let answer = answer.unwrap_or(Answer { status: 404, headers: String::new(), body: b"none".to_vec() });
    if answer.status == 0 {
        return;
    }
    let headers = answer.headers.to_ascii_lowercase();
    let etag = headers.lines().find_map(|line| line.strip_prefix("etag: "));
    let is_known = etag.is_some_and(|etag| head.contains(&format!("if-none-match: {etag}\r\n")));
    let (status, body) = if is_known { (304, Vec::new()) } else { (answer.status, answer.body) };
    let length = match headers.contains("content-length: ") {
        true => String::new(),
        false => format!("Content-Length: {}\r\n", body.len()),
    };
    let head = format!("HTTP/1.1 {status} Some\r\n{}{length}Connection: close\r\n\r\n", answer.headers);
    let _ = socket.write_all(&[head.into_bytes(), body].concat()).await;
    let _ = socket.shutdown().await;
}
