//! Embeds texts and scores pairs of texts. A request is split into its texts, which threads take in batches; the last
//! one sends the answer.

use super::error::EngineError;
use crate::bert::Scratch;
use crate::encoder::{Encoder, MAX_TOKENS};
use crate::reranker::{Pair, Reranker};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// Estimate of the bytes of a token.
const BYTES_PER_TOKEN: usize = 4;

pub(super) type Answer = oneshot::Sender<Result<Vec<Vec<f32>>, EngineError>>;

/// The future vectors of a request.
pub struct Embeddings(pub(super) oneshot::Receiver<Result<Vec<Vec<f32>>, EngineError>>);

impl Future for Embeddings {
    type Output = Result<Vec<Vec<f32>>, EngineError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(EngineError::Stopped)))
    }
}

/// The future scores of a request.
pub struct Scores(pub(super) Embeddings);

impl Future for Scores {
    type Output = Result<Vec<f32>, EngineError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let score = |vector: Vec<f32>| vector.first().copied().unwrap_or_default();
        let scores = |vectors: Vec<Vec<f32>>| vectors.into_iter().map(score).collect();
        Pin::new(&mut self.0).poll(context).map(|answer| answer.map(scores))
    }
}

/// One text of a request.
pub(super) struct Text {
    input: Input,
    index: usize,
    request: Arc<Mutex<Pending>>,
}

/// What a model reads.
pub(super) enum Input {
    Embedded(String),
    Scored(Pair),
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

pub(super) fn split(inputs: Vec<Input>, answer: Answer) -> Vec<Text> {
    let mut pending =
        Pending { vectors: vec![Vec::new(); inputs.len()], missing: inputs.len(), answer: Some(answer) };
    if inputs.is_empty() {
        pending.finish(|_| Ok(Vec::new()));
    }
    let request = Arc::new(Mutex::new(pending));
    let text = |(index, input)| Text { input, index, request: request.clone() };
    inputs.into_iter().enumerate().map(text).collect()
}

pub(super) fn embed(encoder: &Encoder, texts: Vec<Text>, scratch: &mut Scratch) {
    answer(texts, scratch, |texts, scratch| {
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| encoder.tokenize(text.embedded())).collect();
        encoder.embed(&tokens, scratch)
    });
}

pub(super) fn score(reranker: &Reranker, texts: Vec<Text>, scratch: &mut Scratch) {
    answer(texts, scratch, |texts, scratch| {
        let pairs: Vec<&Pair> = texts.iter().filter_map(Text::scored).collect();
        reranker.score(&pairs, scratch).into_iter().map(|score| vec![score]).collect()
    });
}

fn answer(
    texts: Vec<Text>,
    scratch: &mut Scratch,
    read: impl FnOnce(&[Text], &mut Scratch) -> Vec<Vec<f32>>,
) {
    let wanted: Vec<Text> = texts.into_iter().filter(Text::is_wanted).collect();
    match catch_unwind(AssertUnwindSafe(|| read(&wanted, scratch))) {
        Ok(vectors) => wanted.iter().zip(vectors).for_each(|(text, vector)| text.deliver(vector)),
        Err(_) => {
            *scratch = Scratch::default();
            wanted.iter().for_each(Text::fail);
        }
    }
}

impl Text {
    /// Returns whether the text is scored instead of embedded.
    pub fn is_scored(&self) -> bool {
        self.scored().is_some()
    }

    /// Returns the tokens that the model reads; of a text to be embedded, an estimate.
    pub fn tokens(&self) -> usize {
        match &self.input {
            Input::Embedded(text) => (text.len() / BYTES_PER_TOKEN + 2).min(MAX_TOKENS),
            Input::Scored(pair) => pair.tokens(),
        }
    }

    fn embedded(&self) -> &str {
        match &self.input {
            Input::Embedded(text) => text,
            Input::Scored(_) => "",
        }
    }

    fn scored(&self) -> Option<&Pair> {
        match &self.input {
            Input::Embedded(_) => None,
            Input::Scored(pair) => Some(pair),
        }
    }

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
