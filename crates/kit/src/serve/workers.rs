//! Threads that run connections, each by itself: a connection stays on the thread that it was given to.
//!
//! tokio's shared scheduler moves tasks between threads and, with more than 256 of them ready, through a queue
//! behind a lock. A proxy's connections are many and alike; a thread of their own serves them with less.

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
    /// One thread a core. They end with the process.
    pub fn start(name: &str) -> io::Result<Self> {
        let number = std::thread::available_parallelism().map_or(1, usize::from);
        let handles = (0..number).map(|index| start_thread(format!("{name}-{index}"), index));
        Ok(Self { handles: handles.collect::<io::Result<_>>()?, next: AtomicUsize::new(0) })
    }

    /// Threads take turns.
    pub(super) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(handle) = self.handles.get(turn % self.handles.len().max(1)) {
            handle.spawn(connection);
        }
    }
}

/// Which of the threads this is; 0 on any other.
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
