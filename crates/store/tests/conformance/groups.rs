//! Statements that are put off until the commit, and transactions that are committed together.

use super::engine::{Engine, on_both_engines};
use serde_json::json;
use sqlx::Row;
use std::time::Duration;
use store::jobs::{self, NewJob};
use store::{Db, StoreError, Tx};
use tokio::task::JoinHandle;

on_both_engines!(
    statements_for_later_are_executed_with_the_commit,
    a_statement_for_later_that_fails_fails_the_commit,
    of_many_at_once_every_committed_one_is_there_and_no_dropped_one,
    a_job_that_is_claimed_while_others_are_enqueued_is_committed,
);

const INSERT: &str = "INSERT INTO rate_windows (key, hits, resets_at) VALUES ($1, $2, 0)";

async fn keys(db: &Db) -> Vec<String> {
    let rows = sqlx::query("SELECT key FROM rate_windows ORDER BY key").fetch_all(db.read()).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn insert(tx: &mut Tx, key: &str) {
    sqlx::query(INSERT).bind(key).bind(1_i64).execute(tx.conn()).await.unwrap();
}

async fn statements_for_later_are_executed_with_the_commit(engine: Engine) {
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    tx.later(INSERT).bind("a").bind(1_i64);
    tx.later(INSERT).bind("b").bind(2_i64);
    tx.flush().await.unwrap();
    tx.later("UPDATE rate_windows SET hits = $2 WHERE key = $1").bind("a").bind(7_i64);
    tx.later("DELETE FROM rate_windows WHERE key = $1").bind("b");
    tx.later(INSERT).bind("c").bind(3_i64);
    tx.wake("topic");
    tx.commit().await.unwrap();
    let select = "SELECT key, hits FROM rate_windows ORDER BY key";
    let rows = sqlx::query(select).fetch_all(db.read()).await.unwrap();
    let rows: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows, [("a".into(), 7), ("c".into(), 3)]);

    let mut tx = db.begin().await.unwrap();
    tx.later(INSERT).bind("dropped").bind(1_i64);
    drop(tx);
    assert_eq!(keys(&db).await, ["a", "c"]);
}

async fn a_statement_for_later_that_fails_fails_the_commit(engine: Engine) {
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    insert(&mut tx, "first").await;
    tx.later(INSERT).bind("twice").bind(1_i64);
    tx.later(INSERT).bind("twice").bind(1_i64);
    let error = tx.commit().await.unwrap_err();
    assert!(error.is_refusal(), "{error:?}");
    assert_eq!(keys(&db).await, Vec::<String>::new());
    let mut tx = db.begin().await.unwrap();
    insert(&mut tx, "next").await;
    tx.commit().await.unwrap();
    assert_eq!(keys(&db).await, ["next"]);
}

async fn of_many_at_once_every_committed_one_is_there_and_no_dropped_one(engine: Engine) {
    let db = engine.open().await;
    let write = |number: u32| {
        let db = db.clone();
        async move {
            let begun = if number.is_multiple_of(5) { db.begin().await } else { db.begin_in_group().await };
            let mut tx = begun.unwrap();
            let key = format!("{number:03}");
            insert(&mut tx, &key).await;
            if number.is_multiple_of(3) {
                return drop(tx);
            }
            tx.commit().await.unwrap();
            assert!(keys(&db).await.contains(&key), "acknowledged, but not there");
        }
    };
    let writing: Vec<_> = (0..90).map(|number| tokio::spawn(write(number))).collect();
    for one in writing {
        one.await.unwrap();
    }
    let committed = (0..90).filter(|number| number % 3 != 0).map(|number| format!("{number:03}"));
    assert_eq!(keys(&db).await, committed.collect::<Vec<_>>());
}

