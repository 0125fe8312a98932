//! Embeds texts. A request is split into its texts, which threads take in batches; the last one sends the answer.

use super::error::EngineError;
use crate::encoder::{Encoder, Scratch};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

pub(super) type Answer = oneshot::Sender<Result<Vec<Vec<f32>>, EngineError>>;

/// The future vectors of a request.
pub struct Embeddings(pub(super) oneshot::Receiver<Result<Vec<Vec<f32>>, EngineError>>);

impl Future for Embeddings {
    type Output = Result<Vec<Vec<f32>>, EngineError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(EngineError::Stopped)))
    }
}

/// One text of a request.
pub(super) struct Text {
    pub text: String,
    index: usize,
    request: Arc<Mutex<Pending>>,
}

struct Pending {
    vectors: Vec<Vec<f32>>,
    missing: usize,
    answer: Option<Answer>,
}

impl Pending {
    fn finish(&mut self, result: impl FnOnce(&mut Self) -> Result<Vec<Vec<f32>>, EngineError>) {
        if let Some(answer) = self.answer.take() {
            // The caller may have dropped its end.
            let _ = answer.send(result(self));
        }
    }
}

pub(super) fn split(texts: Vec<String>, answer: Answer) -> Vec<Text> {
    let mut pending =
        Pending { vectors: vec![Vec::new(); texts.len()], missing: texts.len(), answer: Some(answer) };
    if texts.is_empty() {
        pending.finish(|_| Ok(Vec::new()));
    }
    let request = Arc::new(Mutex::new(pending));
    let text = |(index, text)| Text { text, index, request: request.clone() };
    texts.into_iter().enumerate().map(text).collect()
}

pub(super) fn answer(encoder: &Encoder, texts: Vec<Text>, scratch: &mut Scratch) {
    let wanted: Vec<Text> = texts.into_iter().filter(Text::is_wanted).collect();
    let tokens: Vec<Vec<u32>> = wanted.iter().map(|text| encoder.tokenize(&text.text)).collect();
    match catch_unwind(AssertUnwindSafe(|| encoder.embed(&tokens, scratch))) {
        Ok(vectors) => wanted.iter().zip(vectors).for_each(|(text, vector)| text.deliver(vector)),
        Err(_) => {
            *scratch = Scratch::default();
            wanted.iter().for_each(Text::fail);
        }
    }
}

impl Text {
    fn is_wanted(&self) -> bool {
        self.pending(|pending| pending.answer.as_ref().is_some_and(|answer| !answer.is_closed()))
    }

    fn deliver(&self, vector: Vec<f32>) {
        self.pending(|pending| {
            pending.vectors[self.index] = vector;
            pending.missing -= 1;
            if pending.missing == 0 {
                pending.finish(|pending| Ok(std::mem::take(&mut pending.vectors)));
            }
        });
    }

    fn fail(&self) {
        self.pending(|pending| pending.finish(|_| Err(EngineError::Failed)));
    }

    fn pending<T>(&self, f: impl FnOnce(&mut Pending) -> T) -> T {
        f(&mut self.request.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
