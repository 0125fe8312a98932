//! Writes the progress of a document, not more often than a person can follow.

use super::error::IndexingError;
use crate::records::{Document, Stage, documents_topic};
use crate::tables;
use std::time::{Duration, Instant};
use store::{Db, StoreError};
use tokio::sync::watch;

/// The time between two changes. A document that is done sooner shows none.
const PAUSE: Duration = Duration::from_millis(200);

pub struct Progress<'a> {
    db: &'a Db,
    document_id: &'a str,
    owner_id: &'a str,
    job: i64,
    last: Instant,
    shown: i64,
}

impl<'a> Progress<'a> {
    pub fn new(db: &'a Db, document: &'a Document, job: i64) -> Self {
        let (document_id, owner_id) = (&document.id, &document.user_id);
        Self { db, document_id, owner_id, job, last: Instant::now(), shown: 0 }
    }

    /// Notes that `part` of the stage is done, from 0 to 1.
    pub async fn at(&mut self, stage: Stage, part: f64) -> Result<(), StoreError> {
        let percent = stage.percent(part);
        if percent <= self.shown || self.last.elapsed() < PAUSE {
            return Ok(());
        }
        (self.shown, self.last) = (percent, Instant::now());
        let mut tx = self.db.begin().await?;
        let revision = tables::users::next_revision(&mut tx, self.owner_id).await?;
        let Some(revision) = revision else { return Ok(()) };
        tables::documents::set_progress(&mut tx, self.document_id, self.job, percent, revision).await?;
        tx.wake(&documents_topic(self.owner_id));
        tx.commit().await
    }

    /// Does `work`, and shows at times how much of it is done. Both go on at the same time: either may be the next that
    /// writes, and would keep all others from it if it were left waiting while the other has its turn.
    pub async fn show_while<T>(
        &mut self,
        work: impl Future<Output = Result<T, IndexingError>>,
        stage: Stage,
        done: watch::Receiver<f64>,
    ) -> Result<T, IndexingError> {
        tokio::select! {
            ended = work => ended,
            error = self.show(stage, done) => Err(error.into()),
        }
    }

    /// Shows how much is done until that fails.
    async fn show(&mut self, stage: Stage, done: watch::Receiver<f64>) -> StoreError {
        loop {
            tokio::time::sleep(PAUSE).await;
            let part = *done.borrow();
            if let Err(error) = self.at(stage, part).await {
                return error;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Clock, Random};

    #[tokio::test]
    async fn work_that_waits_to_write_goes_on_while_its_progress_waits_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("stoa.db").display());
        let db = Db::open(&url, Clock::system(), Random::system()).await.unwrap();
        db.migrate(tables::SCOPE, tables::MIGRATIONS).await.unwrap();
        let held = db.begin().await.unwrap();
        let release = async {
            // By then the work has asked for its turn to write, and the progress has after it.
            tokio::time::sleep(PAUSE * 3).await;
            drop(held);
        };
        let work = async { Ok(db.begin().await?.commit().await?) };
        let last = Instant::now();
        let mut progress =
            Progress { db: &db, document_id: "document", owner_id: "owner", job: 1, last, shown: 0 };
        let half = watch::Sender::new(0.5);
        let working = progress.show_while(work, Stage::Reading, half.subscribe());
        let (ended, ()) = tokio::join!(working, release);
        assert!(ended.is_ok(), "{ended:?}");
    }
}
