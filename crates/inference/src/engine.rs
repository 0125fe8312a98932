//! One handle for the whole process: requests from any thread or task, models on threads of their own.
//!
//! Every thread takes the most urgent work it finds: texts that somebody waits for, then its part in writing answers,
//! then texts in bulk. Bulk waits while answers are written, but never longer than `LONGEST_WAIT` for one pack.

mod embedding;
mod generation;
mod queue;
mod stop;

pub use embedding::Embeddings;
pub use generation::{Event, FinishReason, Finished, Generation, Prompt, Request};

use crate::chat_template::TemplateError;
use crate::crew::{Crew, Pause};
use crate::decoder::Decoder;
use crate::encoder::{Encoder, Scratch};
use embedding::Text;
use generation::Writers;
use queue::{Queue, Work};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How long a pack of bulk texts waits at most while answers are being written.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Somebody waits for it.
    Interactive,
    /// Whenever there is time.
    Bulk,
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("too much is waiting already: try again later")]
    Busy,
    #[error("no {0} model is loaded")]
    NoModel(&'static str),
    #[error("the prompt has {tokens} tokens, the model reads at most {most}")]
    PromptTooLong { tokens: usize, most: usize },
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("the model failed")]
    Failed,
    #[error("the engine is shutting down")]
    Stopped,
}

/// The models that are there, and how many threads they may use.
pub struct Models {
    pub encoder: Option<Encoder>,
    pub decoder: Option<Decoder>,
    pub threads: usize,
}

/// Hands requests to the threads; ends them when dropped.
pub struct Engine {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    encoder: Option<Encoder>,
    decoder: Option<Decoder>,
    crew: Crew,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Whether answers are being written: threads without other work then stay awake to help.
    writing: AtomicBool,
    /// Whether somebody waits for texts.
    urgent: AtomicBool,
    /// Whether texts in bulk have waited long enough.
    bulk_due: AtomicBool,
    writers: Mutex<Writers>,
}

impl Engine {
    pub fn start(models: Models) -> Self {
        let threads = models.threads.max(1);
        let shared = Arc::new(Shared {
            encoder: models.encoder,
            decoder: models.decoder,
            crew: Crew::new(threads),
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

    pub fn decoder(&self) -> Option<&Decoder> {
        self.shared.decoder.as_ref()
    }

    /// The vectors of some texts, in their order.
    pub fn embed(&self, texts: Vec<String>, priority: Priority) -> Result<Embeddings, EngineError> {
        if self.shared.encoder.is_none() {
            return Err(EngineError::NoModel("embedding"));
        }
        let (answer, embeddings) = oneshot::channel();
        let mut queue = self.shared.queue();
        queue.push_texts(embedding::split(texts, answer), priority)?;
        self.shared.announce(&queue);
        Ok(Embeddings(embeddings))
    }

    /// Writes on from a prompt.
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
            // A thread that panicked outside of a request has nothing left to say.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the threads what there is.
    fn announce(&self, queue: &Queue) {
        self.urgent.store(queue.is_urgent(), Ordering::SeqCst);
        self.bulk_due.store(queue.bulk_is_due(), Ordering::SeqCst);
        self.writing.store(queue.is_writing(), Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// What each thread does until the engine ends.
    fn work(&self) {
        let mut scratch = Scratch::default();
        while let Some(work) = self.next() {
            match work {
                Work::Embed(texts) => self.embed(texts, &mut scratch),
                Work::Lead(requests) => self.lead(requests),
                Work::Help => {
                    let mut pause = Pause::default();
                    // As long as answers are written there is soon more to do: sleeping would cost more than waiting.
                    while self.writing.load(Ordering::SeqCst) && !self.urgent.load(Ordering::SeqCst) {
                        if self.crew.help() {
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

    /// Waits for work; none when the engine ends.
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

    fn embed(&self, texts: Vec<Text>, scratch: &mut Scratch) {
        if let Some(encoder) = &self.encoder {
            embedding::answer(encoder, texts, scratch);
        }
    }

    /// One token of every answer, or some of a prompt.
    fn lead(&self, requests: Vec<generation::Waiting>) {
        let Some(decoder) = &self.decoder else { return };
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        writers.admit(decoder, requests);
        writers.advance(decoder, &self.crew);
        let counts = writers.counts();
        drop(writers);
        let mut queue = self.queue();
        queue.led(counts);
        self.announce(&queue);
    }
}
