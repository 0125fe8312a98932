//! What the engine is asked for, and the events of an answer.

use super::error::EngineError;
use crate::chat_template::Message;
use crate::decoder::Sampling;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A user waits for it.
    Interactive,
    /// Runs when no interactive work is left.
    Bulk,
}

/// A conversation to be answered.
pub struct Request {
    /// Rendered with the model's own chat template.
    pub messages: Vec<Message>,
    /// Most tokens of the answer.
    pub max_tokens: usize,
    pub sampling: Sampling,
    /// The answer ends before the first of these strings.
    pub stop: Vec<String>,
    pub priority: Priority,
    /// Whose it is: users take turns.
    pub user: Arc<str>,
}

#[derive(Debug)]
pub enum Event {
    /// The next part of the answer, in whole characters.
    Text(String),
    /// The last event of an answer.
    Finished(Finished),
    /// The last event of an answer that failed.
    Failed(EngineError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    pub reason: FinishReason,
    pub prompt_tokens: usize,
    /// Tokens of the prompt whose keys and values were copied from an earlier sequence.
    pub reused_tokens: usize,
    pub answer_tokens: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its answer, or a stop string did.
    Stop,
    /// `max_tokens`, or the model's context, is used up.
    Length,
}

/// An answer to come. Dropping it cancels the answer.
pub struct Generation(pub(super) UnboundedReceiver<Event>);

impl Generation {
    /// Returns the next event, or none after the last.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }
}

/// A request in the queue, with the channel for its events.
pub(super) struct QueuedRequest {
    pub request: Request,
    pub events: UnboundedSender<Event>,
}
