//! The answers that this process is writing, with their text so far.

use crate::records::Basis;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What there is of an answer.
#[derive(Default)]
pub struct LiveAnswer {
    pub basis: Option<Arc<Basis>>,
    pub text: String,
}

/// By the id of the message.
#[derive(Clone, Default)]
pub struct LiveAnswers(Arc<Mutex<HashMap<String, watch::Receiver<LiveAnswer>>>>);

impl LiveAnswers {
    /// Adds an answer. Its readers see that it has ended when the returned value is dropped.
    pub fn add(&self, id: &str) -> LiveAnswerWriter {
        let (sender, receiver) = watch::channel(LiveAnswer::default());
        self.lock().insert(id.to_owned(), receiver);
        LiveAnswerWriter { answers: self.clone(), id: id.to_owned(), sender }
    }

    pub fn get(&self, id: &str) -> Option<watch::Receiver<LiveAnswer>> {
        self.lock().get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Receiver<LiveAnswer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct LiveAnswerWriter {
    answers: LiveAnswers,
    id: String,
    pub sender: watch::Sender<LiveAnswer>,
}

impl Drop for LiveAnswerWriter {
    fn drop(&mut self) {
        self.answers.lock().remove(&self.id);
    }
}
