//! Wake-ups: which subscribers wait for a topic, and how a commit reaches them, in this process and in others.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// How often a subscriber reads without a wake-up. A wake-up can be lost: a notification server restarts, a machine is
/// paused.
const FALLBACK_POLL: Duration = Duration::from_secs(3);
/// How long to wait before listening again after an error.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// Returns the hash under which a topic is sent: topics may have any length, a notification may not. Two topics with the
/// same hash wake each other without need, which does no harm.
pub(crate) fn topic_hash(topic: &str) -> u64 {
    fnv1a(topic.as_bytes())
}

/// Hashes with FNV-1a. The standard library's hasher may differ between builds, and all processes must agree.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The subscribers of this process.
pub(crate) struct Hub {
    id: u64,
    /// How many messages this process has sent to others.
    sent: AtomicU64,
    topics: Mutex<HashMap<u64, watch::Sender<()>>>,
    subscribed: Notify,
}

impl Hub {
    pub(crate) fn new(id: u64) -> Self {
        Self { id, sent: AtomicU64::new(0), topics: Mutex::default(), subscribed: Notify::new() }
    }

    /// Returns the id that tells this process's messages from those of others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Counts a message to other processes, and returns its number.
    fn next_message(&self) -> u64 {
        self.sent.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn subscribe(self: &Arc<Self>, topic: &str) -> Wakeup {
        let topic = topic_hash(topic);
        let receiver = self.lock().entry(topic).or_default().subscribe();
        self.subscribed.notify_one();
        Wakeup { hub: self.clone(), topic, receiver }
    }

    pub(crate) fn publish(&self, topics: &[u64]) {
        let subscribed = self.lock();
        for sender in topics.iter().filter_map(|topic| subscribed.get(topic)) {
            sender.send_replace(());
        }
    }

    /// Wakes every subscriber, for when it is unknown what was missed.
    fn publish_all(&self) {
        self.lock().values().for_each(|sender| sender.send_replace(()));
    }

    /// Waits until there is a subscriber.
    async fn until_subscribed(&self) {
        while self.lock().is_empty() {
            self.subscribed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, watch::Sender<()>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription to one topic. It remembers a wake-up that comes while it is not awaited.
pub struct Wakeup {
    hub: Arc<Hub>,
    topic: u64,
    receiver: watch::Receiver<()>,
}

impl Wakeup {
    /// Waits for a wake-up, or until it is time to look without one.
    pub async fn notified_or_poll(&mut self) {
        let _ = tokio::time::timeout(FALLBACK_POLL, self.notified()).await;
    }

    /// Returns whether a wake-up has come since the last return, without waiting for one.
    pub fn was_notified(&mut self) -> bool {
        let was_notified = self.receiver.has_changed().unwrap_or(true);
        self.receiver.mark_unchanged();
        was_notified
    }

    /// Waits for a wake-up. Returns once for all wake-ups since the subscription or the last return.
    pub async fn notified(&mut self) {
        if self.receiver.changed().await.is_err() {
            // The sender lives in the hub as long as this subscription does.
            std::future::pending().await
        }
    }
}

impl Drop for Wakeup {
    fn drop(&mut self) {
        let mut topics = self.hub.lock();
        let this_is_the_last = topics.get(&self.topic).is_some_and(|sender| sender.receiver_count() == 1);
        if this_is_the_last {
            topics.remove(&self.topic);
        }
    }
}

/// Encodes a sender or topics as hexadecimal text of fixed width, as both databases carry them.
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
