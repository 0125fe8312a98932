//! The targets of one route: which one takes the next request.

mod body;
mod connection;
mod response;
mod target;

pub use body::UpstreamBody;
pub use connection::ExchangeError;
pub use response::ResponseHead;
pub use target::{Lease, Target, TargetUrl};

use crate::affinity::Affinity;
use base::Clock;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A target has too much to do for its own callers if it has so many requests more than twice the average.
const SPARE: usize = 8;

pub struct Upstreams {
    targets: Vec<Arc<Target>>,
    turn: AtomicUsize,
    clock: Clock,
}

#[derive(Debug, thiserror::Error)]
#[error("no target could be connected to")]
pub struct NoTarget;

impl Upstreams {
    pub fn new(urls: Vec<TargetUrl>, clock: Clock) -> Self {
        let targets = urls.into_iter().map(|url| Arc::new(Target::new(url, clock.clone()))).collect();
        Self { targets, turn: AtomicUsize::new(0), clock }
    }

    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    pub fn targets(&self) -> &[Arc<Target>] {
        &self.targets
    }

    /// Returns a connection to the caller's own target, or to the least busy one; to a healthy one first. If a target cannot
    /// be connected to, the next one is tried: nothing was sent, so any request may go there.
    pub async fn lease(&self, fresh: bool, affinity: Option<Affinity>) -> Result<Lease, NoTarget> {
        if let [only] = &self.targets[..] {
            return only.lease(fresh).await.map_err(|_| NoTarget);
        }
        for target in self.by_preference(affinity) {
            if let Ok(lease) = target.lease(fresh).await {
                return Ok(lease);
            }
        }
        Err(NoTarget)
    }

    fn by_preference(&self, affinity: Option<Affinity>) -> Vec<Arc<Target>> {
        let mut targets = self.targets.clone();
        if let Some(affinity) = affinity {
            let now = self.clock.now_ms();
            let requests: usize = targets.iter().map(|target| target.busy()).sum();
            let most = 2 * requests / targets.len().max(1) + SPARE;
            targets.sort_by_cached_key(|target| {
                let weight = affinity.weight(target.host());
                (target.is_down(now), target.busy() > most, Reverse(weight))
            });
            return targets;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // Rotated first and sorted stably after, so that equally busy targets alternate.
        let first = turn % targets.len().max(1);
        targets.rotate_left(first);
        let now = self.clock.now_ms();
        targets.sort_by_key(|target| (target.is_down(now), target.busy()));
        targets
    }
}
