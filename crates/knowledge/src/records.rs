//! What is kept of users, of their documents and of their conversations.

mod conversations;

pub use conversations::{
    Basis, Conversation, ConversationCursor, Message, MessageRole, MessageStatus, conversation_topic,
    stop_topic,
};

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq)]
pub struct User {
    pub id: String,
    pub username: String,
    pub email: String,
    pub name: String,
    pub is_admin: bool,
    pub goals: String,
    pub goals_summary: String,
    pub created_at: i64,
    pub last_login: i64,
    /// The generation of the gateway's record that the password here belongs to; empty if there is none.
    pub record_generation: String,
}

/// What the caller says of a document, such as `author`, `category` and `tags`.
pub type Metadata = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    Processing,
    Indexed,
    Error,
}

impl Status {
    pub const ALL: [Self; 3] = [Self::Processing, Self::Indexed, Self::Error];

    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

#[derive(Clone, Debug)]
pub struct Document {
    pub id: String,
    pub user_id: String,
    pub title: String,
    pub filename: String,
    pub object_key: String,
    pub content_hash: String,
    pub size: i64,
    pub uploaded_at: i64,
    pub metadata: Metadata,
    pub status: Status,
    pub progress: i64,
    pub error: Option<String>,
    /// Whether the service failed, rather than the file being unreadable.
    pub error_is_ours: bool,
    pub chunk_count: i64,
    pub graph_nodes: i64,
    /// The fingerprint of the model that made the vectors.
    pub encoder: String,
    /// The job that indexes it now.
    pub job_id: Option<i64>,
    pub revision: i64,
}

impl Document {
    /// Returns about how many bytes it adds to a response.
    pub fn response_bytes(&self) -> usize {
        let metadata: usize = self.metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
        metadata + self.error.as_ref().map_or(0, String::len) + self.title.len() + 512
    }

    /// Returns whether `metadata.tags`, a list separated by commas, has a tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        let tags = self.metadata.get("tags").map(String::as_str).unwrap_or_default();
        tags.split(',').any(|own| own.trim().eq_ignore_ascii_case(tag))
    }

    pub fn is_of_category(&self, category: &str) -> bool {
        self.metadata.get("category").is_some_and(|own| own.eq_ignore_ascii_case(category))
    }
}

/// By the time of the upload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Order {
    #[default]
    Newest,
    Oldest,
}

impl Order {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The position of a document in the order of uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub uploaded_at: i64,
    pub id: String,
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.uploaded_at, self.id)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (uploaded_at, id) = text.split_once('.').ok_or(())?;
        Ok(Self { uploaded_at: uploaded_at.parse().map_err(|_| ())?, id: id.to_owned() })
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| D::Error::invalid_value(Unexpected::Str(&text), &"the `next` of a page"))
    }
}

/// A passage of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    pub position: i64,
    pub text: String,
    pub headings: Vec<String>,
    pub page: Option<i64>,
    pub start: i64,
    pub vector: Vec<f32>,
    pub mentions: Vec<Mention>,
}

/// A name or concept in a chunk, as evidence for the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mention {
    #[serde(rename = "k")]
    pub key: String,
    #[serde(rename = "l")]
    pub label: String,
    #[serde(rename = "t")]
    pub kind: String,
    #[serde(rename = "n")]
    pub count: u32,
    #[serde(rename = "w")]
    pub weight: f32,
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub defines: bool,
    #[serde(rename = "s")]
    pub sentences: u32,
}

/// Returns the topic that every change to a user's documents wakes.
pub fn documents_topic(user_id: &str) -> String {
    format!("documents:{user_id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let cursor = Cursor { uploaded_at: -5, id: "a.b".to_owned() };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", "5", "x.y", ".id", "99999999999999999999.id"] {
            assert_eq!(bad.parse::<Cursor>(), Err(()), "{bad}");
        }
    }
}
