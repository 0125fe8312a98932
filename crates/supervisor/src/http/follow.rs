//! A run as its clients follow it: the stored events in their order, and between them what the agents write.
//!
//! A reader has at most a page of events in memory, without the artifacts. So a slow reader costs no more memory than a fast
//! one, and does not hold up the run.

use crate::events::AgentText;
use crate::live_text::{LiveTexts, ReadSoFar, TextPiece};
use crate::records::{Project, Run};
use crate::tables;
use futures_util::Stream;
use futures_util::stream::try_unfold;
use std::collections::VecDeque;
use std::time::Duration;
use store::{Db, StoreError, Wakeup, events};
use tokio::sync::watch;

const PAGE: i64 = 64;
/// How long pieces of a text are collected: a model may write a hundred in a second.
const TEXT_PAUSE: Duration = Duration::from_millis(100);

/// What a client is sent.
pub enum Item {
    Stored(events::Event),
    Text(AgentText),
}

/// Returns what happens in a run after the event `seen`, until the run ends.
pub fn follow(
    db: &Db,
    texts: &LiveTexts,
    run: &Run,
    seen: i64,
) -> impl Stream<Item = Result<Item, StoreError>> + Send + use<> {
    let stream = Project::stream(&run.project_id);
    let follower = Follower {
        // Before the first read, so that nothing is missed in between.
        wakeup: events::watch(db, &stream),
        changed: texts.watch(),
        db: db.clone(),
        texts: texts.clone(),
        stream,
        run_id: run.id.clone(),
        phase: run.phase.clone(),
        seen,
        has_all_events: false,
        read: ReadSoFar::default(),
        page: VecDeque::new(),
    };
    try_unfold(follower, |mut follower| async move {
        let item = follower.next().await?;
        Ok(item.map(|item| (item, follower)))
    })
}

struct Follower {
    wakeup: Wakeup,
    changed: watch::Receiver<()>,
    db: Db,
    texts: LiveTexts,
    stream: String,
    run_id: String,
    phase: String,
    seen: i64,
    /// Whether all events were read that were there at the last wake-up.
    has_all_events: bool,
    read: ReadSoFar,
    page: VecDeque<Item>,
}

impl Follower {
    async fn next(&mut self) -> Result<Option<Item>, StoreError> {
        loop {
            if let Some(item) = self.page.pop_front() {
                return Ok(Some(item));
            }
            // The texts first. An agent's `agent_start` is committed, and wakes this reader, before the agent writes: if
            // no event has come by now, the client knows that the agents of these texts are at work.
            self.changed.mark_unchanged();
            let pieces = self.texts.unread(&self.run_id, &self.read);
            if self.wakeup.was_notified() || !self.has_all_events {
                let Some(events) = self.next_events().await? else { return Ok(None) };
                self.has_all_events = events.is_empty();
                self.page.extend(events.into_iter().map(Item::Stored));
            } else if !pieces.is_empty() {
                for piece in &pieces {
                    self.page.push_back(Item::Text(self.text_event(piece)));
                    self.read.note(piece);
                }
            } else {
                self.wait().await;
            }
        }
    }

    /// Returns the events that were stored since the last call; none if the run has ended and its last event was returned.
    async fn next_events(&mut self) -> Result<Option<Vec<events::Event>>, StoreError> {
        let mut page = events::read(&self.db, &self.stream, self.seen, PAGE).await?;
        // In this order: if the run is open after the events were read, all of them belong to it.
        let Some(run) = tables::runs::get(&self.db, &self.run_id).await? else { return Ok(None) };
        if let Some(last) = run.last_event {
            if self.seen >= last {
                return Ok(None);
            }
            page.retain(|event| event.seq <= last);
        }
        self.seen = page.last().map_or(self.seen, |event| event.seq);
        Ok(Some(page))
    }

    /// Waits until there may be an event, or until an agent of this run has written something.
    async fn wait(&mut self) {
        loop {
            tokio::select! {
                () = self.wakeup.notified_or_poll() => {
                    self.has_all_events = false;
                    return;
                }
                _ = self.changed.changed() => {}
            }
            tokio::select! {
                () = self.wakeup.notified() => {
                    self.has_all_events = false;
                    return;
                }
                () = tokio::time::sleep(TEXT_PAUSE) => {}
            }
            // It may have been an agent of another run.
            if !self.texts.unread(&self.run_id, &self.read).is_empty() {
                return;
            }
            self.changed.mark_unchanged();
        }
    }

    fn text_event(&self, piece: &TextPiece) -> AgentText {
        AgentText {
            agent: piece.agent.clone(),
            phase: self.phase.clone(),
            text: piece.text.clone(),
            offset: piece.offset,
        }
    }
}
