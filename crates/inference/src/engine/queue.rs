//! The queues of texts and requests, and which work a thread takes next.

use super::batch::{QueuedPair, QueuedText};
use super::error::EngineError;
use super::request::{Event, Priority, QueuedRequest, Request};
use super::turns::Turns;
use crate::encoder::MAX_TOKENS;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How long a batch of bulk texts waits at most while answers are being written, and while interactive texts wait: then it
/// takes about a tenth of the time.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
const MAX_WAIT_FOR_TEXTS: Duration = Duration::from_millis(500);
/// What may wait of one user.
const MAX_INTERACTIVE_TEXTS: usize = 1024;
const MAX_BULK_TEXTS: usize = 16 * 1024;
const MAX_REQUESTS: usize = 256;
/// Answers written at the same time, how many of them in bulk, and how many of one user.
const MOST_WRITERS: usize = 8;
const MOST_BULK_WRITERS: usize = 4;
const MAX_WRITERS_OF_USER: usize = 4;

/// What a thread does next.
pub(super) enum Work {
    Embed(Vec<QueuedText>),
    Read(Vec<QueuedPair>),
    /// Admits these requests, then leads one step of writing all answers.
    Lead(Vec<QueuedRequest>),
    /// Helps the thread that leads.
    Help,
}

/// An answer that is being written.
pub(super) struct Written {
    pub user: Arc<str>,
    pub priority: Priority,
}

pub(super) struct Queue {
    pub stopped: bool,
    /// Interactive texts to be embedded: a search waits for them.
    texts: Turns<QueuedText>,
    /// Pairs to be read, which are always interactive.
    pairs: Turns<QueuedPair>,
    /// Whether the last interactive batch was embedded: the next is then one to be read.
    has_embedded: bool,
    bulk: Turns<QueuedText>,
    last_bulk: Option<Instant>,
    requests: Turns<QueuedRequest>,
    bulk_requests: Turns<QueuedRequest>,
    writing: Vec<Written>,
    /// Whether a thread leads a step of writing at the moment.
    has_leader: bool,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            stopped: false,
            texts: Turns::new(MAX_INTERACTIVE_TEXTS),
            pairs: Turns::new(MAX_INTERACTIVE_TEXTS),
            has_embedded: false,
            bulk: Turns::new(MAX_BULK_TEXTS),
            last_bulk: None,
            requests: Turns::new(MAX_REQUESTS),
            bulk_requests: Turns::new(MAX_REQUESTS),
            writing: Vec::new(),
            has_leader: false,
        }
    }
}

impl Queue {
    pub fn push_texts(
        &mut self,
        user: &str,
        texts: Vec<QueuedText>,
        priority: Priority,
    ) -> Result<(), EngineError> {
        let turns = match priority {
            Priority::Bulk => &mut self.bulk,
            Priority::Interactive => &mut self.texts,
        };
        if turns.push(user, texts) { Ok(()) } else { Err(EngineError::Busy) }
    }

    pub fn push_pairs(&mut self, user: &str, pairs: Vec<QueuedPair>) -> Result<(), EngineError> {
        if self.pairs.push(user, pairs) { Ok(()) } else { Err(EngineError::Busy) }
    }

    pub fn push_request(
        &mut self,
        request: Request,
        events: UnboundedSender<Event>,
    ) -> Result<(), EngineError> {
        let turns = match request.priority {
            Priority::Interactive => &mut self.requests,
            Priority::Bulk => &mut self.bulk_requests,
        };
        let user = request.user.clone();
        if turns.push(&user, vec![QueuedRequest { request, events }]) {
            Ok(())
        } else {
            Err(EngineError::Busy)
        }
    }

    pub fn is_urgent(&self) -> bool {
        !self.texts.is_empty() || !self.pairs.is_empty()
    }

    pub fn is_writing(&self) -> bool {
        !self.stopped && (self.has_leader || self.has_writing())
    }

    fn has_writing(&self) -> bool {
        !self.writing.is_empty() || !self.requests.is_empty() || !self.bulk_requests.is_empty()
    }

    pub fn bulk_is_due(&self) -> bool {
        self.bulk_waits_longer_than(LONGEST_WAIT)
    }

    fn bulk_waits_longer_than(&self, wait: Duration) -> bool {
        !self.bulk.is_empty() && self.last_bulk.is_none_or(|last| last.elapsed() > wait)
    }

