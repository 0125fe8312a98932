//! Rate windows: exact under races, fixed from the first hit.

use crate::engine::{Engine, START, on_both_engines};
use base::Clock;
use futures_util::future::join_all;
use std::time::Duration;
use store::rate::{self, Decision};

on_both_engines![
    fifty_racing_hits_with_a_limit_of_ten_allow_exactly_ten,
    the_window_is_fixed_from_the_first_hit,
    a_window_from_before_the_clock_was_set_back_has_passed,
    a_hit_can_be_taken_back,
    looking_counts_nothing,
    passed_windows_are_pruned,
];

const WINDOW: Duration = Duration::from_secs(60);

fn decision(allowed: bool, remaining: i64, reset_at_ms: i64) -> Decision {
    Decision { allowed, remaining, reset_at_ms }
}

async fn fifty_racing_hits_with_a_limit_of_ten_allow_exactly_ten(engine: Engine) {
    let handles = [engine.open().await, engine.open().await];
    let hits = (0..50).map(|n| {
        let db = handles[n % 2].clone();
        tokio::spawn(async move { rate::hit(&db, "user", 10, WINDOW).await.unwrap() })
    });
    let decisions: Vec<Decision> = join_all(hits).await.into_iter().map(Result::unwrap).collect();
    let mut remaining: Vec<i64> =
        decisions.iter().filter(|decision| decision.allowed).map(|decision| decision.remaining).collect();
    remaining.sort_unstable();
    assert_eq!(remaining, (0..10).collect::<Vec<_>>());
    assert!(decisions.iter().all(|decision| decision.reset_at_ms == decisions[0].reset_at_ms));
}

async fn a_window_from_before_the_clock_was_set_back_has_passed(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let hit = async || rate::hit(&db, "user", 1, WINDOW).await.unwrap();
    assert!(hit().await.allowed && !hit().await.allowed);
    clock.set_back(Duration::from_secs(59));
    assert!(!hit().await.allowed, "the clocks of processes may differ");
    clock.set_back(Duration::from_secs(3600));
    let now = START - 3_659_000;
    assert_eq!(hit().await, decision(true, 0, now + 60_000));
    assert!(!hit().await.allowed);
}

async fn the_window_is_fixed_from_the_first_hit(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let hit = async || rate::hit(&db, "user", 2, WINDOW).await.unwrap();
    assert_eq!(hit().await, decision(true, 1, START + 60_000));
    clock.advance(Duration::from_secs(30));
    assert_eq!(hit().await, decision(true, 0, START + 60_000));
    for _ in 0..5 {
        assert_eq!(hit().await, decision(false, 0, START + 60_000), "a refused hit extends nothing");
    }
    clock.advance(Duration::from_millis(29_999));
    assert!(!hit().await.allowed);
    clock.advance(Duration::from_millis(1));
    assert_eq!(hit().await, decision(true, 1, START + 120_000));
    let other = rate::hit(&db, "another key", 2, WINDOW).await.unwrap();
    assert_eq!(other.remaining, 1);
    assert!(!rate::hit(&db, "nobody", 0, WINDOW).await.unwrap().allowed);
}

async fn a_hit_can_be_taken_back(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let hit = async || rate::hit(&db, "user", 2, WINDOW).await.unwrap().allowed;
    assert_eq!((hit().await, hit().await, hit().await), (true, true, false));
    rate::forgive(&db, "user").await.unwrap();
    assert_eq!((hit().await, hit().await), (true, false), "one place is free again, and only one");
    for _ in 0..5 {
        rate::forgive(&db, "user").await.unwrap();
    }
    assert_eq!((hit().await, hit().await, hit().await), (true, true, false), "never below nothing");
    rate::forgive(&db, "unknown").await.unwrap();
}

async fn looking_counts_nothing(engine: Engine) {
    let db = engine.open_at(&Clock::fixed(START)).await;
    let peek = async || rate::peek(&db, "user", 1, WINDOW).await.unwrap();
    assert_eq!((peek().await, peek().await.allowed), (decision(true, 1, START + 60_000), true));
    rate::hit(&db, "user", 1, WINDOW).await.unwrap();
    assert_eq!(peek().await, decision(false, 0, START + 60_000));
}

async fn passed_windows_are_pruned(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    rate::hit(&db, "old", 5, WINDOW).await.unwrap();
    clock.advance(WINDOW);
    rate::hit(&db, "new", 5, WINDOW).await.unwrap();
    assert_eq!(rate::prune(&db).await.unwrap(), 1);
    assert_eq!(rate::peek(&db, "new", 5, WINDOW).await.unwrap().remaining, 4);
}
