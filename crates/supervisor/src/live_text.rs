//! What agents are writing at this moment, for the clients that watch.
//!
//! It is in the memory of the process that executes the run, and nowhere else: clients of other processes see the progress
//! and the artifact. A text is here as long as its attempt lasts.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The texts of all runs that this process executes.
#[derive(Clone, Default)]
pub struct LiveTexts(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// By run, then by agent.
    runs: Mutex<HashMap<String, BTreeMap<String, Draft>>>,
    attempts: AtomicU64,
    changed: watch::Sender<()>,
}

/// What an agent has written in one attempt.
struct Draft {
    /// Differs from that of every other attempt.
    attempt: u64,
    text: String,
}

/// A piece of what an agent writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPiece {
    pub agent: String,
    pub text: String,
    /// How much of the text comes before it, in UTF-16 units.
    pub offset: usize,
    attempt: u64,
    end: usize,
}

/// What a reader has been given of each agent's text.
#[derive(Default)]
pub struct ReadSoFar(HashMap<String, Position>);

struct Position {
    attempt: u64,
    bytes: usize,
    utf16: usize,
}

impl LiveTexts {
    /// Starts the text of an attempt. It replaces the text of an attempt before.
    pub fn start(&self, run_id: &str, agent: &str) -> LiveText {
        let attempt = self.0.attempts.fetch_add(1, Ordering::Relaxed);
        let draft = Draft { attempt, text: String::new() };
        self.runs().entry(run_id.to_owned()).or_default().insert(agent.to_owned(), draft);
        LiveText { texts: self.clone(), run_id: run_id.to_owned(), agent: agent.to_owned(), attempt }
    }

    /// Subscribes to the texts of all runs.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Returns what a run's agents have written and the reader has not been given yet.
    pub fn unread(&self, run_id: &str, read: &ReadSoFar) -> Vec<TextPiece> {
        let runs = self.runs();
        let drafts = runs.get(run_id).into_iter().flatten();
        let pieces = drafts.filter_map(|(agent, draft)| {
            let position = read.0.get(agent).filter(|position| position.attempt == draft.attempt);
            let (bytes, offset) = position.map_or((0, 0), |position| (position.bytes, position.utf16));
            let text = draft.text[bytes..].to_owned();
            let piece = TextPiece {
                agent: agent.clone(),
                text,
                offset,
                attempt: draft.attempt,
                end: draft.text.len(),
            };
            (!piece.text.is_empty()).then_some(piece)
        });
        pieces.collect()
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<String, Draft>>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadSoFar {
    pub fn note(&mut self, piece: &TextPiece) {
        let utf16 = piece.offset + piece.text.encode_utf16().count();
        let position = Position { attempt: piece.attempt, bytes: piece.end, utf16 };
        self.0.insert(piece.agent.clone(), position);
    }
}

/// The text of one attempt, which is forgotten when this is dropped: the step has ended, or was aborted.
pub struct LiveText {
    texts: LiveTexts,
    run_id: String,
    agent: String,
    attempt: u64,
}

impl LiveText {
    pub fn push(&self, text: &str) {
        if let Some(draft) = self.texts.runs().get_mut(&self.run_id).and_then(|run| run.get_mut(&self.agent))
            && draft.attempt == self.attempt
        {
            draft.text.push_str(text);
        }
        self.texts.0.changed.send_replace(());
    }
}

impl Drop for LiveText {
    fn drop(&mut self) {
        let mut runs = self.texts.runs();
        let Some(run) = runs.get_mut(&self.run_id) else { return };
        run.retain(|agent, draft| *agent != self.agent || draft.attempt != self.attempt);
        if run.is_empty() {
            runs.remove(&self.run_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &LiveTexts, so_far: &mut ReadSoFar) -> Vec<(String, String, usize)> {
        let pieces = texts.unread("run", so_far);
        pieces.iter().for_each(|piece| so_far.note(piece));
        pieces.into_iter().map(|piece| (piece.agent, piece.text, piece.offset)).collect()
    }

    fn piece(agent: &str, text: &str, offset: usize) -> (String, String, usize) {
        (agent.to_owned(), text.to_owned(), offset)
    }

    #[test]
    fn a_late_reader_gets_all_so_far_and_then_the_rest() {
        let texts = LiveTexts::default();
        let text = texts.start("run", "analyst");
        let (mut early, mut late) = (ReadSoFar::default(), ReadSoFar::default());
        text.push("a🐝");
        assert_eq!(read(&texts, &mut early), [piece("analyst", "a🐝", 0)]);
        assert_eq!(read(&texts, &mut early), []);
        text.push("ä");
        text.push("b");
        assert_eq!(read(&texts, &mut early), [piece("analyst", "äb", 3)], "in UTF-16 units");
        assert_eq!(read(&texts, &mut late), [piece("analyst", "a🐝äb", 0)]);
        assert_eq!(texts.unread("another run", &late), []);
    }

    #[test]
    fn a_retry_starts_at_zero() {
        let texts = LiveTexts::default();
        let mut so_far = ReadSoFar::default();
        let first = texts.start("run", "analyst");
        first.push("one");
        assert_eq!(read(&texts, &mut so_far), [piece("analyst", "one", 0)]);
        drop(first);
        let second = texts.start("run", "analyst");
        assert_eq!(read(&texts, &mut so_far), []);
        second.push("two");
        assert_eq!(read(&texts, &mut so_far), [piece("analyst", "two", 0)]);
    }

    #[test]
    fn nothing_is_left_of_texts_that_have_ended() {
        let texts = LiveTexts::default();
        let (one, other) = (texts.start("run", "one"), texts.start("run", "other"));
        one.push("1");
        other.push("2");
        drop(one);
        assert_eq!(read(&texts, &mut ReadSoFar::default()), [piece("other", "2", 0)]);
        // An attempt that ends late does not remove the text of the next one.
        let next = texts.start("run", "other");
        other.push("late");
        drop(other);
        next.push("3");
        assert_eq!(read(&texts, &mut ReadSoFar::default()), [piece("other", "3", 0)]);
        drop(next);
        assert!(texts.runs().is_empty());
    }

    #[test]
    fn a_watcher_is_woken() {
        let texts = LiveTexts::default();
        let mut changed = texts.watch();
        changed.mark_unchanged();
        let text = texts.start("run", "analyst");
        text.push("a");
        assert!(changed.has_changed().unwrap());
    }
}
