//! What is kept of users and spaces, of their documents and of conversations.

mod conversations;
mod links;
mod sessions;
mod sources;
mod spaces;

pub use conversations::{
    Basis, Conversation, ConversationCursor, Message, MessageRole, MessageStatus, conversation_topic,
    stop_topic,
};
pub use links::AccountLink;
pub use sessions::Session;
pub use sources::{ItemStatus, Run, RunCounts, Source, SourceItem};
pub use spaces::{Member, Role, Scope, Space};

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
    /// Whether the user cannot sign in.
    pub disabled: bool,
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

/// What is being done with a document, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It waits for its turn.
    Queued,
    /// Its file is read and split into passages.
    Reading,
    /// Its passages get their vectors.
    Embedding,
    /// The names in its passages are found.
    Graph,
    /// All of it is stored.
    Finishing,
}

impl Stage {
    /// Returns the first and the last percent of the progress that the stage fills.
    fn percents(self) -> (i64, i64) {
        match self {
            Self::Queued => (0, 0),
            Self::Reading => (1, 29),
            Self::Embedding => (30, 59),
            Self::Graph => (60, 89),
            Self::Finishing => (90, 99),
        }
    }

    /// Returns the progress if `part` of the stage is done, from 0 to 1.
    pub fn percent(self, part: f64) -> i64 {
        let (first, last) = self.percents();
        first + ((last - first) as f64 * part.clamp(0.0, 1.0)) as i64
    }

    /// Returns the stage of a document with this progress.
    pub fn of(progress: i64) -> Self {
        let stages = [Self::Finishing, Self::Graph, Self::Embedding, Self::Reading];
        stages.into_iter().find(|stage| progress >= stage.percents().0).unwrap_or(Self::Queued)
    }
}

#[derive(Clone, Debug)]
pub struct Document {
    pub id: String,
    /// The owner: a user or a space.
    pub user_id: String,
    /// The user who added it to a space; empty if the owner is a user.
    pub added_by: String,
    pub title: String,
    pub filename: String,
    /// The value of `Content-Type`; empty if the document is older than that column.
    pub media_type: String,
    /// The number of its file, from 1; a file that takes its place has a higher one.
    pub version: i64,
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
    /// The source that keeps it up to date; empty if it was uploaded.
    pub source_id: String,
    /// The archive that its file was in; empty for others.
    pub archive_id: String,
    /// When it is removed, in milliseconds since 1970; none if never.
    pub expires_at: Option<i64>,
}

/// A file of a document: a former one, or the one that takes the place of the current one when it is indexed.
#[derive(Clone, Debug, PartialEq)]
pub struct FileVersion {
    pub version: i64,
    pub object_key: String,
    pub content_hash: String,
    pub size: i64,
    pub filename: String,
    pub media_type: String,
    pub uploaded_at: i64,
    pub metadata: Metadata,
    pub added_by: String,
}

impl Document {
    /// Returns its current file.
    pub fn file_version(&self) -> FileVersion {
        FileVersion {
            version: self.version,
            object_key: self.object_key.clone(),
            content_hash: self.content_hash.clone(),
            size: self.size,
            filename: self.filename.clone(),
            media_type: self.media_type.clone(),
            uploaded_at: self.uploaded_at,
            metadata: self.metadata.clone(),
            added_by: self.added_by.clone(),
        }
    }

    /// Returns the document as it is with another file.
    pub fn with_file(self, file: FileVersion) -> Self {
        let FileVersion {
            version,
            object_key,
            content_hash,
            size,
            filename,
            media_type,
            uploaded_at,
            metadata,
            added_by,
        } = file;
        Self {
            version,
            object_key,
            content_hash,
            size,
            filename,
            media_type,
            uploaded_at,
            metadata,
            added_by,
            ..self
        }
    }

    /// Returns the folder that it is in: `metadata.folder`, empty if it has none.
    pub fn folder(&self) -> &str {
        self.metadata.get("folder").map(String::as_str).unwrap_or_default()
    }

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

