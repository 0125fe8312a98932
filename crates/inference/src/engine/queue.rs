//! What waits, and what comes next.

use super::embedding::Text;
use super::generation::{Request, Waiting};
use super::{EngineError, Event, LONGEST_WAIT, Priority};
use crate::encoder::MAX_TOKENS;
use std::collections::VecDeque;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

const MOST_INTERACTIVE_TEXTS: usize = 1024;
const MOST_BULK_TEXTS: usize = 16 * 1024;
const MOST_REQUESTS: usize = 256;
/// Answers written at the same time, and how many of them in bulk.
const MOST_WRITERS: usize = 8;
const MOST_BULK_WRITERS: usize = 4;
/// A token has about so many bytes.
const BYTES_PER_TOKEN: usize = 4;

pub(super) enum Work {
    Embed(Vec<Text>),
    Lead(Vec<Waiting>),
    Help,
}

/// Answers that are being written.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub interactive: usize,
    pub bulk: usize,
}

#[derive(Default)]
pub(super) struct Queue {
    pub stopped: bool,
    interactive: VecDeque<Text>,
    bulk: VecDeque<Text>,
    last_bulk: Option<Instant>,
    requests: VecDeque<Waiting>,
    bulk_requests: VecDeque<Waiting>,
    writing: Counts,
    /// Whether a thread leads the writing.
    led: bool,
}

impl Queue {
    pub fn push_texts(&mut self, texts: Vec<Text>, priority: Priority) -> Result<(), EngineError> {
        let (queue, most) = match priority {
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
        queue.push_back(Waiting { request, events });
        Ok(())
    }

    pub fn is_urgent(&self) -> bool {
        !self.interactive.is_empty()
    }

    pub fn is_writing(&self) -> bool {
        !self.stopped && (self.led || self.has_writing())
    }

    fn has_writing(&self) -> bool {
        self.writing.interactive + self.writing.bulk + self.requests.len() + self.bulk_requests.len() > 0
    }

    pub fn bulk_is_due(&self) -> bool {
        !self.bulk.is_empty() && self.last_bulk.is_none_or(|last| last.elapsed() > LONGEST_WAIT)
    }

    pub fn take(&mut self) -> Option<Work> {
        if let Some(texts) = take_pack(&mut self.interactive) {
            return Some(Work::Embed(texts));
        }
        if self.bulk_is_due() || !self.is_writing() {
            self.last_bulk = Some(Instant::now());
            if let Some(texts) = take_pack(&mut self.bulk) {
                return Some(Work::Embed(texts));
            }
        }
        if self.led {
            return Some(Work::Help);
        }
        if !self.has_writing() {
            return None;
        }
        self.led = true;
        Some(Work::Lead(self.take_requests()))
    }

    /// A thread has ended its turn.
    pub fn led(&mut self, writing: Counts) {
        self.led = false;
        self.writing = writing;
    }

    fn take_requests(&mut self) -> Vec<Waiting> {
        let mut room = MOST_WRITERS.saturating_sub(self.writing.interactive + self.writing.bulk);
        let interactive = room.min(self.requests.len());
        let mut taken: Vec<Waiting> = self.requests.drain(..interactive).collect();
        room = (room - interactive).min(MOST_BULK_WRITERS.saturating_sub(self.writing.bulk));
        taken.extend(self.bulk_requests.drain(..room.min(self.bulk_requests.len())));
        taken
    }
}

/// About as many texts as one thread takes through the layers together.
fn take_pack(queue: &mut VecDeque<Text>) -> Option<Vec<Text>> {
    let mut pack = Vec::new();
    let mut tokens = 0;
    while let Some(text) = queue.front() {
        let more = (text.text.len() / BYTES_PER_TOKEN + 2).min(MAX_TOKENS);
        if !pack.is_empty() && tokens + more > MAX_TOKENS {
            break;
        }
        tokens += more;
        pack.extend(queue.pop_front());
    }
    (!pack.is_empty()).then_some(pack)
}
