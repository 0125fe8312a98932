//! Conversations, messages and events, as answers show them.

use crate::chat::{Agent, ShownSource};
use crate::conversations::{AnswerEvent, FollowedEvent, Turn};
use crate::records::{Basis, Conversation, Message, MessageRole, MessageStatus};
use kit::sse::Event;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// A conversation.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Conversation)]
pub struct ConversationView {
    #[schema(example = "0199a2f4-5c1e-7d3b-8a90-1f2e3d4c5b6a")]
    id: String,
    /// The beginning of the first question, unless the user gives one; empty before that.
    #[schema(example = "How often must the seal be replaced?")]
    title: String,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    created_at: i64,
    /// When a message was last added, or an answer last ended, in milliseconds since 1970.
    #[schema(example = 1794821460000i64)]
    updated_at: i64,
    /// How many messages it has.
    #[schema(example = 2)]
    messages: i64,
    /// Whether an answer is being written.
    #[schema(example = false)]
    running: bool,
}

impl From<Conversation> for ConversationView {
    fn from(conversation: Conversation) -> Self {
        Self {
            id: conversation.id,
            title: conversation.title,
            created_at: conversation.created_at,
            updated_at: conversation.updated_at,
            messages: conversation.message_count,
            running: conversation.is_running,
        }
    }
}

/// A question or an answer.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ConversationMessage)]
pub struct MessageView {
    #[schema(example = "0199a2f4-6d2f-7e4c-9ba1-2f3e4d5c6b7a")]
    id: String,
    role: MessageRole,
    /// Of an answer that is being written, a part. It cites its sources as [1], [2].
    #[schema(example = "The seal must be replaced every year [1].")]
    content: String,
    status: MessageStatus,
    /// With the status `error`: why the answer could not be written to its end.
    error: Option<String>,
    /// The sources that were put before the model, in the order of their numbers.
    #[schema(value_type = Vec<ShownSource>)]
    sources: Vec<Value>,
    /// What was not read for the answer, a sentence each: documents that are still being read, and what was too long.
    notices: Vec<String>,
    /// Null for a question, and until it is known which model answers.
    #[schema(example = "edge-ai")]
    provider: Option<String>,
    #[schema(example = "SmolLM2-135M-Instruct.Q4_1")]
    model: Option<String>,
    /// Null for a question.
    #[schema(value_type = Option<Agent>)]
    agent_type: Option<String>,
    /// The documents that a question is about; empty for all, and for an answer.
    document_ids: Vec<String>,
    /// The spaces that a question is about; empty for all, and for an answer.
    space_ids: Vec<String>,
    /// Whether a question is for the model alone, without documents.
    without_documents: bool,
    /// In milliseconds since 1970.
    #[schema(example = 1794821400000i64)]
    created_at: i64,
}

impl From<Message> for MessageView {
    fn from(message: Message) -> Self {
        Self {
            id: message.id,
            role: message.role,
            content: message.content,
            status: message.status,
            error: message.error,
            sources: message.sources,
            notices: message.notices,
            provider: message.provider,
            model: message.model,
            agent_type: message.agent_type,
            document_ids: message.document_ids,
            space_ids: message.space_ids,
            without_documents: message.without_documents,
            created_at: message.created_at,
        }
    }
}

/// A question and its answer.
#[derive(Serialize, ToSchema)]
#[schema(as = Turn)]
pub struct TurnView {
    pub user: MessageView,
    pub assistant: MessageView,
}

impl From<Turn> for TurnView {
    fn from(turn: Turn) -> Self {
        Self { user: turn.question.into(), assistant: turn.answer.into() }
    }
}

/// An event of an answer: `event` is its name, and `data` is JSON.
#[derive(Serialize, ToSchema)]
#[serde(tag = "event", content = "data", rename_all = "lowercase")]
pub enum ConversationEvent {
    Message(Box<TurnView>),
    Sources(SourcesFound),
    Token(TextWritten),
    Done(AnswerEnded),
    Error(AnswerFailed),
}

/// What the answer is made from.
#[derive(Serialize, ToSchema)]
pub struct SourcesFound {
    /// The sources that were put before the model, in the order of their numbers.
    #[schema(value_type = Vec<ShownSource>)]
    sources: Vec<Value>,
    /// What was not read for the answer, a sentence each.
    notices: Vec<String>,
    #[schema(example = "edge-ai")]
    provider: String,
    #[schema(example = "SmolLM2-135M-Instruct.Q4_1")]
    model: String,
}

/// A piece of the answer.
#[derive(Serialize, ToSchema)]
pub struct TextWritten {
    #[schema(example = "The seal ")]
    text: String,
}

/// The answer is complete, or was stopped. This is the last event.
#[derive(Serialize, ToSchema)]
pub struct AnswerEnded {
    message: MessageView,
}

/// The answer could not be written to its end. This is the last event.
#[derive(Serialize, ToSchema)]
pub struct AnswerFailed {
    /// Why, for people.
    #[schema(example = "the answer was interrupted")]
    error: String,
    /// The answer, with the text so far.
    message: MessageView,
}

impl From<AnswerEvent> for ConversationEvent {
    fn from(event: AnswerEvent) -> Self {
        match event {
            AnswerEvent::Turn(turn) => Self::Message(Box::new((*turn).into())),
            AnswerEvent::Sources(basis) => {
                let Basis { sources, notices, provider, model } = Arc::unwrap_or_clone(basis);
                Self::Sources(SourcesFound { sources, notices, provider, model })
            }
            AnswerEvent::Text(text) => Self::Token(TextWritten { text }),
            AnswerEvent::Ended(message) if message.status == MessageStatus::Error => {
                let error = message.error.clone().unwrap_or_default();
                Self::Error(AnswerFailed { error, message: (*message).into() })
            }
            AnswerEvent::Ended(message) => Self::Done(AnswerEnded { message: (*message).into() }),
        }
    }
}

/// Returns an event as it is sent.
pub fn sent(followed: FollowedEvent) -> Event {
    let id = followed.id.0;
    match ConversationEvent::from(followed.event) {
        ConversationEvent::Message(turn) => Event::new(id, "message", *turn),
        ConversationEvent::Sources(found) => Event::new(id, "sources", found),
        ConversationEvent::Token(written) => Event::new(id, "token", written),
        ConversationEvent::Done(ended) => Event::new(id, "done", ended),
        ConversationEvent::Error(failed) => Event::new(id, "error", failed),
    }
}
