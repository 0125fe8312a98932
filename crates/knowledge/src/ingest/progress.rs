//! Writes the progress of a document, not more often than a person can follow.

use crate::records::{Document, Stage, documents_topic};
use crate::tables;
use std::time::{Duration, Instant};
use store::{Db, StoreError};

/// The time between two changes. A document that is done sooner shows none.
pub const PAUSE: Duration = Duration::from_millis(200);

pub struct Progress<'a> {
    db: &'a Db,
    document: &'a Document,
    job: i64,
    last: Instant,
    shown: i64,
}

impl<'a> Progress<'a> {
    pub fn new(db: &'a Db, document: &'a Document, job: i64) -> Self {
        Self { db, document, job, last: Instant::now(), shown: 0 }
    }

    /// Notes that `part` of the stage is done, from 0 to 1.
    pub async fn at(&mut self, stage: Stage, part: f64) -> Result<(), StoreError> {
        let percent = stage.percent(part);
        if percent <= self.shown || self.last.elapsed() < PAUSE {
            return Ok(());
        }
        (self.shown, self.last) = (percent, Instant::now());
        let Document { id, user_id, .. } = self.document;
        let mut tx = self.db.begin().await?;
        let Some(revision) = tables::users::next_revision(&mut tx, user_id).await? else { return Ok(()) };
        tables::documents::set_progress(&mut tx, id, self.job, percent, revision).await?;
        tx.wake(&documents_topic(user_id));
        tx.commit().await
    }
}
