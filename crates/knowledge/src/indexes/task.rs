//! A background task that several requests wait for. It goes on if they give up.

use std::sync::{Arc, Mutex, PoisonError};
use store::StoreError;
use tokio::sync::watch;

/// The result of a task, for all requests that waited for it.
pub type Outcome = Result<(), Arc<StoreError>>;

/// At most one task at a time.
#[derive(Default)]
pub struct SharedTask(Mutex<Option<Running>>);

/// A running task. The value is none until it has ended.
#[derive(Clone)]
pub struct Running(watch::Receiver<Option<Outcome>>);

impl SharedTask {
    /// Joins the task that is running, or starts `work`.
    pub fn join<W>(&self, work: impl FnOnce() -> W) -> Running
    where
        W: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = current.as_ref().filter(|running| !running.has_ended()) {
            return running.clone();
        }
        let (end, ended) = watch::channel(None);
        let work = work();
        tokio::spawn(async move {
            let outcome = work.await.map_err(Arc::new);
            if let Err(error) = &outcome {
                tracing::error!(%error, "documents could not be read into memory");
            }
            end.send_replace(Some(outcome));
        });
        current.insert(Running(ended)).clone()
    }

    pub fn is_running(&self) -> bool {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().is_some_and(|running| !running.has_ended())
    }
}

impl Running {
    /// Waits for the end of the task. One that panicked counts as stopped.
    pub async fn ended(mut self) -> Outcome {
        let outcome = self.0.wait_for(Option::is_some).await;
        outcome
            .ok()
            .and_then(|outcome| outcome.clone())
            .unwrap_or_else(|| Err(Arc::new(StoreError::Stopping)))
    }

    fn has_ended(&self) -> bool {
        // The channel closes with the task, also if the task panicked.
        self.0.borrow().is_some() || self.0.has_changed().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use tokio::sync::Notify;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_task_goes_on_without_those_who_waited_and_is_shared() {
        let (task, go, runs) =
            (SharedTask::default(), Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let join = || {
            let (go, runs) = (go.clone(), runs.clone());
            task.join(|| async move {
                go.notified().await;
                runs.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
        };
        assert!(timeout(Duration::from_millis(20), join().ended()).await.is_err(), "the first gives up");
        let second = join();
        go.notify_one();
        assert!(second.ended().await.is_ok());
        assert_eq!(runs.load(Ordering::SeqCst), 1, "the second joined what the first had started");
        assert!(!task.is_running());
        go.notify_one();
        assert!(join().ended().await.is_ok());
        assert_eq!(runs.load(Ordering::SeqCst), 2, "one that has ended is not joined");
    }

    #[tokio::test]
    async fn a_failure_is_told_to_all_and_the_next_starts_anew() {
        let task = SharedTask::default();
        let failing = || task.join(|| async { Err(StoreError::Stopping) });
        let (one, other) = (failing(), failing());
        assert!(one.ended().await.is_err() && other.ended().await.is_err());
        assert!(task.join(|| async { Ok(()) }).ended().await.is_ok());
    }

    #[tokio::test]
    async fn a_panic_ends_the_task() {
        let task = SharedTask::default();
        let panicking = task.join(|| async { panic!("a bug") });
        assert!(panicking.ended().await.is_err());
        assert!(!task.is_running());
    }
}