    /// Returns what is being done with it, none if it is not being processed.
    pub fn stage(&self) -> Option<Stage> {
        (self.status == Status::Processing).then(|| Stage::of(self.progress))
    }

    pub fn is_of_category(&self, category: &str) -> bool {
        self.metadata.get("category").is_some_and(|own| own.eq_ignore_ascii_case(category))
    }
}

/// The order of a list of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Order {
    #[default]
    Newest,
    Oldest,
    /// By the title, from A to Z.
    Title,
    /// By the size of the file, the largest first.
    Size,
}

impl Order {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The position of a document in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub key: SortKey,
    pub id: String,
}

/// What a list is sorted by; documents with the same key are sorted by their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKey {
    UploadedAt(i64),
    Title(String),
    Size(i64),
}

impl Cursor {
    pub fn of(document: &Document, order: Order) -> Self {
        let key = match order {
            Order::Newest | Order::Oldest => SortKey::UploadedAt(document.uploaded_at),
            Order::Title => SortKey::Title(document.title.clone()),
            Order::Size => SortKey::Size(document.size),
        };
        Self { key, id: document.id.clone() }
    }

    /// Returns whether this is a position in a list of this order.
    pub fn fits(&self, order: Order) -> bool {
        match self.key {
            SortKey::UploadedAt(_) => matches!(order, Order::Newest | Order::Oldest),
            SortKey::Title(_) => order == Order::Title,
            SortKey::Size(_) => order == Order::Size,
        }
    }
}

const TITLE: &str = "title.";
const SIZE: &str = "size.";

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        match &self.key {
            SortKey::UploadedAt(at) => write!(out, "{at}.{id}"),
            SortKey::Title(title) => write!(out, "{TITLE}{id}.{title}"),
            SortKey::Size(size) => write!(out, "{SIZE}{size}.{id}"),
        }
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        // PostgreSQL would refuse the statement.
        if text.contains('\0') {
            return Err(());
        }
        if let Some(rest) = text.strip_prefix(TITLE) {
            let (id, title) = rest.split_once('.').ok_or(())?;
            return Ok(Self { key: SortKey::Title(title.to_owned()), id: id.to_owned() });
        }
        let size = text.strip_prefix(SIZE);
        let (number, id) = size.unwrap_or(text).split_once('.').ok_or(())?;
        let number = number.parse().map_err(|_| ())?;
        let key = if size.is_some() { SortKey::Size(number) } else { SortKey::UploadedAt(number) };
        Ok(Self { key, id: id.to_owned() })
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
    fn the_progress_tells_the_stage() {
        for stage in [Stage::Reading, Stage::Embedding, Stage::Graph, Stage::Finishing] {
            for part in [0.0, 0.5, 1.0] {
                assert_eq!(Stage::of(stage.percent(part)), stage, "{part}");
            }
        }
        assert_eq!(
            (Stage::of(0), Stage::of(29), Stage::of(99)),
            (Stage::Queued, Stage::Reading, Stage::Finishing)
        );
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let keys = [SortKey::UploadedAt(-5), SortKey::Size(7), SortKey::Title("a. b%".to_owned())];
        for key in keys {
            let cursor = Cursor { key, id: "a-b".to_owned() };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for bad in
            ["", "5", "x.y", ".id", "99999999999999999999.id", "size.id", "size.x.id", "title.id", "5.\0"]
        {
            assert_eq!(bad.parse::<Cursor>(), Err(()), "{bad}");
        }
    }

    #[test]
    fn a_cursor_fits_the_order_that_it_is_of() {
        let cursor: Cursor = "5.id".parse().unwrap();
        assert!(cursor.fits(Order::Newest) && cursor.fits(Order::Oldest) && !cursor.fits(Order::Title));
        let cursor: Cursor = "size.5.id".parse().unwrap();
        assert!(cursor.fits(Order::Size) && !cursor.fits(Order::Newest));
    }
}
