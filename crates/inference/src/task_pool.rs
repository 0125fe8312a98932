//! Several threads on one product: a leader splits it into numbered tasks, and whoever is free helps.
//!
//! A leader never waits for a helper to come, only for tasks that one has begun. So a helper that is busy elsewhere,
//! or that the system has put aside, costs its help and nothing else.

#![expect(
    unsafe_code,
    reason = "lends what is on the leader's stack to helpers for as long as it waits for them"
)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::thread;

pub struct Crew {
    threads: usize,
    job: AtomicPtr<Job>,
    /// Helpers that may hold the job's address.
    visitors: AtomicUsize,
    leader: Mutex<()>,
}

struct Job {
    task: *const (dyn Fn(usize) + Sync),
    count: usize,
    next: AtomicUsize,
    failed: AtomicBool,
}

impl Job {
    /// Runs tasks until none is left.
    fn work(&self) {
        loop {
            let index = self.next.fetch_add(1, SeqCst);
            if index >= self.count {
                return;
            }
            // SAFETY: the leader keeps the closure alive until no helper holds the job.
            let task = unsafe { &*self.task };
            if catch_unwind(AssertUnwindSafe(|| task(index))).is_err() {
                self.failed.store(true, SeqCst);
            }
        }
    }
}

impl Crew {
    /// For work that is worth splitting among so many threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            threads,
            job: AtomicPtr::new(ptr::null_mut()),
            visitors: AtomicUsize::new(0),
            leader: Mutex::new(()),
        }
    }

    /// Leads a crew of this thread and others that do nothing but help, until `work` is done.
    pub fn with_helpers<T>(threads: usize, work: impl FnOnce(&Self) -> T) -> T {
        let crew = Self::new(threads.max(1));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 1..crew.threads {
                scope.spawn(|| {
                    let mut pause = Pause::default();
                    while !over.load(SeqCst) {
                        if crew.help() {
                            pause = Pause::default();
                        } else {
                            pause.wait();
                        }
                    }
                });
            }
            // The helpers must be sent home even when the work panics.
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&crew)));
            over.store(true, SeqCst);
            outcome.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `task` for each number below `count`, here and on the threads that help, and returns when all are done.
    pub(crate) fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        // Two leaders at once would need two places; the second works alone.
        let Ok(_leading) = self.leader.try_lock() else {
            return (0..count).for_each(task);
        };
        // SAFETY: only the lifetime is forgotten; this function returns after the last use.
        let task: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(task) };
        let job = Job { task, count, next: AtomicUsize::new(0), failed: AtomicBool::new(false) };
        self.job.store((&raw const job).cast_mut(), SeqCst);
        job.work();
        self.job.store(ptr::null_mut(), SeqCst);
        let mut pause = Pause::default();
        while self.visitors.load(SeqCst) > 0 {
            pause.wait();
        }
        assert!(!job.failed.load(SeqCst), "a task failed");
    }

    /// Works on what a leader has begun, if there is anything.
    pub(crate) fn help(&self) -> bool {
        if self.job.load(SeqCst).is_null() {
            return false;
        }
        self.visitors.fetch_add(1, SeqCst);
        let job = self.job.load(SeqCst);
        // SAFETY: a leader that has taken its job back waits for visitors, of which we are one since before we looked.
        let helped = unsafe { job.as_ref() }.map(Job::work).is_some();
        self.visitors.fetch_sub(1, SeqCst);
        helped
    }

    /// Runs `task` for each item.
    pub(crate) fn each_item<T: Send>(&self, items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
        let first = Shared(items.as_mut_ptr());
        self.each(items.len(), &|index| {
            let first = &first;
            // SAFETY: the index is below the length, and each index comes once, so nobody else has this item.
            task(index, unsafe { &mut *first.0.add(index) });
        });
    }

    /// Runs `task` for each `len` of the values.
    pub(crate) fn each_chunk(&self, values: &mut [f32], len: usize, task: impl Fn(usize, &mut [f32]) + Sync) {
        let mut chunks: Vec<&mut [f32]> = values.chunks_mut(len).collect();
        self.each_item(&mut chunks, |index, chunk| task(index, chunk));
    }
}

/// Waits for what comes within microseconds, if the thread that brings it is running; else lets it run.
#[derive(Default)]
pub(crate) struct Pause(u32);

impl Pause {
    const SPINS: u32 = 2000;

    pub fn wait(&mut self) {
        self.0 += 1;
        if self.0 < Self::SPINS {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

struct Shared<T>(*mut T);

// SAFETY: `each_item` hands each item to one thread only, and its items may be sent.
unsafe impl<T: Send> Sync for Shared<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_visited_once_whoever_helps() {
        Crew::with_helpers(2, |crew| {
            for round in 0..2000 {
                let mut items = vec![0usize; 1 + round % 40];
                crew.each_item(&mut items, |index, item| *item += index + round);
                assert!(items.iter().enumerate().all(|(index, item)| *item == index + round));
            }
        });
    }

    #[test]
    fn a_task_that_panics_is_told_to_the_leader_after_the_others_are_done() {
        Crew::with_helpers(2, |crew| {
            let done = AtomicUsize::new(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                crew.each(100, &|index| {
                    assert!(index != 50);
                    done.fetch_add(1, SeqCst);
                });
            }));
            assert!(outcome.is_err());
            assert_eq!(done.load(SeqCst), 99);
            crew.each(1, &|_| {});
        });
    }
}
