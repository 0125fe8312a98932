//! Counts the use of a model: tokens, time to the first token, failures and cancelled answers. Each call is asked for at the
//! ledger before, and told to it after.

use crate::vendor::estimate;
use crate::{Call, CallPiece, Caller, Chat, ChatError, ChatModel, Ledger, Piece, Reply, Usage};
use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};
use metrics::{counter, histogram};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// What a server says beyond this is wrong, and would spoil every sum.
const MAX_TOKENS: u64 = 1_000_000_000;

/// A model that counts its use.
#[derive(Clone)]
pub struct Model {
    model: Arc<dyn ChatModel>,
    ledger: Option<Arc<dyn Ledger>>,
}

impl Model {
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self { model, ledger: None }
    }

    pub(crate) fn with_ledger(self, ledger: Option<Arc<dyn Ledger>>) -> Self {
        Self { ledger, ..self }
    }

    /// Fails if the caller's budget is used up.
    async fn admit(&self, caller: &Caller) -> Result<(), ChatError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let (provider, model) = (self.provider().to_owned(), self.model().to_owned());
        let admitted = ledger.admit(caller, self.provider()).await;
        admitted.map_err(|cause| ChatError { provider, model, cause })
    }

    /// Asks the model, and counts. A budget that is used up is an error before there is a reply, so that the status of an
    /// answer can say it. Nothing else happens before the reply is polled.
    pub async fn begin(&self, chat: Chat) -> Result<Reply, ChatError> {
        self.admit(&chat.caller).await?;
        Ok(Metered::start(self.clone(), chat).boxed())
    }

    /// Asks the model, and counts. Nothing happens before the reply is polled.
    pub fn chat(&self, chat: Chat) -> Reply {
        let model = self.clone();
        let starting = async move {
            model.begin(chat).await.unwrap_or_else(|refusal| stream::iter([Err(refusal)]).boxed())
        };
        Box::pin(starting.flatten_stream())
    }
}

/// For the model's name and properties.
impl Deref for Model {
    type Target = dyn ChatModel;

    fn deref(&self) -> &Self::Target {
        &*self.model
    }
}

#[derive(PartialEq)]
enum State {
    Waiting,
    Streaming,
    Ended,
}

struct Metered {
    reply: Reply,
    model: Model,
    caller: Caller,
    since: Instant,
    state: State,
    /// Of the question, estimated, and of the answer so far: for a call that does not report its tokens.
    input_tokens: usize,
    output_bytes: usize,
}

impl Stream for Metered {
    type Item = Result<Piece, ChatError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.reply.poll_next_unpin(context);
        if let Poll::Ready(item) = &polled {
            self.record(item.as_ref());
        }
        polled
    }
}

impl Metered {
    fn start(model: Model, chat: Chat) -> Self {
        Self {
            caller: chat.caller.clone(),
            input_tokens: chat.estimated_tokens(),
            output_bytes: 0,
            reply: model.model.chat(chat),
            model,
            since: Instant::now(),
            state: State::Waiting,
        }
    }

    fn record(&mut self, item: Option<&Result<Piece, ChatError>>) {
        let provider = self.model.provider().to_owned();
        match item {
            Some(Ok(Piece::Text(text) | Piece::Call(CallPiece { arguments: text, .. }))) => {
                self.output_bytes += text.len();
                if self.state == State::Waiting {
                    self.state = State::Streaming;
                    histogram!("chat_first_token_seconds", "provider" => provider)
                        .record(self.since.elapsed());
                }
            }
            Some(Ok(Piece::End(usage))) => {
                counter!("chat_input_tokens_total", "provider" => provider.clone())
                    .increment(usage.input_tokens);
                counter!("chat_output_tokens_total", "provider" => provider).increment(usage.output_tokens);
                self.end(*usage);
            }
            Some(Err(error)) => {
                let cause = error.cause.name();
                counter!("chat_provider_errors_total", "provider" => provider, "cause" => cause).increment(1);
                // What fails before its first word is not charged.
                let is_free = self.state == State::Waiting;
                self.end(if is_free { Usage::default() } else { self.estimated() });
            }
            None if self.state != State::Ended => self.end(self.estimated()),
            None => {}
        }
    }

    /// Estimates what was used so far.
    fn estimated(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens as u64,
            output_tokens: estimate(self.output_bytes) as u64,
            cut_off: false,
        }
    }

    fn end(&mut self, usage: Usage) {
        self.state = State::Ended;
        let Some(ledger) = &self.model.ledger else { return };
        ledger.record(Call {
            caller: self.caller.clone(),
            provider: self.model.provider().to_owned(),
            model: self.model.model().to_owned(),
            input_tokens: usage.input_tokens.min(MAX_TOKENS),
            output_tokens: usage.output_tokens.min(MAX_TOKENS),
            took: self.since.elapsed(),
        });
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        if self.state != State::Ended {
            counter!("chat_cancelled_total", "provider" => self.model.provider().to_owned()).increment(1);
            self.end(self.estimated());
        }
    }
}
