//! The queues of texts and requests, and which work a thread takes next.

use super::embedding::Text;
use super::error::EngineError;
use super::request::{Event, Priority, QueuedRequest, Request};
use crate::encoder::MAX_TOKENS;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How long a batch of bulk texts waits at most while answers are being written.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
const MOST_INTERACTIVE_TEXTS: usize = 1024;
const MOST_BULK_TEXTS: usize = 16 * 1024;
const MOST_REQUESTS: usize = 256;
/// Answers written at the same time, and how many of them in bulk.
const MOST_WRITERS: usize = 8;
const MOST_BULK_WRITERS: usize = 4;

/// What a thread does next.
pub(super) enum Work {
    Embed(Vec<Text>),
    Score(Vec<Text>),
    /// Admits these requests, then leads one step of writing all answers.
    Lead(Vec<QueuedRequest>),
    /// Helps the thread that leads.
    Help,
}

/// How many answers are being written.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub interactive: usize,
    pub bulk: usize,
}

#[derive(Default)]
pub(super) struct Queue {
    pub stopped: bool,
    interactive: VecDeque<Text>,
    /// Interactive texts that are scored: a question has up to eighty, and a search waits for one that is embedded.
    scored: VecDeque<Text>,
    bulk: VecDeque<Text>,
    last_bulk: Option<Instant>,
    requests: VecDeque<QueuedRequest>,
    bulk_requests: VecDeque<QueuedRequest>,
    writing: Counts,
    /// Whether a thread leads a step of writing at the moment.
    has_leader: bool,
}

impl Queue {
    pub fn push_texts(&mut self, texts: Vec<Text>, priority: Priority) -> Result<(), EngineError> {
        let is_scored = texts.first().is_some_and(Text::is_scored);
        let (queue, most) = match priority {
            Priority::Interactive if is_scored => (&mut self.scored, MOST_INTERACTIVE_TEXTS),
            Priority::Interactive => (&mut self.interactive, MOST_INTERACTIVE_TEXTS),
            Priority::Bulk => (&mut self.bulk, MOST_BULK_TEXTS),
        };
        if queue.len() + texts.len() > most {
            return Err(EngineError::Busy);
        }
        queue.extend(texts);
        Ok(())
    }

    pub fn push_request(
        &mut self,
        request: Request,
        events: UnboundedSender<Event>,
    ) -> Result<(), EngineError> {
        let queue = match request.priority {
            Priority::Interactive => &mut self.requests,
            Priority::Bulk => &mut self.bulk_requests,
        };
        if queue.len() >= MOST_REQUESTS {
            return Err(EngineError::Busy);
        }
        queue.push_back(QueuedRequest { request, events });
        Ok(())
    }

    pub fn is_urgent(&self) -> bool {
        !self.interactive.is_empty() || !self.scored.is_empty()
    }

    pub fn is_writing(&self) -> bool {
        !self.stopped && (self.has_leader || self.has_writing())
    }

    fn has_writing(&self) -> bool {
        self.writing.interactive + self.writing.bulk + self.requests.len() + self.bulk_requests.len() > 0
    }

    pub fn bulk_is_due(&self) -> bool {
        !self.bulk.is_empty() && self.last_bulk.is_none_or(|last| last.elapsed() > LONGEST_WAIT)
    }

    pub fn take(&mut self) -> Option<Work> {
        if let Some(work) = take_batch(&mut self.interactive).or_else(|| take_batch(&mut self.scored)) {
            return Some(work);
        }
        if self.bulk_is_due() || !self.is_writing() {
            self.last_bulk = Some(Instant::now());
            if let Some(work) = take_batch(&mut self.bulk) {
                return Some(work);
            }
        }
        if self.has_leader {
            return Some(Work::Help);
        }
        if !self.has_writing() {
            return None;
        }
        self.has_leader = true;
        Some(Work::Lead(self.take_requests()))
    }

    /// Ends the leader's step; `writing` is what is left to write.
    pub fn end_step(&mut self, writing: Counts) {
        self.has_leader = false;
        self.writing = writing;
    }

    fn take_requests(&mut self) -> Vec<QueuedRequest> {
        let mut room = MOST_WRITERS.saturating_sub(self.writing.interactive + self.writing.bulk);
        let interactive = room.min(self.requests.len());
        let mut taken: Vec<QueuedRequest> = self.requests.drain(..interactive).collect();
        room = (room - interactive).min(MOST_BULK_WRITERS.saturating_sub(self.writing.bulk));
        taken.extend(self.bulk_requests.drain(..room.min(self.bulk_requests.len())));
        taken
    }
}

/// Takes about as many texts as a model reads at once, all for the same model.
fn take_batch(queue: &mut VecDeque<Text>) -> Option<Work> {
    let scored = queue.front()?.is_scored();
    let mut batch = Vec::new();
    let mut tokens = 0;
    while let Some(text) = queue.front().filter(|text| text.is_scored() == scored) {
        let more = text.tokens();
        if !batch.is_empty() && tokens + more > MAX_TOKENS {
            break;
        }
        tokens += more;
        batch.extend(queue.pop_front());
    }
    Some(if scored { Work::Score(batch) } else { Work::Embed(batch) })
}
