//! HTTP as bytes, for requests that no well-behaved client sends.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

pub struct Raw {
    pub socket: TcpStream,
}

/// A response: its status, head and body as text.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
    }
}

impl Raw {
    pub async fn connect(address: SocketAddr) -> Self {
        Self { socket: TcpStream::connect(address).await.expect("it listens") }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // A server may refuse and close before it has read everything.
        let _ = self.socket.write_all(bytes.as_ref()).await;
    }

    /// Reads until the server closes the connection. Returns none if it stays open for longer than `patience`.
    pub async fn read_to_end(&mut self, patience: Duration) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let reading = async {
            let mut buffer = [0; 16 * 1024];
            while let Ok(read @ 1..) = self.socket.read(&mut buffer).await {
                bytes.extend_from_slice(&buffer[..read]);
            }
        };
        timeout(patience, reading).await.ok()?;
        Some(bytes)
    }

    /// Reads the head of one response.
    pub async fn read_head(&mut self) -> Answer {
        let mut bytes = Vec::new();
        let reading = async {
            while !bytes.ends_with(b"\r\n\r\n") {
                let byte = self.socket.read_u8().await.unwrap_or_else(|_| panic!("closed after {bytes:?}"));
                bytes.push(byte);
            }
        };
        timeout(Duration::from_secs(10), reading).await.expect("a head within 10 s");
        Answer::parse(&bytes).expect("a head")
    }

    /// Reads one response with a known length, on a connection that stays open.
    pub async fn read_answer(&mut self) -> Answer {
        let mut bytes = Vec::new();
        let reading = async {
            loop {
                if let Some(answer) = Answer::parse(&bytes)
                    && answer.body.len() >= content_length(&answer.head)
                {
                    return answer;
                }
                let mut buffer = [0; 16 * 1024];
                let read = self.socket.read(&mut buffer).await.unwrap_or(0);
                assert!(read > 0, "closed after {:?}", String::from_utf8_lossy(&bytes));
                bytes.extend_from_slice(&buffer[..read]);
            }
        };
        timeout(Duration::from_secs(10), reading).await.expect("an answer within 10 s")
    }
}

fn content_length(head: &str) -> usize {
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Sends bytes on a new connection, and returns what the server sends before it closes the connection.
pub async fn exchange(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Vec<Answer> {
    let mut raw = Raw::connect(address).await;
    raw.send(bytes).await;
    let come = raw.read_to_end(Duration::from_secs(10)).await.expect("the server closes within 10 s");
    split(&come)
}

/// Splits what came on one connection into responses, each with a known length.
pub fn split(bytes: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut rest = bytes;
    while let Some(answer) = Answer::parse(rest) {
        let length = (answer.head.len() + 4 + content_length(&answer.head)).min(rest.len());
        answers.extend(Answer::parse(&rest[..length]));
        rest = &rest[length..];
    }
    answers
}
