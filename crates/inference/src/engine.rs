//! The one handle of the process to the models: takes requests from any thread or task, runs them on its own threads.
//!
//! Every thread takes the most urgent work: interactive texts to be embedded and pairs to be read in turn, then its part
//! in writing answers, then bulk texts. Bulk texts wait while interactive texts do and while answers are written, but at most
//! so long per batch. Of the same urgency, users take turns (`turns`): one with much work delays another by one batch.

mod batch;
mod error;
mod generation;
mod queue;
mod request;
mod stop;
mod turns;

pub use batch::{Embeddings, Readings};
pub use error::EngineError;
pub use request::{Event, FinishReason, Finished, Generation, Priority, Request};

use crate::bert::Scratch;
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::reader::{Pair, Reader};
use crate::task_pool::{Pause, TaskPool};
use batch::Results;
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
    pub reader: Option<Reader>,
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
    reader: Option<Reader>,
    decoder: Option<Decoder>,
    pool: TaskPool,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Whether answers are being written: threads without other work then spin, ready to help.
    writing: AtomicBool,
    /// Whether interactive texts or pairs wait.
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
            reader: models.reader,
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

    pub fn reader(&self) -> Option<&Reader> {
        self.shared.reader.as_ref()
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
        let (answer, vectors) = oneshot::channel();
        let texts = batch::split(texts, answer);
        self.shared.add(|queue| queue.push_texts(user, texts, priority))?;
        Ok(Results(vectors))
    }

    /// Queues pairs of a user to be read; the readings come in the order of the pairs.
    pub fn read(&self, user: &str, pairs: Vec<Pair>) -> Result<Readings, EngineError> {
        if self.shared.reader.is_none() {
            return Err(EngineError::NoModel("reading"));
        }
        let (answer, readings) = oneshot::channel();
        let pairs = batch::split(pairs, answer);
        self.shared.add(|queue| queue.push_pairs(user, pairs))?;
        Ok(Results(readings))
    }

    /// Queues a conversation to be answered.
    pub fn generate(&self, request: Request) -> Result<Generation, EngineError> {
        if self.shared.decoder.is_none() {
            return Err(EngineError::NoModel("language"));
        }
        let (events, generation) = mpsc::unbounded_channel();
        self.shared.add(|queue| queue.push_request(request, events))?;
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

    /// Adds work to the queue, if it has room.
    fn add(&self, push: impl FnOnce(&mut Queue) -> Result<(), EngineError>) -> Result<(), EngineError> {
        let mut queue = self.queue();
        push(&mut queue)?;
        self.announce(&queue);
        Ok(())
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
                        batch::embed(encoder, texts, &mut scratch);
                    }
                }
                Work::Read(pairs) => {
                    if let Some(reader) = &self.reader {
                        batch::read(reader, pairs, &mut scratch);
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
