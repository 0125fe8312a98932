//! The deep check of the service: every run has its job, every job its run, and every artifact all its versions.

use crate::run_job::RunJob;
use crate::tables::{deep_check, runs};
use store::{Db, Finding, StoreError, Tally, jobs};

/// Checks all rows of the service. Changes that are made meanwhile are no faults.
pub async fn check(db: &Db) -> Result<Vec<Finding>, StoreError> {
    Ok(vec![run_jobs(db).await?, artifacts(db).await?])
}

async fn run_jobs(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    tally.examine(deep_check::count_running(db).await?);
    for id in deep_check::runs_without_job(db).await? {
        tally.fault(format!("run `{id}` is running without a job"));
    }
    for id in deep_check::open_jobs(db).await? {
        let Some(job) = jobs::get(db, id).await? else { continue };
        let run = RunJob::of(&job)?.run_id;
        let is_open = async || Ok::<_, StoreError>(deep_check::open_jobs(db).await?.contains(&id));
        if runs::get(db, &run).await?.is_none() && is_open().await? {
            tally.fault(format!("job {id} executes run `{run}`, which does not exist"));
        }
    }
    Ok(tally.finding("jobs of runs"))
}

async fn artifacts(db: &Db) -> Result<Finding, StoreError> {
    let mut tally = Tally::default();
    tally.examine(deep_check::count_artifacts(db).await?);
    for project in deep_check::projects_with_gaps(db).await? {
        tally.fault(format!("an artifact of project `{project}` lacks a version"));
    }
    Ok(tally.finding("artifacts"))
}
