//! Sources: places that documents come from by themselves.

use connectors::Settings;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

/// A place whose documents are kept up to date.
#[derive(Clone, Debug)]
pub struct Source {
    pub id: String,
    /// The user or space whose documents its items become.
    pub owner_id: String,
    pub created_by: String,
    pub created_at: i64,
    pub name: String,
    pub settings: Settings,
    /// Encrypted; empty if there is none.
    pub secret: String,
    /// Seconds between the end of a run and the next; 0 if it runs only when asked to.
    pub every: i64,
    pub is_paused: bool,
    /// The job of the run that is waiting or at work.
    pub job_id: Option<i64>,
    pub next_run_at: Option<i64>,
    /// Of the copy of a repository, when the last run began.
    pub copy_bytes: i64,
    pub last_run: Run,
}

/// The last run of a source that has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// 0 if there was none yet.
    pub number: i64,
    /// The job that does it.
    pub job: Option<i64>,
    pub started_at: Option<i64>,
    /// None while it is at work.
    pub ended_at: Option<i64>,
    /// Why it could not be done.
    pub error: Option<String>,
    /// Runs that have failed one after the other, this one included.
    pub failures: i64,
    pub counts: RunCounts,
}

/// What became of the items of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct RunCounts {
    #[schema(example = 2)]
    pub added: i64,
    #[schema(example = 1)]
    pub changed: i64,
    #[schema(example = 120)]
    pub unchanged: i64,
    /// There was nothing in them to index.
    #[schema(example = 3)]
    pub skipped: i64,
    /// They could not be read.
    #[schema(example = 0)]
    pub failed: i64,
    /// They were gone, and so are their documents.
    #[schema(example = 0)]
    pub removed: i64,
}

/// What became of an item.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ItemStatus {
    /// It is a document.
    Stored,
    /// There is nothing in it to index.
    Skipped,
    /// It could not be read. A document that it was before stays.
    Error,
}

/// An item of a source, as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceItem {
    pub path: String,
    pub version: String,
    pub state: String,
    pub content_hash: String,
    /// Empty if there is none.
    pub document_id: String,
    pub status: ItemStatus,
    /// Why it was skipped or could not be read; empty if it is a document of its own.
    pub message: String,
    /// The last run that has seen it.
    pub run: i64,
}

impl SourceItem {
    pub fn new(path: &str, run: i64) -> Self {
        Self {
            path: path.to_owned(),
            version: String::new(),
            state: String::new(),
            content_hash: String::new(),
            document_id: String::new(),
            status: ItemStatus::Stored,
            message: String::new(),
            run,
        }
    }
}
