//! Which users' indexes and graphs stay in memory.
//!
//! All of them together have a limit. A large load reserves its memory first: the least recently used are evicted, but an
//! index that took long to load stays for a while. Those that are not used are evicted after a time in any case. A search
//! keeps its index alive, also if that is evicted meanwhile.

use super::owner::{Memory, Owner};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long an index stays at least; longer if loading it took long.
const SHORTEST_STAY: Duration = Duration::from_secs(10);
const STAY_FOR_LOAD_TIME: u32 = 3;
/// The pause between two attempts to free memory.
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// An owner that is larger than the limit leaves a fourth of it to the others.
const LEFT_FOR_OTHERS: u64 = 4;

type Owners = HashMap<String, Arc<Owner>>;

pub struct Cache {
    limit: u64,
    dimension: usize,
    started: Instant,
    owners: Mutex<Owners>,
}

/// Memory that is reserved for a load. Released when dropped: by then, the loaded index is counted itself.
pub struct Reservation<'a> {
    owner: &'a Owner,
    bytes: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.owner.memory.reserved.fetch_sub(self.bytes, Relaxed);
    }
}

impl Cache {
    /// For indexes of vectors of this dimension.
    pub fn new(limit: u64, dimension: usize) -> Self {
        Self { limit, dimension, started: Instant::now(), owners: Mutex::default() }
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns what a user has in memory, empty at first.
    pub fn owner(&self, user_id: &str) -> Arc<Owner> {
        let mut owners = self.lock();
        let new = || Arc::new(Owner::new(user_id, self.dimension));
        let owner = owners.entry(user_id.to_owned()).or_insert_with(new);
        owner.memory.last_used.store(self.now(), Relaxed);
        owner.clone()
    }

    /// Waits until so many more bytes are free for an owner, and reserves them.
    pub async fn reserve<'a>(&self, owner: &'a Owner, bytes: u64) -> Reservation<'a> {
        while !self.try_reserve(owner, bytes) {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        self.report();
        Reservation { owner, bytes }
    }

    fn try_reserve(&self, owner: &Owner, bytes: u64) -> bool {
        let mut owners = self.lock();
        let own = owner.memory.bytes() + bytes;
        let for_others = self.limit.saturating_sub(own).max(self.limit / LEFT_FOR_OTHERS);
        let Some(evicted) = self.to_evict(&owners, owner, for_others) else { return false };
        remove(&mut owners, &evicted, "room");
        owner.memory.reserved.fetch_add(bytes, Relaxed);
        if own > self.limit {
            let (user, limit) = (&owner.user_id, self.limit);
            tracing::warn!(
                user,
                bytes = own,
                limit,
                "one user's documents need more memory than INDEX_MEMORY allows"
            );
            metrics::counter!("knowledge_index_over_limit_total").increment(1);
        }
        true
    }

    /// Returns which of the others must be evicted so that they take at most `most` bytes; none if too few may be evicted.
    fn to_evict(&self, owners: &Owners, owner: &Owner, most: u64) -> Option<Vec<String>> {
        let others = || owners.values().filter(|other| other.user_id != owner.user_id);
        let mut taken: u64 = others().map(|other| other.memory.bytes()).sum();
        let mut candidates: Vec<&Arc<Owner>> = others().filter(|other| self.may_be_evicted(other)).collect();
        candidates.sort_by_key(|other| other.memory.last_used.load(Relaxed));
        let mut evicted = Vec::new();
        for candidate in candidates {
            if taken <= most {
                break;
            }
            taken -= candidate.memory.bytes().min(taken);
            evicted.push(candidate.user_id.clone());
        }
        (taken <= most).then_some(evicted)
    }

    /// Returns whether an owner may be evicted: not while something is loaded for it. Waiting for a permit does not count,
    /// because the load that has the permit may be waiting for this memory.
    fn may_be_evicted(&self, owner: &Owner) -> bool {
        let Memory { reserved, stays_until, .. } = &owner.memory;
        let is_reading = reserved.load(Relaxed) > 0;
        !is_reading && owner.memory.bytes() > 0 && stays_until.load(Relaxed) <= self.now()
    }

    /// Protects an owner from eviction for a while after a load that took so long. Only once, so that no user can keep
    /// others out.
    pub fn protect(&self, owner: &Owner, took: Duration) {
        let stay = SHORTEST_STAY.max(took * STAY_FOR_LOAD_TIME);
        let until = self.now() + stay.as_millis() as u64;
        let _ = owner.memory.stays_until.compare_exchange(0, until, Relaxed, Relaxed);
    }

    /// Evicts others after an owner has grown.
    pub fn trim(&self, owner: &Owner) {
        let mut owners = self.lock();
        let for_others = self.limit.saturating_sub(owner.memory.bytes());
        // If too few may be evicted yet, the next large load waits.
        if let Some(evicted) = self.to_evict(&owners, owner, for_others) {
            remove(&mut owners, &evicted, "room");
        }
        drop(owners);
        self.report();
    }

    /// Evicts those that were not used for so long.
    pub fn evict_idle(&self, idle: Duration) {
        let mut owners = self.lock();
        let since = self.now().saturating_sub(idle.as_millis() as u64);
        let is_idle = |owner: &&Arc<Owner>| owner.memory.last_used.load(Relaxed) < since && !owner.is_busy();
        let evicted: Vec<String> =
            owners.values().filter(is_idle).map(|owner| owner.user_id.clone()).collect();
        remove(&mut owners, &evicted, "idle");
        drop(owners);
        self.report();
    }

