//! What a running process removes from the database every hour.

use std::time::Duration;
use store::Db;

const INTERVAL: Duration = Duration::from_secs(60 * 60);
const KEEP_ENDED_JOBS: Duration = Duration::from_secs(24 * 60 * 60);
const KEEP_FIGURES: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes jobs that ended long ago, rate windows that have passed, old figures and expired grants, for as long as the process runs.
pub async fn run(db: Db) {
    let mut every = tokio::time::interval(INTERVAL);
    loop {
        every.tick().await;
        let jobs = store::jobs::prune(&db, KEEP_ENDED_JOBS).await;
        let windows = store::rate::prune(&db).await;
        let figures = store::figures::prune(&db, KEEP_FIGURES).await;
        let grants = store::grants::prune(&db).await;
        if let Some(error) = jobs.err().or(windows.err()).or(figures.err()).or(grants.err()) {
            tracing::warn!(%error, "cannot remove old jobs, rate windows, figures and grants");
        }
    }
}
