//! Runs the encoder and the reader on batches. A request is split into its inputs, which threads take in batches; the
//! last one sends the answer.

use super::error::EngineError;
use crate::bert::Scratch;
use crate::encoder::{Encoder, MAX_TOKENS};
use crate::reader::{Pair, Reader, Reading};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// Estimate of the bytes of a token.
const BYTES_PER_TOKEN: usize = 4;

pub(super) type Answer<T> = oneshot::Sender<Result<Vec<T>, EngineError>>;

/// The future results of a request, in the order of its inputs.
pub struct Results<T>(pub(super) oneshot::Receiver<Result<Vec<T>, EngineError>>);

/// The future vectors of texts.
pub type Embeddings = Results<Vec<f32>>;

/// The future readings of pairs.
pub type Readings = Results<Reading>;

impl<T> Future for Results<T> {
    type Output = Result<Vec<T>, EngineError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(EngineError::Stopped)))
    }
}

/// A text to be embedded.
pub(super) type QueuedText = Queued<String, Vec<f32>>;

/// A pair to be read.
pub(super) type QueuedPair = Queued<Pair, Reading>;

/// One input of a request.
pub(super) struct Queued<I, T> {
    pub input: I,
    index: usize,
    request: Arc<Mutex<Pending<T>>>,
}

struct Pending<T> {
    results: Vec<T>,
    missing: usize,
    answer: Option<Answer<T>>,
}

impl<T> Pending<T> {
    fn finish(&mut self, result: impl FnOnce(&mut Self) -> Result<Vec<T>, EngineError>) {
        if let Some(answer) = self.answer.take() {
            // The caller may have dropped its end.
            let _ = answer.send(result(self));
        }
    }
}

pub(super) fn split<I, T: Clone + Default>(inputs: Vec<I>, answer: Answer<T>) -> Vec<Queued<I, T>> {
    let mut pending =
        Pending { results: vec![T::default(); inputs.len()], missing: inputs.len(), answer: Some(answer) };
    if inputs.is_empty() {
        pending.finish(|_| Ok(Vec::new()));
    }
    let request = Arc::new(Mutex::new(pending));
    let queued = |(index, input)| Queued { input, index, request: request.clone() };
    inputs.into_iter().enumerate().map(queued).collect()
}

pub(super) fn embed(encoder: &Encoder, texts: Vec<QueuedText>, scratch: &mut Scratch) {
    answer(texts, scratch, |texts, scratch| {
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| encoder.tokenize(&text.input)).collect();
        encoder.embed(&tokens, scratch)
    });
}

pub(super) fn read(reader: &Reader, pairs: Vec<QueuedPair>, scratch: &mut Scratch) {
    answer(pairs, scratch, |pairs, scratch| {
        let pairs: Vec<&Pair> = pairs.iter().map(|pair| &pair.input).collect();
        reader.read(&pairs, scratch)
    });
}

fn answer<I, T>(
    inputs: Vec<Queued<I, T>>,
    scratch: &mut Scratch,
    run: impl FnOnce(&[Queued<I, T>], &mut Scratch) -> Vec<T>,
) {
    let wanted: Vec<Queued<I, T>> = inputs.into_iter().filter(Queued::is_wanted).collect();
    match catch_unwind(AssertUnwindSafe(|| run(&wanted, scratch))) {
        Ok(results) => wanted.iter().zip(results).for_each(|(input, result)| input.deliver(result)),
        Err(_) => {
            *scratch = Scratch::default();
            wanted.iter().for_each(Queued::fail);
        }
    }
}

impl QueuedText {
    /// Returns an estimate of the tokens that the model reads.
    pub fn tokens(&self) -> usize {
        (self.input.len() / BYTES_PER_TOKEN + 2).min(MAX_TOKENS)
    }
}

impl<I, T> Queued<I, T> {
    fn is_wanted(&self) -> bool {
        self.pending(|pending| pending.answer.as_ref().is_some_and(|answer| !answer.is_closed()))
    }

    fn deliver(&self, result: T) {
        self.pending(|pending| {
            pending.results[self.index] = result;
            pending.missing -= 1;
            if pending.missing == 0 {
                pending.finish(|pending| Ok(std::mem::take(&mut pending.results)));
            }
        });
    }

    fn fail(&self) {
        self.pending(|pending| pending.finish(|_| Err(EngineError::Failed)));
    }

    fn pending<R>(&self, f: impl FnOnce(&mut Pending<T>) -> R) -> R {
        f(&mut self.request.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