async fn a_job_that_is_claimed_while_others_are_enqueued_is_committed(engine: Engine) {
    let db = engine.open().await;
    let enqueue = |number: u32| {
        let db = db.clone();
        async move {
            let mut tx = db.begin_in_group().await.unwrap();
            jobs::enqueue(&mut tx, NewJob::new("test", json!({ "number": number }))).await.unwrap();
            match number % 3 {
                0 => drop(tx),
                _ => tx.commit().await.unwrap(),
            }
        }
    };
    let enqueuing: Vec<_> = (0..90).map(|number| tokio::spawn(enqueue(number))).collect();
    let mut claimed = Vec::new();
    let kinds = ["test".to_owned()];
    while claimed.len() < 60 {
        for job in jobs::claim(&db, &kinds, "worker", Duration::from_secs(30), 8).await.unwrap() {
            let select = sqlx::query("SELECT state FROM jobs WHERE id = $1").bind(job.id);
            assert_eq!(select.fetch_one(db.read()).await.unwrap().get::<String, _>(0), "running");
            assert!(!claimed.contains(&job.id), "claimed twice");
            claimed.push(job.id);
        }
    }
    for one in enqueuing {
        one.await.unwrap();
    }
    assert!(jobs::claim(&db, &kinds, "worker", Duration::from_secs(30), 8).await.unwrap().is_empty());
}

/// Returns a transaction that was written before another one began, and that other one: both are in one group. Slow
/// machines need several tries: a group takes no more transactions after a while.
async fn group_of_two(db: &Db) -> (JoinHandle<Result<(), StoreError>>, Tx) {
    for number in 0..1000 {
        let mut first = db.begin_in_group().await.unwrap();
        let next = tokio::spawn({
            let db = db.clone();
            async move { db.begin_in_group().await.unwrap() }
        });
        tokio::task::yield_now().await;
        insert(&mut first, &format!("first {number}")).await;
        let first = tokio::spawn(first.commit());
        let next = next.await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        if !first.is_finished() {
            return (first, next);
        }
    }
    panic!("no two transactions were committed together");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_waits_for_the_one_that_follows() {
    let engine = Engine::sqlite();
    let db = engine.open().await;
    let (first, mut next) = group_of_two(&db).await;
    let before = keys(&db).await;
    insert(&mut next, "next").await;
    next.commit().await.unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(keys(&db).await.len(), before.len() + 2, "neither was there before the other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_is_committed_without_the_one_that_was_dropped() {
    let engine = Engine::sqlite();
    let db = engine.open().await;
    let (first, mut next) = group_of_two(&db).await;
    insert(&mut next, "next").await;
    drop(next);
    first.await.unwrap().unwrap();
    let keys = keys(&db).await;
    assert!(!keys.is_empty() && keys.iter().all(|key| key.starts_with("first")), "{keys:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_fails_is_told_to_all_and_the_next_transaction_works() {
    let engine = Engine::sqlite();
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    let tables = "CREATE TABLE parents (id BIGINT PRIMARY KEY);
        CREATE TABLE children (parent BIGINT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)";
    sqlx::raw_sql(tables).execute(tx.conn()).await.unwrap();
    tx.commit().await.unwrap();

    let (first, mut next) = group_of_two(&db).await;
    let before = keys(&db).await;
    // Looked at by the commit alone.
    sqlx::query("INSERT INTO children (parent) VALUES (1)").execute(next.conn()).await.unwrap();
    assert!(matches!(next.commit().await, Err(StoreError::Unsure(_))));
    assert!(matches!(first.await.unwrap(), Err(StoreError::Unsure(_))));
    assert_eq!(keys(&db).await, before);
    let other = engine.open().await;
    for (db, key) in [(&db, "same handle"), (&other, "other handle")] {
        let mut tx = db.begin().await.unwrap();
        insert(&mut tx, key).await;
        tx.commit().await.unwrap();
    }
    assert_eq!(keys(&db).await.len(), before.len() + 2);
}

/// What is in a group is not committed, and readers do not see it: a caller that looks at it could report what is lost
/// later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_not_for_groups_sees_only_what_is_committed() {
    let engine = Engine::sqlite();
    let db = engine.open().await;
    for _ in 0..50 {
        let (first, next) = group_of_two(&db).await;
        let alone = tokio::spawn({
            let db = db.clone();
            async move { db.begin().await.unwrap() }
        });
        next.commit().await.unwrap();
        let mut alone = alone.await.unwrap();
        let count = "SELECT COUNT(*) FROM rate_windows";
        let within: i64 = sqlx::query(count).fetch_one(alone.conn()).await.unwrap().get(0);
        assert_eq!(within as usize, keys(&db).await.len());
        first.await.unwrap().unwrap();
        sqlx::query("DELETE FROM rate_windows").execute(alone.conn()).await.unwrap();
        alone.commit().await.unwrap();
    }
}
