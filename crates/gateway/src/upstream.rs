//! The targets of one route: which one takes the next request.

mod body;
mod connection;
mod response;
mod target;

pub use body::UpstreamBody;
pub use connection::ExchangeError;
pub use response::ResponseHead;
pub use target::{Lease, Target, TargetUrl};

use base::Clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// Returns a connection to the least busy target, a healthy one first. If a target cannot be connected to, the next one
    /// is tried: nothing was sent, so any request may go there.
    pub async fn lease(&self, fresh: bool) -> Result<Lease, NoTarget> {
        if let [only] = &self.targets[..] {
            return only.lease(fresh).await.map_err(|_| NoTarget);
        }
        for target in self.by_preference() {
            if let Ok(lease) = target.lease(fresh).await {
                return Ok(lease);
            }
        }
        Err(NoTarget)
    }

    fn by_preference(&self) -> Vec<Arc<Target>> {
        let mut targets = self.targets.clone();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // Rotated first and sorted stably after, so that equally busy targets alternate.
        let first = turn % targets.len().max(1);
        targets.rotate_left(first);
        let now = self.clock.now_ms();
        targets.sort_by_key(|target| (target.is_down(now), target.busy()));
        targets
    }
}
