//! Opening, transactions, and what each engine is set to.

use crate::engine::{Engine, on_both_engines};
use base::{Clock, Random};
use futures_util::future::join_all;
use sqlx::Row;
use std::os::unix::fs::PermissionsExt;
use store::{Db, StoreError};

on_both_engines![
    values_come_back_as_they_were,
    a_dropped_transaction_leaves_nothing,
    a_commit_after_a_failed_statement_does_not_lie,
    transactions_that_read_and_then_write_do_not_fail_when_handles_race,
];

async fn values_come_back_as_they_were(engine: Engine) {
    let db = engine.open().await;
    let bytes_type = if engine.url.starts_with("sqlite") { "BLOB" } else { "BYTEA" };
    let mut tx = db.begin().await.unwrap();
    let create =
        format!("CREATE TABLE t (i BIGINT, s TEXT, d DOUBLE PRECISION, b {bytes_type}, n TEXT, m BIGINT)");
    sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(tx.conn()).await.unwrap();
    let insert = sqlx::query("INSERT INTO t (s, i, d, b, n, m) VALUES ($2, $1, $3, $4, $5, $6)");
    let insert = insert.bind(i64::MIN).bind("ü % _ '\"\u{10FFFF}").bind(0.1f64).bind(vec![0u8, 255]);
    insert.bind(None::<String>).bind(None::<i64>).execute(tx.conn()).await.unwrap();
    tx.commit().await.unwrap();

    let row = sqlx::query("SELECT i, s, d, b, n, m FROM t").fetch_one(db.read()).await.unwrap();
    assert_eq!(row.get::<i64, _>("i"), i64::MIN);
    assert_eq!(row.get::<String, _>("s"), "ü % _ '\"\u{10FFFF}");
    assert_eq!(row.get::<f64, _>("d"), 0.1);
    assert_eq!(row.get::<Vec<u8>, _>("b"), [0, 255]);
    assert_eq!((row.get::<Option<String>, _>("n"), row.get::<Option<i64>, _>("m")), (None, None));
}

async fn a_dropped_transaction_leaves_nothing(engine: Engine) {
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    store::events::append(&mut tx, "s", &[("k", serde_json::json!(1))]).await.unwrap();
    drop(tx);
    assert_eq!(store::events::read(&db, "s", 0, 10).await.unwrap(), []);
    db.ping().await.unwrap();
}

async fn a_commit_after_a_failed_statement_does_not_lie(engine: Engine) {
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    let insert = "INSERT INTO rate_windows (key, hits, resets_at) VALUES ('a', 1, 1)";
    sqlx::query(insert).execute(tx.conn()).await.unwrap();
    sqlx::query(insert).execute(tx.conn()).await.unwrap_err();
    let committed = tx.commit().await.is_ok();
    let rows = sqlx::query("SELECT key FROM rate_windows").fetch_all(db.read()).await.unwrap();
    assert_eq!(committed, rows.len() == 1, "an acknowledged commit must be there");
}

async fn transactions_that_read_and_then_write_do_not_fail_when_handles_race(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let mut tx = one.begin().await.unwrap();
    let insert = "INSERT INTO rate_windows (key, hits, resets_at) VALUES ('counter', 0, 0)";
    sqlx::query(insert).execute(tx.conn()).await.unwrap();
    tx.commit().await.unwrap();

    let add_one = async |db: &Db| {
        let mut tx = db.begin().await.unwrap();
        let lock = if db.dialect() == store::Dialect::Postgres { " FOR UPDATE" } else { "" };
        let select = format!("SELECT hits FROM rate_windows WHERE key = 'counter'{lock}");
        let row = sqlx::query(sqlx::AssertSqlSafe(select)).fetch_one(tx.conn()).await.unwrap();
        let update = sqlx::query("UPDATE rate_windows SET hits = $1 WHERE key = 'counter'");
        update.bind(row.get::<i64, _>(0) + 1).execute(tx.conn()).await.unwrap();
        tx.commit().await.unwrap();
    };
    join_all((0..60).map(|n| add_one(if n % 2 == 0 { &one } else { &other }))).await;
    let row = sqlx::query("SELECT hits FROM rate_windows").fetch_one(one.read()).await.unwrap();
    assert_eq!(row.get::<i64, _>(0), 60);
}

