//! How many sources of one owner run at the same time in one process: no owner takes all.

use super::Sources;
use std::sync::PoisonError;

const MOST_RUNS_OF_OWNER: usize = 4;

/// A run of an owner at work.
pub struct Slot<'a> {
    sources: &'a Sources,
    owner_id: String,
}

impl<'a> Slot<'a> {
    /// Returns none if the owner has as many as one may have.
    pub fn take(sources: &'a Sources, owner_id: String) -> Option<Self> {
        let mut running = sources.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = running.entry(owner_id.clone()).or_default();
        if *runs >= MOST_RUNS_OF_OWNER {
            return None;
        }
        *runs += 1;
        Some(Self { sources, owner_id })
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut running = self.sources.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get_mut(&self.owner_id) {
            Some(runs) if *runs > 1 => *runs -= 1,
            _ => drop(running.remove(&self.owner_id)),
        }
    }
}
