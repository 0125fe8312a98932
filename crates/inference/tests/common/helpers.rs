//! Threads that help a task pool, as those of the engine do.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

/// As often as the engine's threads.
const SPINS: u32 = 2000;

/// Runs `work` on this thread while the others of `threads` call `help` again and again.
pub fn with_helpers<T>(threads: usize, help: impl Fn() -> bool + Sync, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| {
                let mut idle = 0;
                while !is_over.load(SeqCst) {
                    idle = if help() { 0 } else { idle + 1 };
                    if idle < SPINS {
                        std::hint::spin_loop();
                    } else {
                        thread::yield_now();
                    }
                }
            });
        }
        // The helpers must end even if the work panics.
        let outcome = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, SeqCst);
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    })
}
