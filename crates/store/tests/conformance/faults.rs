//! Transactions that do not end well: whatever happens to one, the next is as good as the first.

use crate::engine::{Engine, on_both_engines};
use sqlx::AssertSqlSafe;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use store::{Db, Dialect, Tx};

on_both_engines![
    a_statement_that_fails_spoils_only_its_transaction,
    a_commit_that_fails_spoils_only_its_transaction,
    a_transaction_that_the_database_ended_spoils_only_itself,
    a_task_that_panics_spoils_only_its_transaction,
    a_caller_that_leaves_spoils_only_its_transaction,
];

const INSERT: &str = "INSERT INTO rate_windows (key, hits, resets_at) VALUES ('a', 1, 1)";

/// More transactions than any pool has connections, each of which must work.
async fn assert_all_writes_work(db: &Db) {
    for n in 0..30 {
        let mut tx = db.begin().await.unwrap_or_else(|error| panic!("transaction {n}: {error}"));
        let insert =
            "INSERT INTO rate_windows (key, hits, resets_at) VALUES ($1, 1, 1) ON CONFLICT DO NOTHING";
        sqlx::query(insert).bind(format!("after-{n}")).execute(tx.conn()).await.unwrap();
        tx.commit().await.unwrap_or_else(|error| panic!("commit {n}: {error}"));
    }
    db.ping().await.unwrap();
}

async fn rows(db: &Db, key: &str) -> usize {
    let select = sqlx::query("SELECT key FROM rate_windows WHERE key = $1").bind(key);
    select.fetch_all(db.read()).await.unwrap().len()
}

async fn run(tx: &mut Tx, sql: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(tx.conn()).await.map(drop)
}

async fn a_statement_that_fails_spoils_only_its_transaction(engine: Engine) {
    let db = engine.open().await;
    for _ in 0..3 {
        let mut tx = db.begin().await.unwrap();
        run(&mut tx, INSERT).await.unwrap();
        run(&mut tx, "INSERT INTO no_such_table VALUES (1)").await.unwrap_err();
    }
    assert_eq!(rows(&db, "a").await, 0);
    assert_all_writes_work(&db).await;
}

async fn a_commit_that_fails_spoils_only_its_transaction(engine: Engine) {
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    let deferred = "CREATE TABLE parents (id BIGINT PRIMARY KEY);
        CREATE TABLE children (parent BIGINT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)";
    run(&mut tx, deferred).await.unwrap();
    tx.commit().await.unwrap();
    for _ in 0..3 {
        let mut tx = db.begin().await.unwrap();
        run(&mut tx, INSERT).await.unwrap();
        run(&mut tx, "INSERT INTO children (parent) VALUES (7)").await.unwrap();
        tx.commit().await.unwrap_err();
    }
    assert_eq!(rows(&db, "a").await, 0);
    assert_all_writes_work(&db).await;
}

/// As SQLite does by itself when the disk is full, and PostgreSQL when an administrator ends a connection.
async fn a_transaction_that_the_database_ended_spoils_only_itself(engine: Engine) {
    let db = engine.open().await;
    assert_all_writes_work(&db).await;
    for _ in 0..3 {
        let mut tx = db.begin().await.unwrap();
        run(&mut tx, INSERT).await.unwrap();
        let end = match db.dialect() {
            Dialect::Sqlite => {
                "INSERT OR ROLLBACK INTO rate_windows (key, hits, resets_at) VALUES ('a', 1, 1)"
            }
            Dialect::Postgres => "SELECT pg_terminate_backend(pg_backend_pid())",
        };
        run(&mut tx, end).await.unwrap_err();
        tx.commit().await.unwrap_err();
    }
    assert_eq!(rows(&db, "a").await, 0);
    assert_all_writes_work(&db).await;
}

async fn a_task_that_panics_spoils_only_its_transaction(engine: Engine) {
    let db = engine.open().await;
    let held = db.clone();
    let task = tokio::spawn(async move {
        let mut tx = held.begin().await.unwrap();
        run(&mut tx, INSERT).await.unwrap();
        panic!("in the middle of a transaction");
    });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(rows(&db, "a").await, 0);
    assert_all_writes_work(&db).await;
}

/// Polls a future a few times and drops it.
async fn abandon<T>(polls: u32, future: impl Future<Output = T>) {
    let mut future = pin!(future);
    for _ in 0..polls {
        tokio::select! {
            biased;
            _ = &mut future => return,
            () = tokio::task::yield_now() => {}
        }
    }
}