    fn report(&self) {
        let (owners, bytes) = self.held();
        metrics::gauge!("knowledge_index_bytes").set(bytes as f64);
        metrics::gauge!("knowledge_index_owners").set(owners as f64);
    }

    /// Returns how many users have something in memory, and the bytes of it.
    pub fn held(&self) -> (u64, u64) {
        let owners = self.lock();
        (owners.len() as u64, owners.values().map(|owner| owner.memory.bytes()).sum())
    }

    fn lock(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

fn remove(owners: &mut Owners, evicted: &[String], reason: &'static str) {
    let gone: Vec<Arc<Owner>> = evicted.iter().filter_map(|id| owners.remove(id)).collect();
    if gone.is_empty() {
        return;
    }
    metrics::counter!("knowledge_index_evictions_total", "reason" => reason).increment(gone.len() as u64);
    // Freeing a large index takes too long for async threads.
    tokio::task::spawn_blocking(move || drop(gone));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, timeout};

    const MIB: u64 = 1 << 20;

    /// Adds an owner whose index takes so many bytes.
    async fn indexed(cache: &Cache, user_id: &str, bytes: u64) -> Arc<Owner> {
        let owner = cache.owner(user_id);
        owner.memory.index.store(bytes, Relaxed);
        advance(Duration::from_millis(5)).await;
        owner
    }

    fn held(cache: &Cache) -> Vec<String> {
        let mut held: Vec<String> = cache.lock().keys().cloned().collect();
        held.sort();
        held
    }

    #[tokio::test(start_paused = true)]
    async fn the_least_recently_used_is_evicted_first() {
        let cache = Cache::new(100 * MIB, 4);
        for user in ["a", "b", "c"] {
            indexed(&cache, user, 30 * MIB).await;
        }
        cache.owner("a");
        let new = cache.owner("d");
        drop(cache.reserve(&new, 30 * MIB).await);
        assert_eq!(held(&cache), ["a", "c", "d"]);
    }

    #[tokio::test(start_paused = true)]
    async fn graphs_count_as_much_as_indexes() {
        let cache = Cache::new(100 * MIB, 4);
        let owner = indexed(&cache, "a", MIB).await;
        owner.memory.graph.store(90 * MIB, Relaxed);
        let new = cache.owner("b");
        drop(cache.reserve(&new, 30 * MIB).await);
        assert_eq!(held(&cache), ["b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn two_that_do_not_fit_together_evict_each_other_only_after_a_while() {
        let cache = Cache::new(100 * MIB, 4);
        let first = cache.owner("a");
        first.memory.index.store(80 * MIB, Relaxed);
        // It was loaded for a minute, so it stays for three at least.
        cache.protect(&first, Duration::from_secs(60));
        let second = cache.owner("b");
        assert!(timeout(Duration::from_secs(170), cache.reserve(&second, 80 * MIB)).await.is_err());
        assert_eq!(held(&cache), ["a", "b"]);
        cache.protect(&first, Duration::from_secs(60));
        assert!(timeout(Duration::from_secs(20), cache.reserve(&second, 80 * MIB)).await.is_ok());
        assert_eq!(held(&cache), ["b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_being_read_is_not_evicted() {
        let cache = Cache::new(100 * MIB, 4);
        let first = cache.owner("a");
        let reading = cache.reserve(&first, 80 * MIB).await;
        let second = cache.owner("b");
        assert!(timeout(Duration::from_secs(60), cache.reserve(&second, 80 * MIB)).await.is_err());
        first.memory.index.store(80 * MIB, Relaxed);
        drop(reading);
        assert!(timeout(Duration::from_secs(1), cache.reserve(&second, 80 * MIB)).await.is_ok());
        assert_eq!(held(&cache), ["b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn others_are_evicted_if_one_has_grown() {
        let cache = Cache::new(100 * MIB, 4);
        indexed(&cache, "a", 60 * MIB).await;
        let grown = indexed(&cache, "b", 60 * MIB).await;
        cache.trim(&grown);
        assert_eq!(held(&cache), ["b"]);
        grown.memory.index.store(600 * MIB, Relaxed);
        cache.trim(&grown);
        assert_eq!(held(&cache), ["b"], "it is not evicted to make space for itself");
    }

    #[tokio::test(start_paused = true)]
    async fn one_larger_than_the_limit_is_read_beside_a_few_small_ones() {
        let cache = Cache::new(100 * MIB, 4);
        indexed(&cache, "large", 40 * MIB).await;
        indexed(&cache, "small", 10 * MIB).await;
        let huge = cache.owner("huge");
        let room = cache.reserve(&huge, 500 * MIB).await;
        assert_eq!(held(&cache), ["huge", "small"]);
        assert_eq!(huge.memory.bytes(), 500 * MIB);
        drop(room);
        assert_eq!(huge.memory.bytes(), 0, "the reservation is released");
    }

    #[tokio::test(start_paused = true)]
    async fn unused_owners_are_evicted_after_a_while() {
        let cache = Cache::new(100 * MIB, 4);
        indexed(&cache, "a", MIB).await;
        indexed(&cache, "b", MIB).await;
        advance(Duration::from_secs(60)).await;
        cache.owner("b");
        cache.evict_idle(Duration::from_secs(60));
        assert_eq!(held(&cache), ["b"]);
    }
}
