//! Counts the use of a model: tokens, time to the first token, failures and cancelled answers.

use crate::{Chat, ChatError, ChatModel, Piece, Reply};
use futures_util::stream::{Stream, StreamExt};
use metrics::{counter, histogram};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// A model that counts its use.
#[derive(Clone)]
pub struct Model(Arc<dyn ChatModel>);

impl Model {
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self(model)
    }

    /// Asks the model, and counts.
    pub fn chat(&self, chat: Chat) -> Reply {
        Box::pin(Metered {
            reply: self.0.chat(chat),
            provider: self.0.provider().to_owned(),
            since: Instant::now(),
            state: State::Waiting,
        })
    }
}

/// For the model's name and properties.
impl Deref for Model {
    type Target = dyn ChatModel;

    fn deref(&self) -> &Self::Target {
        &*self.0
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
    provider: String,
    since: Instant,
    state: State,
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
    fn record(&mut self, item: Option<&Result<Piece, ChatError>>) {
        let provider = || self.provider.clone();
        match item {
            Some(Ok(Piece::Text(_))) if self.state == State::Waiting => {
                self.state = State::Streaming;
                histogram!("chat_first_token_seconds", "provider" => provider()).record(self.since.elapsed());
            }
            Some(Ok(Piece::Text(_))) => {}
            Some(Ok(Piece::End(usage))) => {
                self.state = State::Ended;
                counter!("chat_input_tokens_total", "provider" => provider()).increment(usage.input_tokens);
                counter!("chat_output_tokens_total", "provider" => provider()).increment(usage.output_tokens);
            }
            Some(Err(error)) => {
                self.state = State::Ended;
                let cause = error.cause.name();
                counter!("chat_provider_errors_total", "provider" => provider(), "cause" => cause)
                    .increment(1);
            }
            None => self.state = State::Ended,
        }
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        if self.state != State::Ended {
            counter!("chat_cancelled_total", "provider" => self.provider.clone()).increment(1);
        }
    }
}
