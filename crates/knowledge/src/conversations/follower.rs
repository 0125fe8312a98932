//! Follows an answer: what there is of it, then what is added, to its end. In this process from memory, in another one from
//! the answer's row.
//!
//! The id of an event says how much of which answer a client has seen. So a client may come back to any process and is sent
//! the rest, without loss and without repetition, however the text was cut into events before.

use super::live::LiveAnswer;
use super::writer::LONGEST_ANSWER;
use super::{ConversationError, Conversations, Turn};
use crate::records::{Basis, Message, MessageRole, MessageStatus, conversation_topic};
use crate::tables::messages;
use futures_util::Stream;
use futures_util::stream::try_unfold;
use std::collections::VecDeque;
use std::sync::Arc;
use store::{Db, StoreError, Wakeup};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Bits of an event's id for the position within the answer. The rest is the number of the answer's message.
const POSITION_BITS: u32 = 24;
const NOTHING: i64 = 0;
const MESSAGE: i64 = 1;
/// After it, the position counts the bytes of the text.
const SOURCES: i64 = 2;
const END: i64 = (1 << POSITION_BITS) - 1;
const _: () = assert!((LONGEST_ANSWER as i64) < END - SOURCES);

/// How much of an answer a client has seen. Rises through the conversation, and stays below 2^53, as JavaScript needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId(pub i64);

impl EventId {
    fn new(number: i64, position: i64) -> Self {
        Self((number << POSITION_BITS) | position)
    }

    /// Returns what a client has seen of the answer with this number.
    fn position_in(self, number: i64) -> i64 {
        if self.0 >> POSITION_BITS == number { self.0 & END } else { NOTHING }
    }
}

pub enum AnswerEvent {
    /// The question, and the answer that begins.
    Turn(Box<Turn>),
    Sources(Arc<Basis>),
    Text(String),
    /// The answer as it is stored.
    Ended(Box<Message>),
}

pub struct FollowedEvent {
    pub id: EventId,
    pub event: AnswerEvent,
}

pub struct Follower {
    db: Db,
    turn: Turn,
    position: i64,
    /// Absent if another process writes the answer, or if it has ended.
    live: Option<watch::Receiver<LiveAnswer>>,
    changed: Wakeup,
    shutdown: CancellationToken,
    waiting: VecDeque<FollowedEvent>,
}

impl Conversations {
    /// Follows an answer from its beginning.
    pub fn follow_turn(&self, turn: Turn) -> Follower {
        let changed = self.db.subscribe(&conversation_topic(&turn.answer.conversation_id));
        self.follower(turn, NOTHING, changed)
    }

    /// Follows the answer that is being written, or one that has ended since the last event that the client has seen.
    /// Returns none if there is nothing to follow.
    pub async fn follow(
        &self,
        user_id: &str,
        id: &str,
        last_seen: Option<EventId>,
    ) -> Result<Option<Follower>, ConversationError> {
        // Before the first read, so that no change in between is missed.
        let changed = self.db.subscribe(&conversation_topic(id));
        self.get(user_id, id).await?;
        let mut last_two = messages::before(&self.db, id, i64::MAX, 2).await?.into_iter();
        let (Some(answer), Some(question)) = (last_two.next(), last_two.next()) else { return Ok(None) };
        if answer.role != MessageRole::Assistant {
            return Ok(None);
        }
        let position = last_seen.map_or(NOTHING, |last_seen| last_seen.position_in(answer.number));
        let has_ended = answer.status != MessageStatus::Running;
        if has_ended && (position == NOTHING || position == END) {
            return Ok(None);
        }
        Ok(Some(self.follower(Turn { question, answer }, position, changed)))
    }

    fn follower(&self, turn: Turn, position: i64, changed: Wakeup) -> Follower {
        Follower {
            db: self.db.clone(),
            live: self.live.get(&turn.answer.id),
            turn,
            position,
            changed,
            shutdown: self.shutdown.clone(),
            waiting: VecDeque::new(),
        }
    }
}

impl Follower {
    pub fn into_events(self) -> impl Stream<Item = Result<FollowedEvent, StoreError>> + Send {
        try_unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            Ok(event.map(|event| (event, follower)))
        })
    }

    async fn next(&mut self) -> Result<Option<FollowedEvent>, StoreError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if self.position == END {
                return Ok(None);
            }
            if self.position == NOTHING {
                self.send(MESSAGE, AnswerEvent::Turn(Box::new(self.turn.clone())));
                continue;
            }
            match &mut self.live {
                Some(live) if live.has_changed().is_ok() => self.read_memory(),
                _ => {
                    self.live = None;
                    if !self.read_row().await? {
                        return Ok(None);
                    }
                }
            }
            if self.waiting.is_empty() && !self.wait().await {
                return Ok(None);
            }
        }
    }

    fn read_memory(&mut self) {
        let Some(live) = &mut self.live else { return };
        let (basis, text) = {
            let now = live.borrow_and_update();
            (now.basis.clone(), unseen(&now.text, self.position))
        };
        self.add(basis, text);
    }

    /// Returns false if the answer is gone.
    async fn read_row(&mut self) -> Result<bool, StoreError> {
        let Some(answer) = messages::get(&self.db, &self.turn.answer.id).await? else { return Ok(false) };
        let basis = answer.provider.clone().zip(answer.model.clone()).map(|(provider, model)| {
            Arc::new(Basis {
                sources: answer.sources.clone(),
                notices: answer.notices.clone(),
                provider,
                model,
            })
        });
        self.add(basis, unseen(&answer.content, self.position));
        if answer.status != MessageStatus::Running {
            self.send(END, AnswerEvent::Ended(Box::new(answer)));
        }
        Ok(true)
    }

    fn add(&mut self, basis: Option<Arc<Basis>>, text: String) {
        if let Some(basis) = basis.filter(|_| self.position < SOURCES) {
            self.send(SOURCES, AnswerEvent::Sources(basis));
        }
        if !text.is_empty() {
            let position = self.position.max(SOURCES) + text.len() as i64;
            self.send(position, AnswerEvent::Text(text));
        }
    }

    fn send(&mut self, position: i64, event: AnswerEvent) {
        self.position = position;
        self.waiting.push_back(FollowedEvent { id: EventId::new(self.turn.answer.number, position), event });
    }

    /// Waits until there may be more. Returns false if the process stops while another one writes the answer: the client
    /// then follows it there.
    async fn wait(&mut self) -> bool {
        match &mut self.live {
            Some(live) => {
                // An error means that the answer has ended.
                if live.changed().await.is_err() {
                    self.live = None;
                }
                true
            }
            None => tokio::select! {
                () = self.changed.notified_or_poll() => true,
                () = self.shutdown.cancelled() => false,
            },
        }
    }
}

/// Returns the text after what a client has seen.
fn unseen(text: &str, position: i64) -> String {
    let seen = usize::try_from(position - SOURCES).unwrap_or(0).min(text.len());
    text[text.floor_char_boundary(seen)..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_how_much_of_which_answer_was_seen() {
        let id = EventId::new(7, SOURCES + 1000);
        assert_eq!(id.position_in(7), 1002);
        assert_eq!((id.position_in(6), id.position_in(8)), (NOTHING, NOTHING));
        assert!(EventId::new(7, END).0 < EventId::new(8, MESSAGE).0);
        assert_eq!(EventId(-1).position_in(7), NOTHING);
        assert!(EventId::new(1 << 28, END).0 < 1 << 53);
    }
}
