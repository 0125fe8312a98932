//! Key-value namespaces: compare-and-set, exact prefixes, the order of bytes.

use crate::engine::{Engine, START, on_both_engines};
use base::Clock;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::Duration;
use store::StoreError;
use store::kv::{Expect, Namespace};

on_both_engines![
    what_is_put_can_be_got_in_its_own_namespace,
    every_expectation_is_held_to,
    a_version_never_comes_back,
    a_hundred_racing_increments_lose_none,
    only_one_of_many_creates_a_key,
    a_prefix_is_taken_literally,
    pages_follow_the_bytes_of_the_keys,
    writes_in_a_transaction_go_with_it,
    keys_that_one_engine_cannot_hold_are_refused_by_both,
];

fn is_conflict<T>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict { .. }))
}

async fn what_is_put_can_be_got_in_its_own_namespace(engine: Engine) {
    let clock = Clock::fixed(START);
    let db = engine.open_at(&clock).await;
    let (a, b) = (db.namespace("A"), db.namespace("B"));
    let value = json!({ "title": "Grüße \0 %", "n": 1.5, "list": [null, true] });
    let first = a.put("k", &value, Expect::Any).await.unwrap();
    clock.advance(Duration::from_secs(1));
    let second = a.put("k", &value, Expect::Any).await.unwrap();
    assert_ne!(first, second);

    let entry = a.get("k").await.unwrap().unwrap();
    assert_eq!((entry.key.as_str(), &entry.value, entry.version), ("k", &value, second));
    assert_eq!(entry.updated_at, START + 1_000);
    assert_eq!(b.get("k").await.unwrap(), None);
    assert!(!b.delete("k", Expect::Any).await.unwrap());
    assert!(a.delete("k", Expect::Any).await.unwrap());
    assert_eq!(a.get("k").await.unwrap(), None);
}

async fn every_expectation_is_held_to(engine: Engine) {
    let kv = engine.open().await.namespace("N");
    assert!(is_conflict(kv.put("k", &json!(0), Expect::Version(1)).await), "nothing has a version yet");
    let one = kv.put("k", &json!(1), Expect::Absent).await.unwrap();
    assert!(is_conflict(kv.put("k", &json!(2), Expect::Absent).await));
    let two = kv.put("k", &json!(2), Expect::Version(one)).await.unwrap();
    assert!(is_conflict(kv.put("k", &json!(3), Expect::Version(one)).await));
    assert!(is_conflict(kv.delete("k", Expect::Version(one)).await));
    assert!(is_conflict(kv.delete("k", Expect::Absent).await));
    assert_eq!(kv.get("k").await.unwrap().unwrap().value, json!(2));
    assert!(kv.delete("k", Expect::Version(two)).await.unwrap());
    assert!(!kv.delete("k", Expect::Absent).await.unwrap());
}

async fn a_version_never_comes_back(engine: Engine) {
    let kv = engine.open().await.namespace("N");
    let old = kv.put("k", &json!("old"), Expect::Any).await.unwrap();
    for _ in 0..3 {
        kv.delete("k", Expect::Any).await.unwrap();
        kv.put("k", &json!("new"), Expect::Absent).await.unwrap();
        assert!(is_conflict(kv.put("k", &json!("mine"), Expect::Version(old)).await));
    }
}

async fn increment(kv: &Namespace) {
    loop {
        let entry = kv.get("counter").await.unwrap();
        let (count, expect) = match &entry {
            Some(entry) => (entry.value.as_i64().unwrap(), Expect::Version(entry.version)),
            None => (0, Expect::Absent),
        };
        match kv.put("counter", &json!(count + 1), expect).await {
            Ok(_) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn a_hundred_racing_increments_lose_none(engine: Engine) {
    let handles = [engine.open().await, engine.open().await];
    let racers = (0..10).map(|n| {
        let kv = handles[n % 2].namespace("N");
        tokio::spawn(async move {
            for _ in 0..10 {
                increment(&kv).await;
            }
        })
    });
    for racer in join_all(racers).await {
        racer.unwrap();
    }
    let count = handles[0].namespace("N").get("counter").await.unwrap().unwrap().value;
    assert_eq!(count, json!(100));
}

async fn only_one_of_many_creates_a_key(engine: Engine) {
    let kv = engine.open().await.namespace("N");
    let results = join_all((0..20).map(|n| {
        let kv = kv.clone();
        async move { kv.put("k", &json!(n), Expect::Absent).await }
    }));
    assert_eq!(results.await.iter().filter(|result| result.is_ok()).count(), 1);
}

async fn keys(kv: &Namespace, prefix: &str, after: Option<&str>, limit: i64) -> Vec<String> {
    let entries = kv.list(prefix, after, limit).await.unwrap();
    entries.into_iter().map(|entry| entry.key).collect()
}

async fn put_all(kv: &Namespace, keys: &[&str]) {
    for key in keys {
        kv.put(key, &Value::Null, Expect::Any).await.unwrap();
    }
}

async fn a_prefix_is_taken_literally(engine: Engine) {
    let db = engine.open().await;
    let kv = db.namespace("N");
    put_all(&kv, &["a%b", "aXb", "a_b", "a", "A%b", "b", "a\u{10FFFF}", "a\u{10FFFF}z"]).await;
    put_all(&db.namespace("M"), &["a%other"]).await;
    let all = |prefix: &'static str| keys(&kv, prefix, None, 100);
    assert_eq!(all("a%").await, ["a%b"]);
    assert_eq!(all("a_").await, ["a_b"]);
    assert_eq!(all("a").await, ["a", "a%b", "aXb", "a_b", "a\u{10FFFF}", "a\u{10FFFF}z"]);
    assert_eq!(all("a\u{10FFFF}").await, ["a\u{10FFFF}", "a\u{10FFFF}z"]);
    assert_eq!(all("c").await, [""; 0]);
    assert_eq!(all("").await.len(), 8);
}

async fn pages_follow_the_bytes_of_the_keys(engine: Engine) {
    let kv = engine.open().await.namespace("N");
    // By bytes upper case stands before lower, and é behind z.
    put_all(&kv, &["k:é", "k:a", "k:B", "k:z", "k:a-b", "k:ab", "other"]).await;
    let sorted = ["k:B", "k:a", "k:a-b", "k:ab", "k:z", "k:é"];
    let mut seen: Vec<String> = Vec::new();
    loop {
        let page = keys(&kv, "k:", seen.last().map(String::as_str), 2).await;
        if page.is_empty() {
            break;
        }
        seen.extend(page);
    }
    assert_eq!(seen, sorted);
}

async fn writes_in_a_transaction_go_with_it(engine: Engine) {
    let db = engine.open().await;
    let kv = db.namespace("N");
    let mut tx = db.begin().await.unwrap();
    kv.put_in(&mut tx, "k", &json!(1), Expect::Absent).await.unwrap();
    assert_eq!(kv.get_in(&mut tx, "k").await.unwrap().unwrap().value, json!(1));
    assert_eq!(kv.get("k").await.unwrap(), None, "no other reader sees it yet");
    drop(tx);
    assert_eq!(kv.get("k").await.unwrap(), None);
}

async fn keys_that_one_engine_cannot_hold_are_refused_by_both(engine: Engine) {
    let kv = engine.open().await.namespace("N");
    for key in ["", "a\0b", &"x".repeat(1_025)] {
        let refused = kv.put(key, &json!(1), Expect::Any).await;
        assert!(matches!(refused, Err(StoreError::InvalidKey(_))), "{key:?}");
    }
    kv.put(&"é".repeat(512), &json!(1), Expect::Any).await.unwrap();
}
