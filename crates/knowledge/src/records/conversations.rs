//! What is kept of conversations and of their messages.

use super::spaces::Scope;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

#[derive(Clone, Debug)]
pub struct Conversation {
    pub id: String,
    /// Empty until the first question, unless the user gives one.
    pub title: String,
    /// Whether the title was given, and is not the first question.
    pub is_named: bool,
    pub created_at: i64,
    /// When a message was last added, or an answer last ended.
    pub updated_at: i64,
    pub message_count: i64,
    pub last_number: i64,
    /// Whether an answer is being written.
    pub is_running: bool,
    /// Who owns the files that were put into it; empty until there is one.
    pub files_owner: String,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub id: String,
    pub conversation_id: String,
    /// Rises through the conversation, and is not used again after messages were dropped.
    pub number: i64,
    pub role: MessageRole,
    pub content: String,
    pub status: MessageStatus,
    /// Why the answer could not be written to its end.
    pub error: Option<String>,
    /// What the answer cites, as answers of the chat show it.
    pub sources: Vec<Value>,
    /// What was not read for the answer, a sentence each.
    pub notices: Vec<String>,
    /// The provider and the model that answer; none until they are known.
    pub provider: Option<String>,
    pub model: Option<String>,
    pub agent_type: Option<String>,
    /// The documents that a question is about; empty for all, and for an answer.
    pub document_ids: Vec<String>,
    /// The spaces that a question is about; empty for all.
    pub space_ids: Vec<String>,
    /// Whether a question is for the model alone.
    pub without_documents: bool,
    pub created_at: i64,
}

/// What is shown instead of a passage of a space that the user has left.
#[derive(Serialize)]
struct Withheld {
    id: &'static str,
    text: &'static str,
    metadata: WithheldMetadata,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WithheldMetadata {
    document_title: &'static str,
}

impl Message {
    /// Takes out the passages of spaces that are not in the scope. The others keep their numbers.
    pub fn within(mut self, scope: &Scope) -> Self {
        let is_outside = |source: &Value| {
            source["metadata"]["spaceId"].as_str().is_some_and(|space_id| !scope.contains(space_id))
        };
        for source in self.sources.iter_mut().filter(|source| is_outside(source)) {
            let metadata = WithheldMetadata { document_title: "no longer shared with you" };
            let withheld = Withheld { id: "", text: "", metadata };
            *source = serde_json::to_value(withheld).unwrap_or_default();
        }
        self
    }
}

/// Who has written a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MessageRole {
    User,
    Assistant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MessageStatus {
    Complete,
    /// The answer is being written.
    Running,
    /// The user has stopped the answer.
    Stopped,
    /// The answer could not be written to its end.
    Error,
}

impl Message {
    /// Returns about how many bytes it adds to a response.
    pub fn response_bytes(&self) -> usize {
        let sources: usize = self.sources.iter().map(|source| source.to_string().len()).sum();
        self.content.len() + sources + 512
    }
}

/// What an answer is made from.
#[derive(Clone, Debug)]
pub struct Basis {
    pub sources: Vec<Value>,
    pub notices: Vec<String>,
    pub provider: String,
    pub model: String,
}

/// The position of a conversation in a list, the last changed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationCursor {
    pub updated_at: i64,
    pub id: String,
}

impl fmt::Display for ConversationCursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.updated_at, self.id)
    }
}

impl FromStr for ConversationCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (updated_at, id) = text.split_once('.').ok_or(())?;
        Ok(Self { updated_at: updated_at.parse().map_err(|_| ())?, id: id.to_owned() })
    }
}

impl<'de> Deserialize<'de> for ConversationCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| D::Error::invalid_value(Unexpected::Str(&text), &"the `next` of a page"))
    }
}

/// Returns the topic that is woken whenever an answer of the conversation has grown or ended.
pub fn conversation_topic(id: &str) -> String {
    format!("conversation:{id}")
}

/// Returns the topic that is woken if the answer that is being written has to end.
pub fn stop_topic(id: &str) -> String {
    format!("conversation/stop:{id}")
}
