//! Event streams: numbered without gaps, followed without loss.

use crate::engine::{Engine, START, on_both_engines};
use base::Clock;
use futures_util::future::join_all;
use futures_util::{Stream, StreamExt, TryStreamExt};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use store::follow::{Source, follow};
use store::{Db, StoreError, events};

on_both_engines![
    events_are_numbered_from_one_in_each_stream,
    a_rolled_back_append_leaves_no_gap,
    followers_see_every_event_once_and_in_order_while_writers_race,
    a_follower_hears_of_another_handle_within_half_a_second,
    a_deleted_stream_is_gone_and_starts_again_at_one,
];

async fn append(db: &Db, stream: &str, data: Value) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let seq = events::append(&mut tx, stream, &[("test", data)]).await.unwrap();
    tx.commit().await.unwrap();
    seq
}

/// All events of a stream after a number.
struct Tail {
    db: Db,
    stream: &'static str,
    after: i64,
}

impl Source for Tail {
    type Item = events::Event;

    async fn next_page(&mut self) -> Result<Option<Vec<events::Event>>, StoreError> {
        let page = events::read(&self.db, self.stream, self.after, 16).await?;
        self.after = page.last().map_or(self.after, |event| event.seq);
        Ok(Some(page))
    }
}

fn tail(
    db: &Db,
    stream: &'static str,
    after: i64,
) -> impl Stream<Item = Result<events::Event, StoreError>> + use<> {
    follow(events::watch(db, stream), Tail { db: db.clone(), stream, after })
}

async fn events_are_numbered_from_one_in_each_stream(engine: Engine) {
    let db = engine.open_at(&Clock::fixed(START)).await;
    for n in 1..=5 {
        assert_eq!(append(&db, "a", json!({ "n": n, "nul": "\0" })).await, n);
    }
    assert_eq!(append(&db, "b", json!(null)).await, 1);

    let page = events::read(&db, "a", 2, 2).await.unwrap();
    let expected = |n: i64| events::Event {
        seq: n,
        kind: "test".into(),
        data: json!({ "n": n, "nul": "\0" }),
        created_at: START,
    };
    assert_eq!(page, [expected(3), expected(4)]);
    assert_eq!(events::read(&db, "a", 5, 10).await.unwrap(), []);
}

async fn a_rolled_back_append_leaves_no_gap(engine: Engine) {
    let db = engine.open().await;
    append(&db, "a", json!(1)).await;
    let mut tx = db.begin().await.unwrap();
    assert_eq!(events::append(&mut tx, "a", &[("test", json!(2))]).await.unwrap(), 2);
    drop(tx);
    assert_eq!(append(&db, "a", json!(3)).await, 2);
}

async fn followers_see_every_event_once_and_in_order_while_writers_race(engine: Engine) {
    const WRITERS: i64 = 16;
    const EACH: i64 = 20;
    let (one, other) = (engine.open().await, engine.open().await);
    let watch = |db: Db, after: i64, delay_ms: u64| async move {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        let wanted = (WRITERS * EACH - after) as usize;
        let seen: Vec<_> = tail(&db, "s", after).take(wanted).try_collect().await.unwrap();
        let numbers: Vec<i64> = seen.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (after + 1..=WRITERS * EACH).collect::<Vec<_>>());
        seen
    };
    let followers = [
        tokio::spawn(watch(one.clone(), 0, 0)),
        tokio::spawn(watch(one.clone(), 0, 100)),
        tokio::spawn(watch(other.clone(), 0, 0)),
        tokio::spawn(watch(other.clone(), 0, 200)),
        tokio::spawn(watch(other.clone(), 7, 0)),
    ];
    let writers = (0..WRITERS).map(|writer| {
        let db = if writer % 2 == 0 { one.clone() } else { other.clone() };
        tokio::spawn(async move {
            for n in 0..EACH {
                append(&db, "s", json!([writer, n])).await;
            }
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    let start = Instant::now();
    let seen = join_all(followers).await;
    assert!(start.elapsed() < Duration::from_secs(2), "woken, not only polling: {:?}", start.elapsed());
    let first = seen[0].as_ref().unwrap();
    for writer in 0..WRITERS {
        let of_writer: Vec<_> = first.iter().filter(|event| event.data[0] == writer).collect();
        assert!(of_writer.iter().zip(0..).all(|(event, n)| event.data[1] == n), "writer {writer} in order");
    }
}

async fn a_follower_hears_of_another_handle_within_half_a_second(engine: Engine) {
    let (one, other) = (engine.open().await, engine.open().await);
    let mut follower = std::pin::pin!(tail(&other, "s", 0));
    for n in 1..=5 {
        let waiting = async {
            let event = follower.next().await.unwrap().unwrap();
            (event.seq, Instant::now())
        };
        let writing = async {
            // So that the follower already waits.
            tokio::time::sleep(Duration::from_millis(250)).await;
            append(&one, "s", json!(n)).await;
            Instant::now()
        };
        let ((seq, heard), written) = tokio::join!(waiting, writing);
        assert_eq!(seq, n);
        let delay = heard.saturating_duration_since(written);
        assert!(delay < Duration::from_millis(500), "{delay:?}");
    }
}

async fn a_deleted_stream_is_gone_and_starts_again_at_one(engine: Engine) {
    let db = engine.open().await;
    append(&db, "a", json!(1)).await;
    append(&db, "b", json!(1)).await;
    let mut tx = db.begin().await.unwrap();
    events::delete_stream(&mut tx, "a").await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(events::read(&db, "a", 0, 10).await.unwrap(), []);
    assert_eq!(events::read(&db, "b", 0, 10).await.unwrap().len(), 1);
    assert_eq!(append(&db, "a", json!(2)).await, 1);
}
