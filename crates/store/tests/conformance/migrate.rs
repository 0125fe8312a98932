//! Migrations: once each, whole, in order, and never by an older program.

use crate::engine::{Engine, on_both_engines};
use futures_util::future::join_all;
use sqlx::Row;
use store::{Db, Migration};

on_both_engines![
    ten_opens_at_once_migrate_once,
    migrations_are_applied_once_and_in_order,
    a_migration_that_fails_leaves_nothing,
    a_database_of_a_newer_program_is_refused,
    a_migration_that_was_changed_is_refused,
];

const FIRST: Migration =
    Migration::portable(1, "first", "CREATE TABLE t (n BIGINT); INSERT INTO t VALUES (1);");
const SECOND: Migration = Migration::portable(2, "second", "INSERT INTO t SELECT MAX(n) + 1 FROM t");

async fn numbers(db: &Db) -> Vec<i64> {
    let rows = sqlx::query("SELECT n FROM t ORDER BY n").fetch_all(db.read()).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn ten_opens_at_once_migrate_once(engine: Engine) {
    let handles = join_all((0..10).map(|_| engine.open())).await;
    join_all(handles.iter().map(|db| async { db.migrate("test", &[FIRST, SECOND]).await.unwrap() })).await;
    assert_eq!(numbers(&handles[0]).await, [1, 2]);
}

async fn migrations_are_applied_once_and_in_order(engine: Engine) {
    let db = engine.open().await;
    db.migrate("test", &[FIRST]).await.unwrap();
    db.migrate("test", &[FIRST, SECOND]).await.unwrap();
    db.migrate("test", &[FIRST, SECOND]).await.unwrap();
    assert_eq!(numbers(&db).await, [1, 2]);
    let error = db.migrate("other", &[SECOND, FIRST]).await.unwrap_err().to_string();
    assert!(error.contains("out of order: 2 stands before 1"), "{error}");
}

async fn a_migration_that_fails_leaves_nothing(engine: Engine) {
    let db = engine.open().await;
    let broken =
        Migration::portable(2, "broken", "INSERT INTO t VALUES (7); INSERT INTO missing VALUES (1);");
    db.migrate("test", &[FIRST, broken]).await.unwrap_err();
    assert_eq!(numbers(&db).await, [1]);
    db.migrate("test", &[FIRST, SECOND]).await.unwrap();
}

async fn a_database_of_a_newer_program_is_refused(engine: Engine) {
    let db = engine.open().await;
    db.migrate("test", &[FIRST, SECOND]).await.unwrap();
    let error = db.migrate("test", &[FIRST]).await.unwrap_err().to_string();
    assert!(error.contains("written by a newer program: it has migration 2 `second` of `test`"), "{error}");
}

async fn a_migration_that_was_changed_is_refused(engine: Engine) {
    let db = engine.open().await;
    db.migrate("test", &[FIRST]).await.unwrap();
    let changed = Migration::portable(1, "first", "CREATE TABLE t (n BIGINT)");
    let error = db.migrate("test", &[changed]).await.unwrap_err().to_string();
    assert!(error.contains("migration 1 `first` of `test` was changed"), "{error}");
}
