//! One question and its answer: sends it, retries with backoff while no text has arrived, and reads the answer.

use super::question::{self, Question};
use super::refusal::{Refusal, RefusedFields};
use super::{Reader, Reported, Server, Step, estimate, sse};
use crate::{CallPiece, Cause, ChatError, Piece, Usage};
use base::{Backoff, innermost};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A client waits for the answer: a vendor that asks for a longer pause is given up.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// A server of one's own may read a long question for minutes, and takes one after the other.
const LOCAL_START: u32 = 5;
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), LONGEST_PAUSE);

pub struct Exchange {
    server: Arc<Server>,
    question: Question,
    refused: RefusedFields,
    answer: Option<Answer>,
    tries: u32,
    /// Bytes of text and of calls that were returned.
    written: usize,
}

impl Exchange {
    pub fn new(server: Arc<Server>, question: Question) -> Self {
        let refused = server.refused_by(&question.model);
        Self { server, question, refused, answer: None, tries: 0, written: 0 }
    }

    pub fn error(&self, cause: Cause) -> ChatError {
        self.server.error(&self.question.model, cause)
    }

    // Takes `&mut self` throughout, so that the exchange is `Send` without being `Sync`.
    pub async fn next(&mut self) -> Result<Piece, Cause> {
        loop {
            match self.attempt().await {
                Ok(Some(Step::Text(text))) => {
                    self.written += text.len();
                    return Ok(Piece::Text(text));
                }
                // A model that calls what it was not given has nothing to call.
                Ok(Some(Step::Call(_))) if self.question.tools.is_none() => {}
                Ok(Some(Step::Call(piece))) => return Ok(Piece::Call(self.called(piece))),
                Ok(Some(Step::End(reported))) => return Ok(Piece::End(self.usage(reported))),
                Ok(None) => {}
                Err(cause) => {
                    self.answer = None;
                    self.pause_after(cause).await?;
                }
            }
        }
    }

    /// Returns the next step; none if the answer has only begun.
    async fn attempt(&mut self) -> Result<Option<Step>, Cause> {
        let patience = self.patience();
        if let Some(answer) = &mut self.answer {
            return answer.next(patience).await.map(Some);
        }
        self.tries += 1;
        self.answer = Some(self.ask().await?);
        Ok(None)
    }

    /// Returns how long the server may be silent now.
    fn patience(&self) -> Duration {
        let is_slow = self.written == 0 && self.server.connection.base_url.is_local();
        if is_slow { self.server.timeout * LOCAL_START } else { self.server.timeout }
    }

    /// Counts a piece of a call, and names the call if the vendor did not.
    fn called(&mut self, mut piece: CallPiece) -> CallPiece {
        self.written += piece.arguments.len();
        if let Some(start) = &mut piece.start {
            self.written += start.name.len();
            if question::is_unnamed(&start.id) {
                start.id.insert_str(0, &format!("call_{}", self.server.random.hex::<12>()));
            }
        }
        piece
    }

    /// Sends the question until an answer begins. Leaving out a refused field does not count as a retry.
    async fn ask(&mut self) -> Result<Answer, Cause> {
        if self.question.turns.is_empty() {
            return Err(Cause::Failed("there is no message of the user to answer".to_owned()));
        }
        loop {
            let response = self.send().await?;
            if response.status().is_success() {
                self.server.remember(&self.question.model, &self.refused);
                return Answer::begin(response, self.server.protocol.reader());
            }
            let refusal = Refusal::read(response, self.server.timeout).await;
            if !self.refused.learn(&refusal, self.server.protocol.dispensable()) {
                return Err(refusal.cause());
            }
        }
    }

    async fn send(&mut self) -> Result<Response, Cause> {
        let (Server { protocol, connection, client, .. }, patience) = (&*self.server, self.patience());
        let body = protocol.body(&self.question, &self.refused);
        let body = body.map_err(|error| Cause::Failed(error.to_string()))?;
        let url = protocol.url(&connection.base_url, &self.question.model);
        let request = client.post(url).headers(self.server.headers());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        match timeout(patience, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(Cause::Unreachable(innermost(&error))),
            Err(_) => Err(Cause::Silent(patience)),
        }
    }

    /// Waits before a retry. Returns the cause if a retry is no use, or if it would repeat text.
    async fn pause_after(&mut self, cause: Cause) -> Result<(), Cause> {
        let wanted = match &cause {
            Cause::Refused { status: 429 | 500..=599, retry_after, .. } => *retry_after,
            Cause::Unreachable(_) => None,
            _ => return Err(cause),
        };
        let is_too_long = wanted.is_some_and(|pause| pause > LONGEST_PAUSE);
        if self.written > 0 || self.tries >= self.question.tries || is_too_long {
            return Err(cause);
        }
        let pause = wanted.unwrap_or_else(|| BACKOFF.pause(self.tries.into(), &self.server.random));
        sleep(pause).await;
        Ok(())
    }

    fn usage(&self, reported: Reported) -> Usage {
        Usage {
            input_tokens: reported.input_tokens.unwrap_or(self.question.tokens as u64),
            output_tokens: reported.output_tokens.unwrap_or_else(|| estimate(self.written) as u64),
            cut_off: reported.cut_off,
        }
    }
}

struct Answer {
    response: Response,
    events: sse::Events,
    reader: Box<dyn Reader>,
    /// What was read and not returned yet.
    steps: VecDeque<Step>,
    closed: bool,
}

impl Answer {
    fn begin(response: Response, reader: Box<dyn Reader>) -> Result<Self, Cause> {
        let kind = response.headers().get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes()));
        match kind {
            Some(kind) if kind.starts_with("text/event-stream") => {}
            kind => {
                let kind = kind.unwrap_or_else(|| "nothing named".into());
                return Err(Cause::Broken(format!("expected `text/event-stream`, got `{kind}`")));
            }
        }
        Ok(Self { response, events: sse::Events::default(), reader, steps: VecDeque::new(), closed: false })
    }

    /// Returns the next step; a text is never empty.
    async fn next(&mut self, patience: Duration) -> Result<Step, Cause> {
        loop {
            loop {
                match self.steps.pop_front() {
                    Some(Step::Text(text)) if text.is_empty() => {}
                    Some(step) => return Ok(step),
                    None => match self.events.next() {
                        Some(data) => self.steps.extend(self.reader.read(&data)?),
                        None => break,
                    },
                }
            }
            if self.closed {
                let unfinished = || Cause::Broken("the stream ended before the answer did".to_owned());
                return self.reader.close().map(Step::End).ok_or_else(unfinished);
            }
            let malformed = |error: sse::Malformed| Cause::Broken(error.to_string());
            match timeout(patience, self.response.chunk()).await {
                Ok(Ok(Some(bytes))) => self.events.push(&bytes).map_err(malformed)?,
                Ok(Ok(None)) => {
                    self.closed = true;
                    self.events.close().map_err(malformed)?;
                }
                Ok(Err(error)) => return Err(Cause::Broken(innermost(&error))),
                Err(_) => return Err(Cause::Silent(patience)),
            }
        }
    }
}
