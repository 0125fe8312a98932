//! The one handle of the process to the models: takes requests from any thread or task, runs them on its own threads.
//!
//! Every thread takes the most urgent work: interactive texts, to be embedded and to be scored in turn, then its part in
//! writing answers, then bulk texts. Bulk texts wait while interactive texts do and while answers are written, but at most
//! so long per batch. Of the same urgency, users take turns (`turns`): one with much work delays another by one batch.

mod embedding;
mod error;
mod generation;
mod queue;
mod request;
mod stop;
mod turns;

pub use embedding::{Embeddings, Scores};
pub use error::EngineError;
pub use request::{Event, FinishReason, Finished, Generation, Priority, Request};

use crate::bert::Scratch;
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::reranker::{Pair, Reranker};
use crate::task_pool::{Pause, TaskPool};
use embedding::Input;
use generation::Writers;
use queue::{Queue, Work};
use request::QueuedRequest;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot};

/// The models that are loaded, and the number of threads they may use.
#[derive(Default)]
pub struct Models {
    pub encoder: Option<Encoder>,
    pub reranker: Option<Reranker>,
    pub decoder: Option<Decoder>,
    pub threads: usize,
}

/// Queues requests for its threads. Dropping it ends the threads.
pub struct Engine {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    encoder: Option<Encoder>,
    reranker: Option<Reranker>,
    decoder: Option<Decoder>,
    pool: TaskPool,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Whether answers are being written: threads without other work then spin, ready to help.
    writing: AtomicBool,
    /// Whether interactive texts wait.
    urgent: AtomicBool,
    /// Whether bulk texts have waited long enough.
    bulk_due: AtomicBool,
    writers: Mutex<Writers>,
}

impl Engine {
    pub fn start(models: Models) -> Self {
        let threads = models.threads.max(1);
        let shared = Arc::new(Shared {
            encoder: models.encoder,
            reranker: models.reranker,
            decoder: models.decoder,
            pool: TaskPool::new(threads),
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
            writing: AtomicBool::new(false),
            urgent: AtomicBool::new(false),
            bulk_due: AtomicBool::new(false),
            writers: Mutex::new(Writers::default()),
        });
        let start = |_| {
            let shared = shared.clone();
            thread::spawn(move || shared.work())
        };
        Self { threads: (0..threads).map(start).collect(), shared }
    }

    pub fn encoder(&self) -> Option<&Encoder> {
        self.shared.encoder.as_ref()
    }

    pub fn reranker(&self) -> Option<&Reranker> {
        self.shared.reranker.as_ref()
    }

    pub fn decoder(&self) -> Option<&Decoder> {
        self.shared.decoder.as_ref()
    }

    /// Queues texts of a user to be embedded; the vectors come in the order of the texts.
    pub fn embed(
        &self,
        user: &str,
        texts: Vec<String>,
        priority: Priority,
    ) -> Result<Embeddings, EngineError> {
        if self.shared.encoder.is_none() {
            return Err(EngineError::NoModel("embedding"));
        }
        self.read(user, texts.into_iter().map(Input::Embedded).collect(), priority)
    }

    /// Queues pairs of a user to be scored: how well each text answers its question. The scores come in their order.
    pub fn score(&self, user: &str, pairs: Vec<Pair>) -> Result<Scores, EngineError> {
        if self.shared.reranker.is_none() {
            return Err(EngineError::NoModel("reranking"));
        }
        let inputs = pairs.into_iter().map(Input::Scored).collect();
        Ok(Scores(self.read(user, inputs, Priority::Interactive)?))
    }

    fn read(&self, user: &str, inputs: Vec<Input>, priority: Priority) -> Result<Embeddings, EngineError> {
        let (answer, vectors) = oneshot::channel();
        let mut queue = self.shared.queue();
        queue.push_texts(user, embedding::split(inputs, answer), priority)?;
        self.shared.announce(&queue);
        Ok(Embeddings(vectors))
    }

    /// Queues a conversation to be answered.
    pub fn generate(&self, request: Request) -> Result<Generation, EngineError> {
        if self.shared.decoder.is_none() {
            return Err(EngineError::NoModel("language"));
        }
        let (events, generation) = mpsc::unbounded_channel();
        let mut queue = self.shared.queue();
        queue.push_request(request, events)?;
        self.shared.announce(&queue);
        Ok(Generation(generation))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.stopped = true;
        self.shared.announce(&queue);
        drop(queue);
        for thread in self.threads.drain(..) {
            // Panics inside a request are caught and answered there; any other has been reported already.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the threads after the queue has changed.
    fn announce(&self, queue: &Queue) {
        self.urgent.store(queue.is_urgent(), Ordering::SeqCst);
        self.bulk_due.store(queue.bulk_is_due(), Ordering::SeqCst);
        self.writing.store(queue.is_writing(), Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// The loop of each thread, until the engine ends.
    fn work(&self) {
        let mut scratch = Scratch::default();
        while let Some(work) = self.next() {
            match work {
                Work::Embed(texts) => {
                    if let Some(encoder) = &self.encoder {
                        embedding::embed(encoder, texts, &mut scratch);
                    }
                }
                Work::Score(texts) => {
                    if let Some(reranker) = &self.reranker {
                        embedding::score(reranker, texts, &mut scratch);
                    }
                }
                Work::Lead(requests) => self.lead(requests),
                Work::Help => {
                    let mut pause = Pause::default();
                    // While answers are written, tasks come every few microseconds: sleeping would cost more.
                    while self.writing.load(Ordering::SeqCst) && !self.urgent.load(Ordering::SeqCst) {
                        if self.pool.help() {
                            pause = Pause::default();
                        } else if self.bulk_due.load(Ordering::SeqCst) {
                            break;
                        } else {
                            pause.wait();
                        }
                    }
                }
            }
        }
    }

    /// Waits for work. Returns none when the engine ends.
    fn next(&self) -> Option<Work> {
        let mut queue = self.queue();
        loop {
            if queue.stopped {
                return None;
            }
            if let Some(work) = queue.take() {
                self.announce(&queue);
                return Some(work);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Leads one step: admits requests, reads a part of a prompt, writes a token of every answer.
    fn lead(&self, requests: Vec<QueuedRequest>) {
        let Some(decoder) = &self.decoder else { return };
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        writers.admit(decoder, requests);
        writers.advance(decoder, &self.pool);
        let written = writers.written();
        drop(writers);
        let mut queue = self.queue();
        queue.end_step(written);
        self.announce(&queue);
    }
}
