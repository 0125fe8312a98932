//! The jobs of the service: their kinds, and what each carries from the transaction that enqueues it to the worker.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::jobs::{Job, JobError, NewJob};

/// Indexes a document.
pub const INGEST: &str = "ingest";
/// Asks a model how the things in a document are connected.
pub const RELATE: &str = "relate";
/// Removes an object that no document has. Enqueued in the transaction that leaves it without one.
pub const DISCARD: &str = "discard";
/// Deletes what a removed user owns, and then the user.
pub const PURGE: &str = "purge";
/// Writes the snapshot of a user's index.
pub const SNAPSHOT: &str = "snapshot";

/// Runs a source.
pub const SOURCE: &str = "source";
/// Removes the documents of a source that is gone, or the files of an archive that is gone from a source.
pub const SOURCE_REMOVAL: &str = "source-removal";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourcePayload {
    pub source_id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceRemovalPayload {
    pub source_id: String,
    pub owner_id: String,
    /// Only the files of this archive; empty for all.
    #[serde(default)]
    pub archive_id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestPayload {
    pub document_id: String,
    pub user_id: String,
    /// The document that this is a copy of, whose vectors it can use; empty if it is none.
    #[serde(default)]
    pub copied_from: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelatePayload {
    pub document_id: String,
    /// At which the document was indexed: after another indexing, its passages are others.
    pub revision: i64,
    /// The position of the first passage that was not asked about.
    pub from: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscardPayload {
    pub user_id: String,
    pub object_key: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotPayload {
    pub user_id: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgePayload {
    pub user_id: String,
}

pub fn new_job(kind: &str, payload: impl Serialize) -> NewJob {
    NewJob::new(kind, serde_json::to_value(payload).unwrap_or_default())
}

/// Makes a job that is retried until it succeeds.
pub fn retried_job(kind: &str, payload: impl Serialize) -> NewJob {
    NewJob::retried_forever(kind, serde_json::to_value(payload).unwrap_or_default())
}

/// Makes the job that removes an object which no row names.
pub fn discard(user_id: &str, object_key: &str) -> NewJob {
    let payload = DiscardPayload { user_id: user_id.to_owned(), object_key: object_key.to_owned() };
    retried_job(DISCARD, payload)
}

/// Reads what a job carries. A job that cannot be read never can.
pub fn payload<T: DeserializeOwned>(job: &Job) -> Result<T, JobError> {
    T::deserialize(&job.payload).map_err(|error| JobError::never(format!("the job's payload: {error}")))
}
