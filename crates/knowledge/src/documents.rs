//! Documents and their chunks, as the rest of the service speaks of them; deleting them, and what a listing shows.

use crate::tables::{documents, users};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use store::jobs::{self, NewJob};
use store::{Db, StoreError, Tx};

pub type Metadata = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Processing,
    Indexed,
    Error,
}

impl Status {
    pub const ALL: [Self; 3] = [Self::Processing, Self::Indexed, Self::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Indexed => "indexed",
            Self::Error => "error",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
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

/// Removes an object that no document has. Run after the transaction that makes it so.
pub const DISCARD: &str = "discard";

pub fn discard(user_id: &str, object_key: &str) -> NewJob {
    NewJob {
        max_attempts: i64::MAX,
        ..NewJob::new(DISCARD, json!({ "userId": user_id, "objectKey": object_key }))
    }
}

/// Removes a document in one of these states, with all that came of it. Its file goes by a job of the same
/// transaction. False where there is no such document.
pub async fn delete(tx: &mut Tx, user_id: &str, id: &str, statuses: &[Status]) -> Result<bool, StoreError> {
    // The user first, as every writer of documents does.
    users::next_removal(tx, user_id).await?;
    let Some((object_key, job)) = documents::delete(tx, id, statuses).await? else { return Ok(false) };
    if let Some(job) = job {
        jobs::cancel(tx, job).await?;
    }
    jobs::enqueue(tx, discard(user_id, &object_key)).await?;
    tx.wake(&topic(user_id));
    Ok(true)
}

/// Removes those in state `error`, and returns how many.
pub async fn purge_errors(db: &Db, user_id: &str) -> Result<usize, StoreError> {
    let all = documents::of_user(db, user_id).await?;
    let mut purged = 0;
    for document in all.iter().filter(|document| document.status == Status::Error) {
        let mut tx = db.begin().await?;
        purged += usize::from(delete(&mut tx, user_id, &document.id, &[Status::Error]).await?);
        tx.commit().await?;
    }
    Ok(purged)
}
