//! Holds on objects: one that is kept is seen by all processes, and one that is not ends by itself.

use crate::engine::{Engine, START, on_both_engines};
use base::Clock;
use std::time::Duration;
use store::StoreError;
use store::hold::{Hold, is_held};

on_both_engines!(a_hold_is_seen_by_others_until_it_is_released, a_hold_of_a_dead_process_ends);

async fn a_hold_is_seen_by_others_until_it_is_released(engine: Engine) {
    let (here, there) = (engine.open().await, engine.open().await);
    assert!(!is_held(&there).await.unwrap());
    let (one, other) = (Hold::take(&here).await.unwrap(), Hold::take(&here).await.unwrap());
    one.release().await.unwrap();
    assert!(is_held(&there).await.unwrap(), "the other is kept");
    other.release().await.unwrap();
    assert!(!is_held(&there).await.unwrap());
}

async fn a_hold_of_a_dead_process_ends(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let hold = Hold::take(&db).await.unwrap();
    clock.advance(Duration::from_secs(179));
    assert!(is_held(&db).await.unwrap());
    clock.advance(Duration::from_secs(1));
    assert!(!is_held(&db).await.unwrap());
    assert!(matches!(hold.release().await, Err(StoreError::Conflict { .. })), "it was lost meanwhile");
    Hold::take(&db).await.unwrap().release().await.unwrap();
    assert!(db.namespace("HOLDS").list("", None, 10).await.unwrap().is_empty(), "the old one is removed");
}
