//! A timer for deadlines that are set often and reached rarely.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that costs nothing while deadlines only move forward: if it fires too early, it is set again.
#[derive(Default)]
pub struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Returns whether `deadline` has passed; if not, the task is woken then.
    pub fn expired(&mut self, deadline: Instant, cx: &mut Context<'_>) -> bool {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if deadline < sleep.deadline() {
            sleep.as_mut().reset(deadline);
        }
        while sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= deadline {
                return true;
            }
            sleep.as_mut().reset(deadline);
        }
        false
    }

    /// Sets the timer to wake the task after `delay`, unless it is set already.
    pub fn keep_set(&mut self, delay: Duration, cx: &mut Context<'_>) {
        if self.sleep.as_ref().is_none_or(|sleep| sleep.is_elapsed()) {
            self.expired(Instant::now() + delay, cx);
        }
    }
}