#[tokio::test]
async fn sqlite_is_durable_private_and_guards_its_readers() {
    let engine = Engine::sqlite();
    let db = engine.open().await;
    let mut tx = db.begin().await.unwrap();
    let mut settings = Vec::new();
    for pragma in ["journal_mode", "synchronous", "foreign_keys", "busy_timeout"] {
        let sql = format!("PRAGMA {pragma}");
        let row = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_one(tx.conn()).await.unwrap();
        settings.push(row.try_get::<i64, _>(0).map_or_else(|_| row.get::<String, _>(0), |n| n.to_string()));
    }
    assert_eq!(settings, ["wal", "2", "1", "10000"]);
    drop(tx);

    let write = sqlx::query("DELETE FROM events").execute(db.read()).await.unwrap_err();
    assert!(write.to_string().contains("readonly"), "{write}");
    let path = engine.url.strip_prefix("sqlite://").unwrap();
    for file in [path.to_owned(), format!("{path}-wal")] {
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn an_sqlite_path_may_have_any_characters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b/100%25#é&.db");
    let url = format!("sqlite://{}", path.display());
    Db::open(&url, Clock::system(), Random::system()).await.unwrap().ping().await.unwrap();
    assert!(path.is_file());
}

async fn open_error(url: &str) -> StoreError {
    match Db::open(url, Clock::system(), Random::system()).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_wrong_url_is_explained() {
    let unknown = open_error("mysql://u:hunter2@h/d").await.to_string();
    assert!(unknown.contains("unknown database scheme `mysql`: one of sqlite://path"), "{unknown}");
    assert!(open_error("stoa.db").await.to_string().contains("has no scheme"));
    assert!(open_error("sqlite://").await.to_string().contains("names no file"));
    assert!(open_error("sqlite://a.db?mode=ro").await.to_string().contains("takes no parameters"));
}

#[tokio::test]
async fn no_error_shows_the_password() {
    let urls = [
        "mysql://u:hunter2@h/d",
        "postgres://u:hunter2@127.0.0.1:1/d",
        "postgres://u:hunter2@127.0.0.1:port/d",
        "postgres://u:hunter2@[/d",
        "postgres://u:hunter2@127.0.0.1:1/d?sslmode=hunter2x",
    ];
    for url in urls {
        let error = open_error(url).await;
        let shown = format!("{error} {error:?}");
        assert!(!shown.replace("hunter2x", "").contains("hunter2"), "{shown}");
    }
}

#[tokio::test]
async fn pgvector_is_at_hand() {
    let db = Engine::postgres().await.open().await;
    let mut tx = db.begin().await.unwrap();
    sqlx::query("CREATE EXTENSION vector").execute(tx.conn()).await.unwrap();
    let distance = "SELECT '[1,2,3]'::vector <-> '[1,2,5]'::vector";
    let row = sqlx::query(distance).fetch_one(tx.conn()).await.unwrap();
    assert_eq!(row.get::<f64, _>(0), 2.0);
}

/// The servers at hand in tests sort by bytes anyway, so this looks at the schema.
#[tokio::test]
async fn postgres_sorts_keys_by_their_bytes_whatever_its_locale() {
    let db = Engine::postgres().await.open().await;
    let select = "SELECT CAST(collation_name AS TEXT) FROM information_schema.columns
        WHERE table_name = 'kv' AND column_name = 'key'";
    let row = sqlx::query(select).fetch_one(db.read()).await.unwrap();
    assert_eq!(row.get::<String, _>(0), "C");
}
