//! Waking up: after a commit, in time, across handles, and never lost.

use crate::engine::{Engine, on_both_engines};
use std::time::{Duration, Instant};
use store::{Db, Wakeup};
use tokio::time::timeout;

on_both_engines![
    a_commit_wakes_other_handles_within_half_a_second,
    a_wake_up_before_the_wait_is_not_lost,
    a_woken_watcher_sees_what_was_written,
    a_rolled_back_transaction_wakes_no_watcher,
    other_topics_sleep_on,
    a_caller_that_goes_away_in_the_commit_still_wakes,
    very_many_and_very_long_topics_pass,
];

async fn wake(db: &Db, topic: &str) {
    let mut tx = db.begin().await.unwrap();
    tx.wake(topic);
    tx.commit().await.unwrap();
}

async fn wakes_within(wakeup: &mut Wakeup, limit: Duration) -> bool {
    timeout(limit, wakeup.notified()).await.is_ok()
}

/// The first wake-ups may be from the start of the watching, which wakes everybody once.
async fn settle(wakeup: &mut Wakeup) {
    while wakes_within(wakeup, Duration::from_millis(400)).await {}
}

async fn a_commit_wakes_other_handles_within_half_a_second(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let (mut here, mut there) = (one.subscribe("t"), other.subscribe("t"));
    settle(&mut here).await;
    settle(&mut there).await;
    for _ in 0..5 {
        let start = Instant::now();
        wake(&one, "t").await;
        assert!(wakes_within(&mut here, Duration::from_millis(50)).await, "the own process wakes at once");
        assert!(wakes_within(&mut there, Duration::from_millis(500)).await, "after {:?}", start.elapsed());
    }
}

async fn a_wake_up_before_the_wait_is_not_lost(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let (mut here, mut there) = (one.subscribe("t"), other.subscribe("t"));
    wake(&one, "t").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(wakes_within(&mut here, Duration::ZERO).await);
    assert!(wakes_within(&mut there, Duration::from_millis(300)).await);
}

async fn a_woken_watcher_sees_what_was_written(engine: Engine) {
    let db = engine.open().await;
    let mut wakeup = db.subscribe("t");
    settle(&mut wakeup).await;
    for n in 1..=20 {
        let mut tx = db.begin().await.unwrap();
        tx.wake("t");
        store::events::append(&mut tx, "s", "k", &serde_json::json!(n)).await.unwrap();
        let reading = async {
            assert!(wakes_within(&mut wakeup, Duration::from_secs(5)).await);
            store::events::read(&db, "s", n - 1, 1).await.unwrap().len()
        };
        let (seen, committed) = tokio::join!(reading, tx.commit());
        committed.unwrap();
        assert_eq!(seen, 1, "event {n} was not there yet");
    }
}

async fn a_rolled_back_transaction_wakes_no_watcher(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let (mut here, mut there) = (one.subscribe("t"), other.subscribe("t"));
    settle(&mut there).await;
    let mut tx = one.begin().await.unwrap();
    tx.wake("t");
    store::events::append(&mut tx, "s", "k", &serde_json::json!(1)).await.unwrap();
    drop(tx);
    settle(&mut here).await;
    assert!(!wakes_within(&mut there, Duration::from_millis(300)).await);
}

async fn other_topics_sleep_on(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let (mut here, mut there) = (one.subscribe("t"), other.subscribe("t"));
    settle(&mut here).await;
    settle(&mut there).await;
    wake(&one, "another").await;
    assert!(!wakes_within(&mut here, Duration::from_millis(300)).await);
    assert!(!wakes_within(&mut there, Duration::from_millis(300)).await);
}

async fn a_caller_that_goes_away_in_the_commit_still_wakes(engine: Engine) {
    let db = engine.open().await;
    let mut wakeup = db.subscribe("t");
    settle(&mut wakeup).await;
    for patience in [0, 50, 100, 200, 400, 800, 1_600] {
        let mut tx = db.begin().await.unwrap();
        tx.wake("t");
        let stream = format!("s{patience}");
        store::events::append(&mut tx, &stream, "k", &serde_json::json!(1)).await.unwrap();
        let _ = timeout(Duration::from_micros(patience), tx.commit()).await;
        let woke = wakes_within(&mut wakeup, Duration::from_millis(500)).await;
        let committed = !store::events::read(&db, &stream, 0, 1).await.unwrap().is_empty();
        assert!(woke || !committed, "committed after {patience} µs without waking");
    }
}

async fn very_many_and_very_long_topics_pass(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let long = "x".repeat(20_000);
    let (mut first, mut last) = (other.subscribe("0"), other.subscribe(&long));
    settle(&mut first).await;
    settle(&mut last).await;
    let mut tx = one.begin().await.unwrap();
    (0..3_000).for_each(|n| tx.wake(&n.to_string()));
    tx.wake(&long);
    tx.commit().await.unwrap();
    assert!(wakes_within(&mut first, Duration::from_millis(500)).await);
    assert!(wakes_within(&mut last, Duration::from_millis(500)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_listening_connection_comes_back_and_wakes_all_watchers() {
    let engine = Engine::postgres().await;
    let (one, other) = (engine.open().await, engine.open().await);
    let mut wakeup = other.subscribe("t");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    let rows = sqlx::query(cut).fetch_all(one.read()).await.unwrap();
    assert_eq!(rows.len(), 2, "one listening connection per handle");
    assert!(wakes_within(&mut wakeup, Duration::from_secs(5)).await, "nobody knows what was missed");
    settle(&mut wakeup).await;
    wake(&one, "t").await;
    assert!(wakes_within(&mut wakeup, Duration::from_millis(500)).await);
}
