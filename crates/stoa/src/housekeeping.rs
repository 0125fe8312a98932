//! What a running process removes from the database by itself.

use std::time::Duration;
use store::Db;

const HOUSEKEEPING: Duration = Duration::from_secs(60 * 60);
const KEEP_ENDED_JOBS: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes what is over, every hour: jobs that ended long ago, and rate windows that have passed.
pub async fn keep_house(db: Db) {
    let mut every = tokio::time::interval(HOUSEKEEPING);
    loop {
        every.tick().await;
        let jobs = store::jobs::prune(&db, KEEP_ENDED_JOBS).await;
        let windows = store::rate::prune(&db).await;
        if let Some(error) = jobs.err().or(windows.err()) {
            tracing::warn!(%error, "cannot remove what is over");
        }
    }
}
