//! The deep check of the service: every lead that waits has the job that sends it.

use crate::tables::deep_check;
use store::{Db, Finding, StoreError, Tally};

/// Checks all rows of the service. Changes that are made meanwhile are no faults.
pub async fn check(db: &Db) -> Result<Vec<Finding>, StoreError> {
    let mut tally = Tally::default();
    tally.examine(deep_check::count_queued(db).await?);
    for id in deep_check::without_job(db).await? {
        tally.fault(format!("lead `{id}` waits, and no job will send it"));
    }
    Ok(vec![tally.finding("waiting leads")])
}
