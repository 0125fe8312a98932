//! Threads with a runtime each, for connections that stay on one thread.
//!
//! tokio's shared scheduler moves tasks between threads and, with more than 256 of them ready, through a queue with a lock.
//! The connections of a proxy are many and alike, and cost less on separate threads.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Handle;

pub struct Workers {
    handles: Vec<Handle>,
    next: AtomicUsize,
}

thread_local! {
    static INDEX: Cell<usize> = const { Cell::new(0) };
}

impl Workers {
    /// Starts one thread per core. They end with the process.
    pub fn start(name: &str) -> io::Result<Self> {
        let number = std::thread::available_parallelism().map_or(1, usize::from);
        let handles = (0..number).map(|index| start_thread(format!("{name}-{index}"), index));
        Ok(Self { handles: handles.collect::<io::Result<_>>()?, next: AtomicUsize::new(0) })
    }

    /// Returns the next thread, in turn.
    pub(super) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(handle) = self.handles.get(turn % self.handles.len().max(1)) {
            handle.spawn(connection);
        }
    }
}

/// Returns the number of this thread; 0 on any other thread.
pub fn worker_index() -> usize {
    INDEX.get()
}

fn start_thread(name: String, index: usize) -> io::Result<Handle> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new().name(name).spawn(move || {
        INDEX.set(index);
        runtime.block_on(std::future::pending::<()>());
    })?;
    Ok(handle)
}
