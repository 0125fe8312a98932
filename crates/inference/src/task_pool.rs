//! Splits one product over several threads: a leader numbers its tasks, and threads that are free help with them.
//!
//! A leader never waits for a helper to arrive, only for tasks that a helper has begun. A helper that is busy, or that
//! the system does not schedule, therefore delays nothing.

#![expect(
    unsafe_code,
    reason = "helpers borrow the leader's closure, which lives until the leader has waited for them"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::thread;

/// The place where a leader posts a job and helpers find it. It owns no threads.
pub struct TaskPool {
    threads: usize,
    job: AtomicPtr<Job>,
    /// Helpers that may hold the job's address.
    helpers: AtomicUsize,
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

impl TaskPool {
    /// Creates a pool for jobs that are split over this many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            job: AtomicPtr::new(ptr::null_mut()),
            helpers: AtomicUsize::new(0),
            leader: Mutex::new(()),
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `task` for each number below `count`, on this thread and on those that help; returns when all are done.
    pub(crate) fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        // There is room for one job; a second leader runs its tasks alone.
        let Ok(_leading) = self.leader.try_lock() else {
            return (0..count).for_each(task);
        };
        // SAFETY: only the lifetime changes, and this function returns after the last use.
        let task: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(task) };
        let job = Job { task, count, next: AtomicUsize::new(0), failed: AtomicBool::new(false) };
        self.job.store((&raw const job).cast_mut(), SeqCst);
        job.work();
        self.job.store(ptr::null_mut(), SeqCst);
        let mut pause = Pause::default();
        while self.helpers.load(SeqCst) > 0 {
            pause.wait();
        }
        assert!(!job.failed.load(SeqCst), "a task failed");
    }

    /// Works on the tasks of a leader, if there are any. Returns whether there were.
    pub fn help(&self) -> bool {
        if self.job.load(SeqCst).is_null() {
            return false;
        }
        self.helpers.fetch_add(1, SeqCst);
        let job = self.job.load(SeqCst);
        // SAFETY: a leader that takes its job back waits until `helpers` is 0, and this thread is counted already.
        let helped = unsafe { job.as_ref() }.map(Job::work).is_some();
        self.helpers.fetch_sub(1, SeqCst);
        helped
    }

    /// Runs `task` for each item.
    pub(crate) fn each_item<T: Send>(&self, items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
        let first = Shared(items.as_mut_ptr());
        self.each(items.len(), &|index| {
            let first = &first;
            // SAFETY: the index is below the length, and each index comes once, so no other thread has this item.
            task(index, unsafe { &mut *first.0.add(index) });
        });
    }

    /// Runs `task` for each chunk of `len` values.
    pub(crate) fn each_chunk(&self, values: &mut [f32], len: usize, task: impl Fn(usize, &mut [f32]) + Sync) {
        let mut chunks: Vec<&mut [f32]> = values.chunks_mut(len).collect();
        self.each_item(&mut chunks, |index, chunk| task(index, chunk));
    }
}

/// Waits for something that takes microseconds: spins at first, then yields to other threads.
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

// SAFETY: `each_item` gives each item to one thread only, and its items are `Send`.
unsafe impl<T: Send> Sync for Shared<T> {}

#[cfg(test)]
#[path = "../tests/common/helpers.rs"]
mod helpers;

#[cfg(test)]
mod tests {
    use super::helpers::with_helpers;
    use super::*;

    #[test]
    fn each_item_is_visited_once_with_helpers() {
        let pool = TaskPool::new(2);
        with_helpers(
            2,
            || pool.help(),
            || {
                for round in 0..2000 {
                    let mut items = vec![0usize; 1 + round % 40];
                    pool.each_item(&mut items, |index, item| *item += index + round);
                    assert!(items.iter().enumerate().all(|(index, item)| *item == index + round));
                }
            },
        );
    }

    #[test]
    fn a_task_that_panics_fails_the_job_after_the_others_are_done() {
        let pool = TaskPool::new(2);
        with_helpers(
            2,
            || pool.help(),
            || {
                let done = AtomicUsize::new(0);
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    pool.each(100, &|index| {
                        assert!(index != 50);
                        done.fetch_add(1, SeqCst);
                    });
                }));
                assert!(outcome.is_err());
                assert_eq!(done.load(SeqCst), 99);
                pool.each(1, &|_| {});
            },
        );
    }
}
