//! Waking up: who waits for a topic, and how a commit reaches them, in this process and in others.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Topics travel as hashes, so that they may be of any length and a notification always fits. Two topics
/// that share a hash wake each other in vain, which does no harm.
pub(crate) fn topic_hash(topic: &str) -> u64 {
    fnv1a(topic.as_bytes())
}

/// FNV-1a. The standard library's hasher may differ from build to build, and processes must agree.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The waiting ones of this process.
pub(crate) struct Hub {
    id: u64,
    waiting: Mutex<HashMap<u64, watch::Sender<()>>>,
    someone_waits: Notify,
}

impl Hub {
    pub(crate) fn new(id: u64) -> Self {
        Self { id, waiting: Mutex::default(), someone_waits: Notify::new() }
    }

    /// Tells this process's own messages from those of others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn subscribe(self: &Arc<Self>, topic: &str) -> Wakeup {
        let topic = topic_hash(topic);
        let receiver = self.lock().entry(topic).or_default().subscribe();
        self.someone_waits.notify_one();
        Wakeup { hub: self.clone(), topic, receiver }
    }

    pub(crate) fn publish(&self, topics: &[u64]) {
        let waiting = self.lock();
        for sender in topics.iter().filter_map(|topic| waiting.get(topic)) {
            sender.send_replace(());
        }
    }

    /// For when it is unknown what was missed.
    fn publish_all(&self) {
        self.lock().values().for_each(|sender| sender.send_replace(()));
    }

    async fn until_someone_waits(&self) {
        while self.lock().is_empty() {
            self.someone_waits.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, watch::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription to one topic. It remembers a wake-up that comes while nobody awaits it.
pub struct Wakeup {
    hub: Arc<Hub>,
    topic: u64,
    receiver: watch::Receiver<()>,
}

impl Wakeup {
    /// Returns once for all wake-ups since the subscription or the last return.
    pub async fn notified(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The sender lives in the hub as long as this subscription does.
            std::future::pending().await
        }
    }
}

impl Drop for Wakeup {
    fn drop(&mut self) {
        let mut waiting = self.hub.lock();
        let this_is_the_last = waiting.get(&self.topic).is_some_and(|sender| sender.receiver_count() == 1);
        if this_is_the_last {
            waiting.remove(&self.topic);
        }
    }
}

/// The sender and the topics as hexadecimal text of fixed width: the form in which both engines carry them.
fn encode(topics: &[u64]) -> String {
    topics.iter().fold(String::with_capacity(topics.len() * 16), |mut text, topic| {
        let _ = write!(text, "{topic:016x}");
        text
    })
}

fn decode(text: &str) -> Vec<u64> {
    let numbers = text.as_bytes().chunks(16).filter_map(|digits| std::str::from_utf8(digits).ok());
    numbers.filter_map(|digits| u64::from_str_radix(digits, 16).ok()).collect()
}
