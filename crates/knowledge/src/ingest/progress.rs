//! Writes the progress of a document, not more often than a person can follow.

use crate::records::{Document, documents_topic};
use crate::tables;
use std::time::{Duration, Instant};
use store::{Db, StoreError};

const PAUSE: Duration = Duration::from_millis(200);

/// The stages of the pipeline, with the part of the progress that each fills.
#[derive(Clone, Copy)]
pub enum Stage {
    Chunking,
    Embedding,
    Graph,
    Finalizing,
}

impl Stage {
    fn percent(self, part: f64) -> i64 {
        let (first, last) = match self {
            Self::Chunking => (0.0, 29.0),
            Self::Embedding => (30.0, 59.0),
            Self::Graph => (60.0, 89.0),
            Self::Finalizing => (90.0, 99.0),
        };
        (first + (last - first) * part.clamp(0.0, 1.0)) as i64
    }
}

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
