//! Documents and their chunks, as the rest of the service speaks of them, and what a listing shows.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use strum::{EnumString, IntoStaticStr};

pub type Metadata = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString)]
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

    /// As [`Status::parse`], with what would be accepted.
    pub fn named(text: &str) -> Result<Self, String> {
        let all = Self::ALL.map(Self::as_str).join(", ");
        Self::parse(text).ok_or_else(|| format!("unknown `status` `{text}`: one of {all}"))
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
    /// Whether the fault was not the file's.
    pub error_is_ours: bool,
    pub chunk_count: i64,
    pub graph_nodes: i64,
    pub encoder: String,
    pub job_id: Option<i64>,
    pub revision: i64,
}

impl Document {
    pub fn to_json(&self) -> Value {
        let mut metadata: Map<String, Value> =
            self.metadata.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        if let Some(error) = &self.error {
            metadata.insert("error".to_owned(), error.clone().into());
        }
        json!({
            "id": self.id,
            "userId": self.user_id,
            "title": self.title,
            "filename": self.filename,
            "size": self.size,
            "objectKey": self.object_key,
            "uploadedAt": self.uploaded_at,
            "status": self.status.as_str(),
            "progress": self.progress,
            "chunkCount": self.chunk_count,
            "graphNodes": self.graph_nodes,
            "metadata": metadata,
        })
    }

    /// About what an answer that shows it grows by.
    pub fn shown_bytes(&self) -> usize {
        let metadata: usize = self.metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
        metadata + self.error.as_ref().map_or(0, String::len) + self.title.len() + 512
    }

    /// Comma-separated in `metadata.tags`.
    pub fn has_tag(&self, tag: &str) -> bool {
        let tags = self.metadata.get("tags").map(String::as_str).unwrap_or_default();
        tags.split(',').any(|own| own.trim().eq_ignore_ascii_case(tag))
    }

    pub fn is_of_category(&self, category: &str) -> bool {
        self.metadata.get("category").is_some_and(|own| own.eq_ignore_ascii_case(category))
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

/// Woken by every change to a user's documents.
pub fn topic(user_id: &str) -> String {
    format!("documents:{user_id}")
}
