//! The job that executes a run: `runs` adds it to the queue, `executor` works on it.

use serde::{Deserialize, Serialize};
use store::jobs::{self, Job, NewJob};
use store::{StoreError, Tx};

/// The kind of job.
pub const KIND: &str = "supervisor.run";
/// Every process that dies costs an attempt, and a run has to survive any number of them.
const MAX_ATTEMPTS: i64 = 1_000_000;

/// What the job says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunJob {
    pub project_id: String,
    pub run_id: String,
}

impl RunJob {
    pub fn of(job: &Job) -> Result<Self, StoreError> {
        Self::deserialize(&job.payload).map_err(corrupt)
    }
}

/// Adds the job to the queue with the rest of `tx`, and returns its id.
pub async fn enqueue(tx: &mut Tx, job: &RunJob) -> Result<i64, StoreError> {
    let payload = serde_json::to_value(job).map_err(corrupt)?;
    jobs::enqueue(tx, NewJob { max_attempts: MAX_ATTEMPTS, ..NewJob::new(KIND, payload) }).await
}

fn corrupt(error: serde_json::Error) -> StoreError {
    StoreError::Corrupt { what: "the job of a run".to_owned(), reason: error.to_string() }
}