    pub fn take(&mut self) -> Option<Work> {
        if !self.bulk_waits_longer_than(MAX_WAIT_FOR_TEXTS)
            && let Some(work) = self.take_interactive()
        {
            return Some(work);
        }
        if !self.bulk.is_empty() && (self.bulk_is_due() || !self.is_writing()) {
            self.last_bulk = Some(Instant::now());
            return Some(Work::Embed(take_batch(&mut self.bulk, QueuedText::tokens)));
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

    /// Takes texts to be embedded and pairs to be read in turn, so that a search does not wait for the questions of
    /// others, nor a question for their searches.
    fn take_interactive(&mut self) -> Option<Work> {
        let embeds = !self.texts.is_empty() && (self.pairs.is_empty() || !self.has_embedded);
        if !embeds && self.pairs.is_empty() {
            return None;
        }
        self.has_embedded = embeds;
        Some(match embeds {
            true => Work::Embed(take_batch(&mut self.texts, QueuedText::tokens)),
            false => Work::Read(take_batch(&mut self.pairs, |pair| pair.input.tokens())),
        })
    }

    /// Ends the leader's step; `writing` is what is left to write.
    pub fn end_step(&mut self, writing: Vec<Written>) {
        self.has_leader = false;
        self.writing = writing;
    }

    fn take_requests(&mut self) -> Vec<QueuedRequest> {
        let mut taken = Vec::new();
        for (turns, priority) in
            [(&mut self.requests, Priority::Interactive), (&mut self.bulk_requests, Priority::Bulk)]
        {
            loop {
                let bulk = self.writing.iter().filter(|writing| writing.priority == Priority::Bulk).count();
                let has_room = self.writing.len() < MOST_WRITERS
                    && (priority == Priority::Interactive || bulk < MOST_BULK_WRITERS);
                let written =
                    |user: &str| self.writing.iter().filter(|writing| *writing.user == *user).count();
                let next = has_room.then(|| turns.take_one(|user| written(user) < MAX_WRITERS_OF_USER));
                let Some(request) = next.flatten() else { break };
                self.writing.push(Written { user: request.request.user.clone(), priority });
                taken.push(request);
            }
        }
        taken
    }
}

/// Takes about as many texts or pairs as a model reads at once.
fn take_batch<T>(turns: &mut Turns<T>, tokens_of: impl Fn(&T) -> usize) -> Vec<T> {
    let mut tokens = 0;
    turns.take_batch(|input| {
        let more = tokens_of(input);
        let fits = tokens == 0 || tokens + more <= MAX_TOKENS;
        tokens += if fits { more } else { 0 };
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::super::batch::split;
    use super::*;
    use crate::decoder::Sampling;
    use tokio::sync::{mpsc, oneshot};

    fn push(queue: &mut Queue, user: &str, priority: Priority) {
        let request = Request {
            messages: Vec::new(),
            max_tokens: 1,
            sampling: Sampling::default(),
            stop: Vec::new(),
            priority,
            user: user.into(),
        };
        queue.push_request(request, mpsc::unbounded_channel().0).unwrap();
    }

    fn admitted(queue: &mut Queue) -> Vec<String> {
        let Some(Work::Lead(requests)) = queue.take() else { panic!("no step of writing") };
        requests.iter().map(|queued| queued.request.user.to_string()).collect()
    }

    #[test]
    fn one_user_leaves_room_for_the_answers_of_others() {
        let mut queue = Queue::default();
        (0..7).for_each(|_| push(&mut queue, "ada", Priority::Interactive));
        push(&mut queue, "bob", Priority::Interactive);
        assert_eq!(admitted(&mut queue), ["ada", "bob", "ada", "ada", "ada"]);
        push(&mut queue, "cyd", Priority::Interactive);
        (0..5).for_each(|_| push(&mut queue, "dan", Priority::Bulk));
        let writing = std::mem::take(&mut queue.writing);
        queue.end_step(writing);
        assert_eq!(admitted(&mut queue), ["cyd", "dan", "dan"], "eight are written at a time");
        queue.end_step(Vec::new());
        assert_eq!(admitted(&mut queue), ["ada", "ada", "ada", "dan", "dan", "dan"]);
    }

    #[test]
    fn a_text_of_another_user_is_in_the_next_batch_but_one() {
        let mut queue = Queue::default();
        let mut texts = |user: &str, count: usize, priority| {
            let inputs = vec!["word ".repeat(100); count];
            queue.push_texts(user, split(inputs, oneshot::channel().0), priority).unwrap();
        };
        texts("ada", 900, Priority::Interactive);
        texts("bob", 1, Priority::Interactive);
        texts("cyd", 3, Priority::Bulk);
        // The first batch is bulk: none was taken before.
        let sizes: Vec<usize> = (0..3)
            .map(|_| match queue.take() {
                Some(Work::Embed(texts)) => texts.len(),
                _ => panic!("no texts"),
            })
            .collect();
        assert_eq!(sizes, [2, 2, 2]);
        assert_eq!(queue.texts.waiting("bob"), 0);
        assert_eq!(queue.texts.waiting("ada"), 900 - 3);
    }
}
