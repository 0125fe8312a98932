//! The connection to a mail server: commands out, answers in, with limits on their sizes and times.
//!
//! Why there is a client of our own: the parsers of async-imap call themselves for each bracket, so that a hostile server
//! can end the process, and keep whole mails in memory. Four commands are all that is needed.

use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::answer::{Answer, MOST_TOKENS, Token};

const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// The most bytes of the answers to one command.
const MOST_BYTES: u64 = 16 << 20;

pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub(super) struct Wire {
    stream: BufReader<Box<dyn Stream>>,
    commands: u64,
    /// What the server may still send.
    left: u64,
}

#[derive(Debug)]
pub(super) enum Failure {
    /// The server says no, and this.
    Refused(String),
    Lost(String),
}

impl Failure {
    pub fn message(self) -> String {
        match self {
            Failure::Refused(reason) => format!("the mail server refuses: {reason}"),
            Failure::Lost(reason) => format!("the connection to the mail server is lost: {reason}"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Lost(error.to_string())
    }
}

impl From<&str> for Failure {
    fn from(reason: &str) -> Failure {
        Failure::Lost(reason.to_owned())
    }
}

impl Wire {
    /// Takes a connection over, and reads the server's greeting.
    pub async fn start(stream: impl Stream + 'static) -> Result<Wire, Failure> {
        let mut wire = Wire { stream: BufReader::new(Box::new(stream)), commands: 0, left: MOST_BYTES };
        let greeting = limited(wire.read_answer()).await?;
        match greeting.tokens.get(1) {
            Some(status) if status.is_atom("OK") => Ok(wire),
            _ => Err(Failure::Refused(shortened(&greeting))),
        }
    }

    /// Sends a command, and returns what the server says before its result.
    pub async fn run(&mut self, command: &str) -> Result<Vec<Answer>, Failure> {
        limited(self.exchange(command)).await
    }

    async fn exchange(&mut self, command: &str) -> Result<Vec<Answer>, Failure> {
        self.commands += 1;
        self.left = MOST_BYTES;
        let tag = format!("A{}", self.commands);
        self.stream.write_all(format!("{tag} {command}\r\n").as_bytes()).await?;
        self.stream.flush().await?;
        let mut answers = Vec::new();
        let mut tokens = 0;
        loop {
            let answer = self.read_answer().await?;
            tokens += answer.tokens.len() + 1;
            if tokens > MOST_TOKENS {
                return Err(Failure::from("the server sends too much"));
            }
            match answer.tokens.first() {
                Some(first) if first.is_atom(&tag) => {
                    return match answer.tokens.get(1) {
                        Some(result) if result.is_atom("OK") => Ok(answers),
                        _ => Err(Failure::Refused(shortened(&answer))),
                    };
                }
                _ => answers.push(answer),
            }
        }
    }

    /// Reads one answer: a line, and if it ends with `{12}`, so many bytes and another line.
    async fn read_answer(&mut self) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = (&mut self.stream).take(self.left).read_until(b'\n', &mut line).await?;
            self.spend(count as u64)?;
            if !line.ends_with(b"\n") {
                return Err(Failure::from("it was closed"));
            }
            let text = line.strip_suffix(b"\r\n").unwrap_or(&line);
            if answer.tokens.is_empty() && add_status(&mut answer, text)? {
                return Ok(answer);
            }
            let Some((before, length)) = literal(text) else {
                answer.add_line(text)?;
                return Ok(answer);
            };
            answer.add_line(before)?;
            self.spend(length)?;
            // Read as it comes: what a server announces is not allocated before.
            let mut content = Vec::new();
            (&mut self.stream).take(length).read_to_end(&mut content).await?;
            if content.len() as u64 != length {
                return Err(Failure::from("it was closed"));
            }
            answer.add(Token::Text(content))?;
        }
    }

    fn spend(&mut self, count: u64) -> Result<(), Failure> {
        match self.left.checked_sub(count) {
            Some(left) if left > 0 => {
                self.left = left;
                Ok(())
            }
            _ => Err(Failure::from("the server sends too much")),
        }
    }
}

/// Adds a line such as `* OK text`; returns whether it was one. The text is for people and is not taken apart.
fn add_status(answer: &mut Answer, line: &[u8]) -> Result<bool, Failure> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let (first, status, text) = (words.next(), words.next().unwrap_or_default(), words.next());
    if !["OK", "NO", "BAD", "BYE", "PREAUTH"]
        .iter()
        .any(|known| status.eq_ignore_ascii_case(known.as_bytes()))
    {
        return Ok(false);
    }
    answer.add_line(first.unwrap_or_default())?;
    answer.add_line(status)?;
    answer.add(Token::Text(text.unwrap_or_default().to_vec()))?;
    Ok(true)
}

/// Splits a line such as `BODY[] {12}` into what is before the literal and the literal's length.
fn literal(line: &[u8]) -> Option<(&[u8], u64)> {
    let inner = line.strip_suffix(b"}")?;
    let start = inner.iter().rposition(|byte| *byte == b'{')?;
    let digits = std::str::from_utf8(&inner[start + 1..]).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten().map(|length| (&inner[..start], length))
}

async fn limited<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let done = tokio::time::timeout(COMMAND_TIMEOUT, work).await;
    done.unwrap_or_else(|_| Err(Failure::from("no answer")))
}

/// Returns what the server says to a person.
fn shortened(answer: &Answer) -> String {
    let texts: Vec<String> = answer.tokens.iter().skip(1).filter_map(Token::text).collect();
    texts.join(" ").chars().filter(|c| !c.is_control()).take(300).collect()
}