async fn a_caller_that_leaves_spoils_only_its_transaction(engine: Engine) {
    let db = engine.open().await;
    for polls in 1..40 {
        abandon(polls, db.begin()).await;
        let mut tx = db.begin().await.unwrap();
        abandon(polls, run(&mut tx, INSERT)).await;
        drop(tx);
        let mut tx = db.begin().await.unwrap();
        let insert =
            "INSERT INTO rate_windows (key, hits, resets_at) VALUES ('b', 1, 1) ON CONFLICT DO NOTHING";
        run(&mut tx, insert).await.unwrap();
        abandon(polls, tx.commit()).await;
    }
    // While another has the writer.
    let tx = db.begin().await.unwrap();
    let waiting: Vec<_> = (0..30)
        .map(|_| {
            tokio::spawn({
                let db = db.clone();
                async move { db.begin().await.map(drop) }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    waiting.iter().for_each(|task| task.abort());
    drop(tx);
    assert_all_writes_work(&db).await;
    // Whether an abandoned commit arrived is the network's matter; one that was not begun never does.
    assert_eq!(rows(&db, "a").await, 0);
    assert!(rows(&db, "b").await <= 1);
}

/// SQLite gives up on the whole transaction then.
#[tokio::test]
async fn a_full_database_takes_writes_again_once_there_is_room() {
    let engine = Engine::sqlite();
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    run(&mut tx, "CREATE TABLE large (bytes BLOB)").await.unwrap();
    tx.commit().await.unwrap();

    let mut tx = db.begin().await.unwrap();
    run(&mut tx, "PRAGMA max_page_count = 1").await.unwrap();
    let full = run(&mut tx, "INSERT INTO large VALUES (randomblob(1000000))").await.unwrap_err();
    let full = store::StoreError::from(full);
    assert_eq!(full.outage(), Some(store::Outage::Full), "{full}");
    let unsure = tx.commit().await;
    drop(unsure);
    assert_all_writes_work(&db).await;
}

#[tokio::test]
async fn a_writer_that_is_busy_is_not_taken_for_a_broken_one() {
    let engine = Engine::sqlite();
    let db = engine.open().await;
    db.ping().await.unwrap();
    let mut other = engine.open().await.begin().await.unwrap();
    run(&mut other, INSERT).await.unwrap();
    // Another process writes for longer than a ping waits: busy, but not stuck.
    db.ping().await.unwrap();
}

#[tokio::test]
async fn a_database_that_another_process_keeps_busy_is_away_and_comes_back() {
    let engine = Engine::sqlite();
    let (db, other) = (engine.open().await, engine.open().await);
    let holding = other.begin().await.unwrap();
    // SQLite waits for ten seconds.
    let Err(busy) = db.begin().await else { panic!("two transactions write at once") };
    assert_eq!(busy.outage(), Some(store::Outage::Away), "{busy}");
    drop(holding);
    assert_all_writes_work(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_postgres_interrupts_spoils_only_itself() {
    let db = Engine::postgres().await.open().await;
    let mut tx = db.begin().await.unwrap();
    let row = sqlx::query("SELECT CAST(pg_backend_pid() AS BIGINT)").fetch_one(tx.conn()).await.unwrap();
    let process: i64 = sqlx::Row::get(&row, 0);
    let sleeping = tokio::spawn(async move { run(&mut tx, "SELECT pg_sleep(30)").await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let cancel = format!("SELECT CAST(pg_cancel_backend({process}) AS TEXT)");
    sqlx::query(AssertSqlSafe(cancel)).execute(db.read()).await.unwrap();
    let interrupted = store::StoreError::from(sleeping.await.unwrap().unwrap_err());
    assert_eq!(interrupted.outage(), Some(store::Outage::Away), "{interrupted}");
    assert_all_writes_work(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_on_postgres_ends_one_of_the_two() {
    let db = Engine::postgres().await.open().await;
    let mut tx = db.begin().await.unwrap();
    run(
        &mut tx,
        "CREATE TABLE counters (id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO counters VALUES (1, 0), (2, 0)",
    )
    .await
    .unwrap();
    tx.commit().await.unwrap();
    let lock_both = async |first: i64, second: i64| {
        let mut tx = db.begin().await?;
        for id in [first, second] {
            run(&mut tx, &format!("UPDATE counters SET n = n + 1 WHERE id = {id}")).await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        tx.commit().await
    };
    let (one, other) = tokio::join!(lock_both(1, 2), lock_both(2, 1));
    let ended: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0].outage(), Some(store::Outage::Away), "{ended:?}");
    assert_all_writes_work(&db).await;
}
